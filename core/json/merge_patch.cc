#include "core/json/merge_patch.h"

#include "core/json/canonical.h"

namespace berth {

void apply_merge_patch(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Json::object();
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) {
      target.erase(key);
      continue;
    }
    Json* old = target.find(key);
    if (old == nullptr) {
      target.set(key, Json());
      old = target.find(key);
    }
    apply_merge_patch(*old, value);
  }
}

Json merge_patch_between(const Json& from, const Json& to) {
  Json patch = Json::object();
  for (const auto& [key, value] : from.as_object()) {
    if (to.find(key) == nullptr) patch.set(key, Json());
  }
  for (const auto& [key, value] : to.as_object()) {
    const Json* old = from.find(key);
    if (old != nullptr && old->is_object() && value.is_object()) {
      Json below = merge_patch_between(*old, value);
      if (!below.as_object().empty()) patch.set(key, std::move(below));
    } else if (old == nullptr || !is_same(*old, value)) {
      patch.set(key, value);
    }
  }
  return patch;
}

}  // namespace berth
