#include <algorithm>
#include <charconv>

#include "core/api/decode_parts.h"

namespace berth::decode {
namespace {

constexpr std::size_t kAnnotationBytesMax = 256 * 1024;  // apimachinery TotalAnnotationSizeLimitB

void read_annotations(FieldReader& reader, Labels& out) {
  if (!reader.read_strings("annotations", out)) return;
  const std::string path = reader.path_of("annotations");
  std::size_t bytes = 0;
  for (const auto& [key, value] : out) {
    bytes += key.size() + value.size();
    std::string lower = key;  // as upstream: an annotation's prefix may have upper-case letters
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (!is_label_key(lower)) reader.findings().rule(member_path(path, key), "expected " + std::string(kLabelKeyForm));
  }
  if (bytes > kAnnotationBytesMax) reader.rule("annotations", "more than 256 KiB in all; store large data elsewhere");
}

constexpr std::string_view kUidForm = "up to 128 letters, digits, '-', '_' and '.', alphanumeric at both ends";

// The identity of an object is always validated, since it becomes part of topics and keys. Empty counts as absent.
void read_identity(FieldReader& reader, std::string_view key, std::string& out, bool (*valid)(std::string_view),
                   std::string_view form) {
  std::string text;
  if (!reader.read_string(key, text) || text.empty()) return;
  if (valid(text)) {
    out = std::move(text);
  } else {
    reader.error(key, "expected " + std::string(form) + ", got " + show_found(Json(text)));
  }
}

bool is_integer_text(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

using Op = Requirement::Operator;

constexpr std::array kLabelOperators{
    EnumName<Op>{"In", Op::in},
    EnumName<Op>{"NotIn", Op::not_in},
    EnumName<Op>{"Exists", Op::exists},
    EnumName<Op>{"DoesNotExist", Op::does_not_exist},
};
constexpr std::array kNodeOperators{
    kLabelOperators[0], kLabelOperators[1],         kLabelOperators[2],
    kLabelOperators[3], EnumName<Op>{"Gt", Op::gt}, EnumName<Op>{"Lt", Op::lt},
};
constexpr std::array kFieldOperators{kLabelOperators[0], kLabelOperators[1]};

// The number of values that each operator takes (apimachinery labels.NewRequirement).
void check_values(FieldReader& reader, const Requirement& requirement) {
  const std::size_t count = requirement.values.size();
  switch (requirement.op) {
    case Op::in:
    case Op::not_in:
      if (count == 0) reader.rule("values", "expected at least one value with In and NotIn, got none");
      break;
    case Op::exists:
    case Op::does_not_exist:
      if (count != 0) reader.rule("values", "must be empty with Exists and DoesNotExist; remove the values");
      break;
    case Op::gt:
    case Op::lt:
      if (count != 1 || !is_integer_text(requirement.values[0])) {
        reader.rule("values", "expected exactly one integer, in quotes, with Gt and Lt");
      }
      break;
  }
}

template <std::size_t N>
void read_requirement(FieldReader& reader, const std::array<EnumName<Op>, N>& operators, bool values_are_labels,
                      Requirement& out) {
  if (reader.require("key", kLabelKeyForm)) reader.read_checked("key", out.key, is_label_key, kLabelKeyForm);
  const bool good =
      reader.require("operator", "one of In, NotIn, Exists, ...") && reader.read_enum("operator", operators, out.op);
  const bool values_given = reader.has("values");
  const bool values_good = reader.read_list("values", out.values);
  if (good && (values_good || !values_given)) check_values(reader, out);
  if (!values_are_labels) return;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    if (is_label_value(out.values[i])) continue;
    reader.findings().rule(item_path(reader.path_of("values"), i),
                           "expected " + std::string(kLabelValueForm) + ", got " + show_found(Json(out.values[i])));
  }
}

void read_field_requirement(FieldReader& reader, Requirement& out) {
  read_requirement(reader, kFieldOperators, false, out);
  if (!out.key.empty() && out.key != "metadata.name") {
    reader.rule("key", "expected metadata.name, got " + show_found(Json(out.key)));
  }
  if (out.values.size() > 1) reader.rule("values", "expected exactly one node name; use one term for each");
}

}  // namespace

void read_metadata(FieldReader& reader, bool namespaced, ObjectMeta& out) {
  const Json* name = reader.take("name");
  const Json* prefix = reader.take("generateName");
  if (name == nullptr || *name == Json("")) {
    const bool generates = prefix != nullptr && *prefix != Json("");
    reader.error("name", generates ? "missing; only berthctl create makes a name from generateName"
                                   : "missing; expected " + std::string(kNameForm));
  }
  read_identity(reader, "name", out.name, is_valid_name, kNameForm);
  if (namespaced) {
    out.namespace_ = "default";
    read_identity(reader, "namespace", out.namespace_.edit(), is_valid_name, kNameForm);
  } else if (const Json* value = reader.take("namespace"); value != nullptr && *value != Json("")) {
    reader.error("namespace", "this kind has no namespace; remove the field");
  }
  read_identity(reader, "uid", out.uid.edit(), is_uid, kUidForm);
  read_labels(reader, "labels", out.labels);
  read_annotations(reader, out.annotations);
  out.deleting = reader.has("deletionTimestamp");
  reader.read_each("ownerReferences", [&out](FieldReader& owner) {
    bool controller = false;
    owner.read_bool("controller", controller);
    if (controller) owner.read_string("uid", out.controller_uid.edit());
  });
}

void read_head(FieldReader& reader, Kind kind, ObjectMeta& out) {
  const KindName& name = describe(kind);
  std::string text;
  reader.read_enum("apiVersion", {name.api_version}, text);
  reader.read_enum("kind", {name.name}, text);
  if (!reader.has("metadata")) reader.error("metadata", "missing; expected an object with a name");
  reader.read_object("metadata", [&](FieldReader& metadata) { read_metadata(metadata, name.namespaced, out); });
}

void read_labels(FieldReader& reader, std::string_view key, Labels& out) {
  if (!reader.read_strings(key, out)) return;
  const std::string path = reader.path_of(key);
  for (const auto& [label, value] : out) {
    if (!is_label_key(label))
      reader.findings().rule(member_path(path, label), "expected " + std::string(kLabelKeyForm));
    if (!is_label_value(value)) {
      reader.findings().rule(member_path(path, label),
                             "expected " + std::string(kLabelValueForm) + ", got " + show_found(Json(value)));
    }
  }
}

void read_taint(FieldReader& reader, const std::vector<Taint>& before, Taint& out) {
  if (reader.require("key", kLabelKeyForm)) reader.read_checked("key", out.key, is_label_key, kLabelKeyForm);
  reader.read_checked("value", out.value, is_label_value, kLabelValueForm);
  if (reader.require("effect", "one of NoSchedule, PreferNoSchedule, NoExecute")) {
    reader.read_enum("effect", kTaintEffects, out.effect);
  }
  if (std::any_of(before.begin(), before.end(),
                  [&](const Taint& other) { return other.key == out.key && other.effect == out.effect; })) {
    reader.rule("key", "another taint has this key and effect; keep one");
  }
}

void read_label_selector(FieldReader& reader, LabelSelector& out) {
  Labels labels;
  read_labels(reader, "matchLabels", labels);
  for (auto& [key, value] : labels) out.requirements.push_back({key, Op::in, {value}});
  reader.read_each("matchExpressions", [&](FieldReader& item) {
    read_requirement(item, kLabelOperators, true, out.requirements.emplace_back());
  });
}

void read_toleration(FieldReader& reader, Toleration& out) {
  static constexpr std::array kOperators{EnumName<Toleration::Operator>{"Equal", Toleration::Operator::equal},
                                         EnumName<Toleration::Operator>{"Exists", Toleration::Operator::exists},
                                         EnumName<Toleration::Operator>{"", Toleration::Operator::equal}};
  const Json* key = reader.take("key");
  if (key != nullptr && *key != Json("")) reader.read_checked("key", out.key, is_label_key, kLabelKeyForm);
  const bool operator_good = reader.read_enum("operator", kOperators, out.op) || !reader.has("operator");
  reader.read_string("value", out.value);
  const Json* effect_text = reader.take("effect");
  TaintEffect effect{};
  const bool any_effect = effect_text == nullptr || *effect_text == Json("");
  if (!any_effect && reader.read_enum("effect", kTaintEffects, effect)) out.effect = effect;
  std::int64_t seconds = 0;
  if (reader.read_int64("tolerationSeconds", seconds)) {
    out.toleration_seconds = seconds;
    if (out.effect != TaintEffect::no_execute) {
      reader.rule("tolerationSeconds", "only allowed with effect NoExecute; remove it or set the effect");
    }
  }
  if (!operator_good) return;
  if ((key == nullptr || *key == Json("")) && out.op == Toleration::Operator::equal) {
    reader.rule("key", "missing; required unless operator is Exists");
  }
  if (out.op == Toleration::Operator::exists && !out.value.empty()) {
    reader.rule("value", "operator Exists takes no value; remove it or use Equal");
  } else if (!is_label_value(out.value)) {
    reader.rule("value", "expected " + std::string(kLabelValueForm) + ", got " + show_found(Json(out.value)));
  }
}

void read_node_selector_term(FieldReader& reader, NodeSelectorTerm& out) {
  reader.read_each("matchExpressions", [&](FieldReader& requirement) {
    read_requirement(requirement, kNodeOperators, true, out.match_expressions.emplace_back());
  });
  reader.read_each("matchFields", [&](FieldReader& requirement) {
    read_field_requirement(requirement, out.match_fields.emplace_back());
  });
}

void read_node_selector(FieldReader& reader, NodeSelector& out) {
  reader.read_each("nodeSelectorTerms",
                   [&](FieldReader& item) { read_node_selector_term(item, out.terms.emplace_back()); });
  const Json* terms = reader.take("nodeSelectorTerms");
  if (terms == nullptr || (terms->is_array() && terms->as_array().empty())) {
    reader.rule("nodeSelectorTerms", "expected at least one term; without one no node matches");
  }
}

void read_modes(FieldReader& reader, std::vector<std::string>& access_modes, std::string& volume_mode) {
  static constexpr std::array<std::string_view, 4> kModes{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                                          "ReadWriteOncePod"};
  const std::string modes = "one of ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod";
  const bool given = reader.has("accessModes");
  if (reader.read_list("accessModes", access_modes) || !given) {
    if (access_modes.empty()) reader.rule("accessModes", "expected at least " + modes);
  }
  for (std::size_t i = 0; i < access_modes.size(); ++i) {
    if (std::find(kModes.begin(), kModes.end(), access_modes[i]) != kModes.end()) continue;
    reader.findings().rule(item_path(reader.path_of("accessModes"), i),
                           "expected " + modes + ", got " + show_found(Json(access_modes[i])));
  }
  reader.read_enum("volumeMode", {"Filesystem", "Block"}, volume_mode);
}

}  // namespace berth::decode
