#include "core/objects/made_pods.h"

#include <string_view>

#include "core/json/members.h"
#include "core/objects/accepting.h"

namespace berth {
namespace {

constexpr std::string_view kManagedFields = "managedFields", kMaker = "berthd";

bool is_of_maker(const Json& manifest) {
  const Json::Array& managers = list_of(member(manifest, "metadata"), kManagedFields);
  return managers.size() == 1 && managers.front().string_at("manager") == kMaker;
}

}  // namespace

void mark_made_here(Json& manifest) {
  if (Json* metadata = object_at(manifest, "metadata")) {
    metadata->set(kManagedFields, Json(Json::Array{Json::object().set("manager", kMaker)}));
  }
}

bool is_made_here(const Pod& pod) {
  // Most pods are not, and are not parsed to learn that.
  return pod.shape.get().find(R"("managedFields":[{"manager":"berthd"}])") != std::string_view::npos &&
         is_of_maker(pod.manifest().json());
}

void drop_made_here(Json& manifest) {
  if (is_of_maker(manifest)) object_at(manifest, "metadata")->erase(kManagedFields);
}

}  // namespace berth
