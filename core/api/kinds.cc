#include <algorithm>

#include "core/api/objects.h"

namespace berth {

const std::vector<KindName>& kinds() {
  static const std::vector<KindName> kKinds{
      {Kind::pod, "Pod", "pods", "po", true},
      {Kind::node, "Node", "nodes", "no", false},
      {Kind::persistent_volume, "PersistentVolume", "persistentvolumes", "pv", false},
      {Kind::persistent_volume_claim, "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", true},
      {Kind::storage_class, "StorageClass", "storageclasses", "sc", false},
      {Kind::priority_class, "PriorityClass", "priorityclasses", "pc", false},
      {Kind::namespace_, "Namespace", "namespaces", "ns", false},
  };
  return kKinds;
}

const KindName& describe(Kind kind) {
  return *std::find_if(kinds().begin(), kinds().end(), [&](const KindName& name) { return name.kind == kind; });
}

const KindName* find_kind(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const KindName& kind : kinds()) {
    std::string singular(kind.name);
    std::transform(singular.begin(), singular.end(), singular.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (text == kind.name || lower == kind.plural || lower == singular || lower == kind.short_name) return &kind;
  }
  return nullptr;
}

bool is_valid_name(std::string_view name) {
  auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > 253) return false;
  if (!alphanumeric(name.front()) || !alphanumeric(name.back())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return alphanumeric(c) || c == '.' || c == '-'; });
}

std::string_view to_string(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::no_schedule: return "NoSchedule";
    case TaintEffect::prefer_no_schedule: return "PreferNoSchedule";
    case TaintEffect::no_execute: return "NoExecute";
  }
  return "";
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (toleration.effect && *toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == Toleration::Operator::exists) return true;
  return toleration.value == taint.value;
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint); });
}

}  // namespace berth
