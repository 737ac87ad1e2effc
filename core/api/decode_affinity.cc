// spec.affinity and spec.topologySpreadConstraints (core/v1 validation, validateAffinity and
// validateTopologySpreadConstraints).
#include <algorithm>

#include "core/api/decode_parts.h"
#include "core/api/pod.h"

namespace berth::decode {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

void read_weight(FieldReader& reader, std::int32_t& out) {
  if (reader.require("weight", "an integer from 1 to 100")) reader.read_int32("weight", out, 1, 100);
}

void read_topology_key(FieldReader& reader, std::string& out) {
  constexpr std::string_view kForm = "the key of a node label, such as topology.kubernetes.io/zone";
  if (reader.require("topologyKey", kForm)) reader.read_checked("topologyKey", out, is_label_key, kForm);
}

// matchLabelKeys and mismatchLabelKeys: keys of the pod's own labels that narrow the selector.
void read_label_keys(FieldReader& reader, std::string_view key, bool has_selector, std::vector<std::string>& out) {
  if (!reader.read_list(key, out)) return;
  if (!out.empty() && !has_selector) reader.rule(key, "requires labelSelector; add one");
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string path = item_path(reader.path_of(key), i);
    if (!is_label_key(out[i])) reader.findings().rule(path, "expected " + std::string(kLabelKeyForm));
    if (std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), out[i]) !=
        out.begin() + static_cast<std::ptrdiff_t>(i)) {
      reader.findings().rule(path, "duplicate; keep one");
    }
  }
}

void read_selector(FieldReader& reader, std::string_view key, std::optional<LabelSelector>& out) {
  reader.read_object(key, [&](FieldReader& selector) { read_label_selector(selector, out.emplace()); });
}

void read_pod_term(FieldReader& reader, PodAffinityTerm& out) {
  read_selector(reader, "labelSelector", out.label_selector);
  read_selector(reader, "namespaceSelector", out.namespace_selector);
  if (reader.read_list("namespaces", out.namespaces)) {
    for (std::size_t i = 0; i < out.namespaces.size(); ++i) {
      if (is_valid_name(out.namespaces[i])) continue;
      reader.findings().rule(item_path(reader.path_of("namespaces"), i), "expected " + std::string(kNameForm));
    }
  }
  read_topology_key(reader, out.topology_key);
  read_label_keys(reader, "matchLabelKeys", out.label_selector.has_value(), out.match_label_keys);
  read_label_keys(reader, "mismatchLabelKeys", out.label_selector.has_value(), out.mismatch_label_keys);
  for (std::size_t i = 0; out.label_selector && i < out.match_label_keys.size(); ++i) {
    // In with one value is what the API server merges for the key.
    const auto& requirements = out.label_selector->requirements;
    if (std::none_of(requirements.begin(), requirements.end(), [&](const Requirement& requirement) {
          return requirement.key == out.match_label_keys[i] &&
                 (requirement.op != Requirement::Operator::in || requirement.values.size() != 1);
        })) {
      continue;
    }
    reader.findings().rule(item_path(reader.path_of("matchLabelKeys"), i), "also in labelSelector; keep one");
  }
  for (std::size_t i = 0; i < out.mismatch_label_keys.size(); ++i) {
    const auto& keys = out.match_label_keys;
    if (std::find(keys.begin(), keys.end(), out.mismatch_label_keys[i]) == keys.end()) continue;
    reader.findings().rule(item_path(reader.path_of("mismatchLabelKeys"), i), "also in matchLabelKeys; keep one");
  }
}

void read_pod_affinity(FieldReader& reader, PodAffinity& out) {
  reader.read_each(kRequired, [&](FieldReader& item) { read_pod_term(item, out.required.emplace_back()); });
  reader.read_each(kPreferred, [&](FieldReader& item) {
    WeightedPodAffinityTerm& weighted = out.preferred.emplace_back();
    read_weight(item, weighted.weight);
    if (item.require("podAffinityTerm", "an object with labelSelector and topologyKey")) {
      item.read_object("podAffinityTerm", [&](FieldReader& term) { read_pod_term(term, weighted.term); });
    }
  });
}

}  // namespace

void read_preferred_node_terms(FieldReader& reader, std::vector<PreferredNodeTerm>& out) {
  reader.read_each(kPreferred, [&](FieldReader& item) {
    PreferredNodeTerm& preferred = out.emplace_back();
    read_weight(item, preferred.weight);
    if (item.require("preference", "an object with matchExpressions or matchFields")) {
      item.read_object("preference", [&](FieldReader& term) { read_node_selector_term(term, preferred.preference); });
    }
  });
}

void read_affinity(FieldReader& reader, Pod& pod) {
  reader.read_object("nodeAffinity", [&](FieldReader& node) {
    node.read_object(kRequired, [&](FieldReader& selector) {
      read_node_selector(selector, pod.affinity->required_node_affinity.emplace());
    });
    read_preferred_node_terms(node, pod.affinity->preferred_node_affinity);
  });
  reader.read_object("podAffinity",
                     [&](FieldReader& affinity) { read_pod_affinity(affinity, pod.affinity->pod_affinity); });
  reader.read_object("podAntiAffinity",
                     [&](FieldReader& affinity) { read_pod_affinity(affinity, pod.affinity->pod_anti_affinity); });
}

void read_spread_constraint(FieldReader& reader, const std::vector<TopologySpreadConstraint>& before,
                            TopologySpreadConstraint& out) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  static constexpr std::array kWhenUnsatisfiable{EnumName<bool>{"DoNotSchedule", false},
                                                 EnumName<bool>{"ScheduleAnyway", true}};
  static constexpr std::array kPolicies{EnumName<bool>{"Honor", true}, EnumName<bool>{"Ignore", false}};
  if (reader.require("maxSkew", "an integer of at least 1")) reader.read_int32("maxSkew", out.max_skew, 1, kMax);
  read_topology_key(reader, out.topology_key);
  if (reader.require("whenUnsatisfiable", "DoNotSchedule or ScheduleAnyway")) {
    reader.read_enum("whenUnsatisfiable", kWhenUnsatisfiable, out.schedule_anyway);
  }
  read_selector(reader, "labelSelector", out.label_selector);
  std::int32_t min_domains = 0;
  if (reader.read_int32("minDomains", min_domains, 1, kMax)) {
    out.min_domains = min_domains;
    if (out.schedule_anyway) reader.rule("minDomains", "only allowed with whenUnsatisfiable DoNotSchedule; remove it");
  }
  reader.read_enum("nodeAffinityPolicy", kPolicies, out.honor_node_affinity);
  reader.read_enum("nodeTaintsPolicy", kPolicies, out.honor_node_taints);
  read_label_keys(reader, "matchLabelKeys", out.label_selector.has_value(), out.match_label_keys);
  if (std::any_of(before.begin(), before.end(), [&](const TopologySpreadConstraint& other) {
        return other.topology_key == out.topology_key && other.schedule_anyway == out.schedule_anyway;
      })) {
    reader.rule("topologyKey", "another constraint has this topologyKey and whenUnsatisfiable; keep one");
  }
}

}  // namespace berth::decode
