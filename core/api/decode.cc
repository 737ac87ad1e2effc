#include "core/api/decode.h"

#include <algorithm>
#include <limits>

namespace berth::decode {

namespace {

bool is_label_part(std::string_view text, std::size_t longest) {
  auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > longest) return false;
  if (!alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// [prefix/]name, as apimachinery pkg/util/validation IsQualifiedName.
bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return is_label_part(key, 63);
  return is_valid_name(key.substr(0, slash)) && is_label_part(key.substr(slash + 1), 63);
}

void check_labels(FieldReader& reader, const Labels& labels) {
  for (const auto& [key, value] : labels) {
    if (!is_label_key(key)) reader.fail("labels", "\"" + key + "\" is not a label key ([prefix/]name)");
    if (!value.empty() && !is_label_part(value, 63)) {
      reader.fail("labels." + key, "\"" + value + "\" is not a label value (at most 63 letters, digits, -, _, .)");
    }
  }
}

std::optional<TaintEffect> effect_of(std::string_view word) {
  if (word == "NoSchedule") return TaintEffect::no_schedule;
  if (word == "PreferNoSchedule") return TaintEffect::prefer_no_schedule;
  if (word == "NoExecute") return TaintEffect::no_execute;
  return std::nullopt;
}

}  // namespace

void type_meta(FieldReader& reader, std::string_view api_version, Kind kind) {
  const std::string version = reader.text("apiVersion", api_version);
  if (version != api_version) reader.fail("apiVersion", "\"" + std::string(api_version) + "\" is wanted");
  const std::string_view name = describe(kind).name;
  if (reader.text("kind", name) != name) reader.fail("kind", "\"" + std::string(name) + "\" is wanted");
}

ObjectMeta metadata(FieldReader& reader, bool namespaced) {
  ObjectMeta meta;
  const bool found = reader.object("metadata", [&](FieldReader& inner) {
    meta.name = inner.required_text("name");
    if (!meta.name.empty() && !is_valid_name(meta.name)) {
      inner.fail("name", "\"" + meta.name + "\" is not a name: lower-case letters, digits, - and ., at most 253");
    }
    const std::string name_space = inner.text("namespace", namespaced ? "default" : "");
    if (namespaced) {
      meta.namespace_ = name_space;
      if (!is_valid_name(name_space)) inner.fail("namespace", "\"" + name_space + "\" is not a name");
    } else if (!name_space.empty()) {
      inner.warn("namespace", "this kind has no namespace");
    }
    meta.uid = inner.text("uid");
    if (meta.uid.size() > 128 || meta.uid.find_first_of("/+# \n\t") != std::string::npos) {
      inner.fail("uid", "at most 128 characters without '/', '+', '#' and spaces");
    }
    meta.labels = inner.text_map("labels");
    check_labels(inner, meta.labels);
    meta.annotations = inner.text_map("annotations");
    inner.accept({"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "generateName",
                  "generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink"});
  });
  if (!found && !reader.has("metadata")) reader.fail("metadata.name", "is missing");
  return meta;
}

std::vector<Requirement> requirements(FieldReader& reader, std::string_view key, bool for_nodes) {
  std::vector<Requirement> list;
  reader.each(key, [&](FieldReader& inner) {
    Requirement requirement;
    requirement.key = inner.required_text("key");
    requirement.values = inner.texts("values");
    const std::string op = inner.required_text("operator");
    using Operator = Requirement::Operator;
    const bool numeric = op == "Gt" || op == "Lt";
    if (op == "In") {
      requirement.op = Operator::in;
    } else if (op == "NotIn") {
      requirement.op = Operator::not_in;
    } else if (op == "Exists") {
      requirement.op = Operator::exists;
    } else if (op == "DoesNotExist") {
      requirement.op = Operator::does_not_exist;
    } else if (numeric && for_nodes) {
      requirement.op = op == "Gt" ? Operator::gt : Operator::lt;
    } else if (!op.empty()) {
      inner.fail("operator",
                 "\"" + op + "\" is not one of In, NotIn, Exists, DoesNotExist" + (for_nodes ? ", Gt, Lt" : ""));
    }
    const bool set = op == "In" || op == "NotIn";
    if (set && requirement.values.empty()) inner.fail("values", "at least one is wanted with " + op);
    if (numeric && requirement.values.size() != 1) inner.fail("values", "exactly one is wanted with " + op);
    if (!set && !numeric && !requirement.values.empty()) inner.fail("values", "none are wanted with " + op);
    list.push_back(std::move(requirement));
  });
  return list;
}

NodeSelector node_selector(FieldReader& reader) {
  NodeSelector selector;
  const std::size_t terms = reader.each("nodeSelectorTerms", [&](FieldReader& inner) {
    NodeSelectorTerm term;
    term.match_expressions = requirements(inner, "matchExpressions", true);
    term.match_fields = requirements(inner, "matchFields", true);
    for (const Requirement& field : term.match_fields) {
      if (field.key != "metadata.name") inner.fail("matchFields", "only metadata.name is a field of nodes");
    }
    selector.terms.push_back(std::move(term));
  });
  if (terms == 0) reader.fail("nodeSelectorTerms", "at least one term is wanted");
  return selector;
}

LabelSelector label_selector(FieldReader& reader) {
  LabelSelector selector;
  for (const auto& [key, value] : reader.text_map("matchLabels")) {
    selector.requirements.push_back({key, Requirement::Operator::in, {value}});
  }
  for (Requirement& requirement : requirements(reader, "matchExpressions", false)) {
    selector.requirements.push_back(std::move(requirement));
  }
  return selector;
}

std::vector<Taint> taints(FieldReader& reader, std::string_view key) {
  std::vector<Taint> list;
  reader.each(key, [&](FieldReader& inner) {
    Taint taint;
    taint.key = inner.required_text("key");
    taint.value = inner.text("value");
    const std::string effect = inner.required_text("effect");
    if (std::optional<TaintEffect> known = effect_of(effect)) {
      taint.effect = *known;
    } else if (!effect.empty()) {
      inner.fail("effect", "\"" + effect + "\" is not one of NoSchedule, PreferNoSchedule, NoExecute");
    }
    inner.accept({"timeAdded"});
    list.push_back(std::move(taint));
  });
  return list;
}

std::vector<std::string> access_modes(FieldReader& reader) {
  std::vector<std::string> modes = reader.texts("accessModes");
  for (const std::string& mode : modes) {
    const bool known =
        mode == "ReadWriteOnce" || mode == "ReadOnlyMany" || mode == "ReadWriteMany" || mode == "ReadWriteOncePod";
    if (!known) {
      reader.fail("accessModes",
                  "\"" + mode + "\" is not one of ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod");
    }
  }
  return modes;
}

}  // namespace berth::decode
