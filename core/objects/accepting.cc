#include "core/objects/accepting.h"

namespace berth {

Json* object_at(Json& manifest, std::string_view key) {
  Json* found = manifest.find(key);
  return found != nullptr && found->is_object() ? found : nullptr;
}

Json as_accepted(Kind kind, Json object) {
  Json* metadata = object_at(object, "metadata");
  if (metadata == nullptr) return object;
  if (describe(kind).namespaced && metadata->find("namespace") == nullptr) metadata->set("namespace", "default");
  metadata->erase("deletionTimestamp");
  metadata->erase("deletionGracePeriodSeconds");
  return object;
}

std::string uid_of(const Json& manifest) {
  const Json* metadata = manifest.find("metadata");
  const Json* uid = metadata == nullptr ? nullptr : metadata->find("uid");
  return uid != nullptr && uid->is_string() ? uid->as_string() : std::string();
}

std::string key_of(Kind kind, const Json& manifest) {
  const Json* metadata = manifest.find("metadata");
  const Json* name = metadata == nullptr ? nullptr : metadata->find("name");
  const Json* name_space = metadata == nullptr ? nullptr : metadata->find("namespace");
  if (name == nullptr || !name->is_string()) return {};
  if (!describe(kind).namespaced) return name->as_string();
  return (name_space != nullptr && name_space->is_string() ? name_space->as_string() : "default") + "/" +
         name->as_string();
}

}  // namespace berth
