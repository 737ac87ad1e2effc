#include <algorithm>
#include <cctype>

#include "core/api/objects.h"
#include "core/check.h"

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
  for (const KindName& name : kinds()) {
    if (name.kind == kind) return name;
  }
  check_failed("a kind without a name", __FILE__, __LINE__);
}

const KindName* find_kind(std::string_view text) {
  const auto lower = [](std::string_view name) {
    std::string result(name);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
  };
  for (const KindName& name : kinds()) {
    if (text == name.name || text == name.plural || text == name.short_name || text == lower(name.name)) return &name;
  }
  return nullptr;
}

}  // namespace berth
