#include "core/controllers/stateful_set/stateful_set_pods.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "core/controllers/pod_control.h"
#include "core/controllers/revisions.h"
#include "core/json/members.h"
#include "core/stable_sort.h"

namespace berth {
namespace {

constexpr std::string_view kPodNameLabel = "statefulset.kubernetes.io/pod-name";
constexpr std::string_view kPodIndexLabel = "apps.kubernetes.io/pod-index";

// Whether a missing pod comes with the revision that the others have, not with that of the template.
bool gets_current_revision(const StatefulSet& set, std::int32_t ordinal) {
  const StatefulSetSpec& spec = set.spec;
  if (spec.rolling_update) return ordinal - spec.start_ordinal < spec.rolling_update->partition;
  return !spec.on_delete && ordinal - spec.start_ordinal < set.status.current_replicas;
}

SetMember missing_member(const StatefulSet& set, const StatefulSetRevisions& revisions, std::int32_t ordinal) {
  auto pod = std::make_shared<ControlledPod>();
  pod->metadata.name = member_name(set, ordinal);
  pod->metadata.namespace_ = set.metadata.namespace_;
  Labels labels = identity_labels(set, ordinal);
  const RevisionPtr& revision = gets_current_revision(set, ordinal) ? revisions.current : revisions.update;
  labels[std::string(kRevisionLabel)] = revision->metadata.name;
  pod->metadata.labels = std::move(labels);
  for (const ClaimTemplate& claim : set.spec.claim_templates) {
    pod->claims.emplace(claim.name, claim_name(set, claim, ordinal));
  }
  return {ordinal, std::move(pod), false};
}

// A volume of the template with the name of a claim gives way to it.
Json volumes_with_claims(const ControlledPod& pod, const Json::Array& volumes) {
  Json all = Json::array();
  for (const auto& [name, claim] : pod.claims.get()) {
    Json source = Json::object().set("claimName", claim);
    all.push_back(Json::object().set("name", name).set("persistentVolumeClaim", std::move(source)));
  }
  for (const Json& volume : volumes) {
    if (!pod.claims.contains(volume.string_at("name"))) all.push_back(volume);
  }
  return all;
}

}  // namespace

std::optional<std::int32_t> ordinal_of(const StatefulSet& set, std::string_view pod_name) {
  const std::string& parent = set.metadata.name;
  if (pod_name.size() < parent.size() + 2 || !pod_name.starts_with(parent) || pod_name[parent.size()] != '-') {
    return std::nullopt;
  }
  const std::string_view digits = pod_name.substr(parent.size() + 1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::int32_t ordinal = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);  // stays -1 when it is too large
  return ordinal;
}

std::string member_name(const StatefulSet& set, std::int32_t ordinal) {
  return set.metadata.name + "-" + std::to_string(ordinal);
}

bool is_in_range(const StatefulSet& set, std::int32_t ordinal) {
  const std::int64_t index = std::int64_t{ordinal} - set.spec.start_ordinal;
  return index >= 0 && index < set.spec.replicas;
}

std::string claim_name(const StatefulSet& set, const ClaimTemplate& claim, std::int32_t ordinal) {
  return claim.name + "-" + member_name(set, ordinal);
}

SetMembers set_members(const StatefulSet& set, const StatefulSetRevisions& revisions,
                       const std::vector<ControlledPodPtr>& pods) {
  SetMembers members;
  members.replicas.resize(static_cast<std::size_t>(set.spec.replicas));
  for (const ControlledPodPtr& pod : pods) {
    const std::int32_t ordinal = ordinal_of(set, pod->metadata.name).value_or(-1);
    if (ordinal < 0) continue;
    if (is_in_range(set, ordinal)) {
      members.replicas[static_cast<std::size_t>(ordinal - set.spec.start_ordinal)] = {ordinal, pod};
    } else {
      members.condemned.push_back({ordinal, pod});
    }
  }
  for (std::size_t i = 0; i < members.replicas.size(); ++i) {
    if (members.replicas[i].pod != nullptr) continue;
    members.replicas[i] = missing_member(set, revisions, set.spec.start_ordinal + static_cast<std::int32_t>(i));
  }
  stable_sort(members.condemned, [](const SetMember& a, const SetMember& b) { return a.ordinal > b.ordinal; });
  return members;
}

Json member_manifest(const StatefulSet& set, const StatefulSetRevisions& revisions, const SetMember& missing) {
  const ControlledPod& wanted = *missing.pod;
  const bool is_update = revision_label(wanted) == revisions.update->metadata.name;
  const PodTemplate pod_template = revision_template(is_update ? *revisions.update : *revisions.current);
  Json pod = pod_from_template(pod_template, set, StatefulSet::kApiVersion);
  Json& metadata = *pod.find("metadata");
  Json labels = member(metadata, "labels");
  for (const auto& [key, value] : wanted.metadata.labels.get()) labels.set(key, value);
  metadata.set("name", wanted.metadata.name).set("labels", std::move(labels));
  Json spec = member(pod, "spec");
  spec.set("hostname", wanted.metadata.name);
  spec.erase("subdomain");
  if (!set.spec.service_name.empty()) spec.set("subdomain", set.spec.service_name);
  if (!wanted.claims.empty()) spec.set("volumes", volumes_with_claims(wanted, list_of(spec, "volumes")));
  pod.set("spec", std::move(spec));
  return pod;
}

bool is_running_and_ready(const ControlledPod& pod) { return pod.phase == PodPhase::running && pod.ready; }

bool is_unavailable(const StatefulSet& set, const ControlledPod& pod, Millis now) {
  return pod.metadata.deletion || !is_running_and_ready(pod) || !is_available(pod, set.spec.min_ready_seconds, now);
}

Labels identity_labels(const StatefulSet& set, std::int32_t ordinal) {
  return {{std::string(kPodNameLabel), member_name(set, ordinal)},
          {std::string(kPodIndexLabel), std::to_string(ordinal)}};
}

bool has_identity(const ControlledPod& pod) {
  const Labels& labels = pod.metadata.labels.get();
  const auto found = labels.find(std::string(kPodNameLabel));
  return found != labels.end() && found->second == pod.metadata.name;
}

bool has_claims(const StatefulSet& set, const SetMember& replica) {
  return std::all_of(set.spec.claim_templates.begin(), set.spec.claim_templates.end(), [&](const ClaimTemplate& claim) {
    const auto& claims = replica.pod->claims.get();
    const auto found = claims.find(claim.name);
    return found != claims.end() && found->second == claim_name(set, claim, replica.ordinal);
  });
}

}  // namespace berth
