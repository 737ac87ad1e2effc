#include "tests/conformance/world.h"

#include <utility>

#include "tests/conformance/verdict.h"

namespace berth {
namespace {

WriteResult written(bool exists) {
  WriteResult result;
  if (!exists) result = {WriteResult::Code::not_found, "not found", ""};
  return result;
}

}  // namespace

std::string name_action(std::string_view what, std::string_view kind, std::string_view name) {
  return std::string(what) + " " + std::string(kind) + " " + std::string(name);
}

std::string name_event(std::string_view kind, std::string_view name, std::string_view type, std::string_view reason,
                       std::string_view message) {
  // It prints a selector as a Go value.
  if (reason == "UnmanagedPods") message = "";
  return name_action("event", kind, name) + " " + std::string(type) + " " + std::string(reason) + ": " +
         std::string(message);
}

std::multiset<std::string> World::take_actions() { return std::exchange(actions_, {}); }

ObjectPtr World::find(std::string_view kind, const ObjectKey& key) const {
  return store_.find_typed(kind, {key.name_space, with_short_hashes(key.name)});
}

std::vector<ObjectPtr> World::list(std::string_view kind, std::string_view name_space) const {
  std::vector<ObjectPtr> found;
  for (const ObjectKey& key : store_.keys(kind, name_space)) found.push_back(store_.find_typed(kind, key));
  return found;
}

std::vector<ControlledPodPtr> World::pods_of(std::string_view name_space, std::string_view controller_uid) const {
  std::vector<ControlledPodPtr> found;
  for (const ControlledPodPtr& pod : list_as<ControlledPod>(*this, ControlledPod::kKind, name_space)) {
    if (pod->metadata.controller_uid == controller_uid) found.push_back(pod);
  }
  return found;
}

Result<std::optional<Scale>> World::scale_of(const OwnerReference& owner, std::string_view name_space) const {
  static const std::map<std::string, std::string> kWithoutScale{{"DaemonSet", "daemonsets.apps"},
                                                                {"Job", "jobs.batch"}};
  if (const auto found = kWithoutScale.find(owner.kind); found != kWithoutScale.end()) {
    return Status::error(found->second + " does not implement the scale subresource");
  }
  if (const auto widget = widgets_.find(owner.name); owner.kind == "Widget" && widget != widgets_.end()) {
    return std::optional<Scale>({"Widget." + owner.name, widget->second});
  }
  const Json* object = store_.find(owner.kind, {std::string(name_space), owner.name});
  if (object == nullptr) return std::optional<Scale>();
  const Json& replicas = at(at(*object, "spec"), "replicas");
  return std::optional<Scale>(
      {text(at(at(*object, "metadata"), "uid")), replicas.is_null() ? 1 : static_cast<std::int32_t>(number(replicas))});
}

bool World::is_over_limit() const {
  if (!pod_limit_) return false;
  std::int64_t unfinished = 0;
  for (const ControlledPodPtr& pod : list_as<ControlledPod>(*this, ControlledPod::kKind, "")) {
    if (!is_finished(*pod)) ++unfinished;
  }
  return unfinished >= *pod_limit_;
}

void World::learn_hash(const Json& object) {
  const Json& metadata = at(object, "metadata");
  const std::string name = text(at(metadata, "name"));
  for (const std::string_view label : {"pod-template-hash", "controller-revision-hash"}) {
    const std::string hash = text(at(at(metadata, "labels"), label));
    if (hash.empty() || !name.ends_with("-" + hash)) continue;
    hashes_.emplace(hash, "h" + std::to_string(hashes_.size() + 1));
  }
}

std::string World::with_short_hashes(std::string text) const {
  for (const auto& [hash, called] : hashes_) {
    for (std::size_t found = text.find(hash); found != std::string::npos; found = text.find(hash, found)) {
      text.replace(found, hash.size(), called);
    }
  }
  return text;
}

Json World::with_short_hashes(const Json& value) const {
  if (value.is_string()) return with_short_hashes(value.as_string());
  if (value.is_array()) {
    Json items = Json::array();
    for (const Json& item : value.as_array()) items.push_back(with_short_hashes(item));
    return items;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [key, member] : value.as_object()) object.set(key, with_short_hashes(member));
  return object;
}

WriteResult World::create(std::string_view kind, std::string_view name_space, Json object) {
  learn_hash(object);
  object = with_short_hashes(object);
  object.find("metadata")->set("namespace", name_space);
  WriteResult result;
  if (kind == "Pod" && is_over_limit()) {
    const Json& metadata = at(object, "metadata");
    std::string name = text(at(metadata, "name"));
    if (name.empty()) name = text(at(metadata, "generateName"));
    actions_.insert(name_action("createRefused", kind, name));
    result.code = WriteResult::Code::refused;
    result.message = "pods \"" + name + "\" is forbidden: exceeded quota";
    return result;
  }
  const std::string wanted = text(at(at(object, "metadata"), "name"));
  result.name = store_.create(kind, std::move(object));
  if (result.name.empty()) {
    result.code = WriteResult::Code::already_exists;
    result.message = std::string(kind) + " \"" + wanted + "\" already exists";
    result.name = wanted;
  } else {
    actions_.insert(name_action("create", kind, result.name));
  }
  return result;
}

WriteResult World::patch(const ControlledObject& object, const Json& merge) {
  return written(store_.patch(object.kind, key_of(object), with_short_hashes(merge)));
}

WriteResult World::patch_status(const ControlledObject& object, const Json& merge) {
  return written(store_.patch_status(object.kind, key_of(object), with_short_hashes(merge)));
}

WriteResult World::remove(const ControlledObject& object, const DeleteOptions& options) {
  const ObjectPtr found = store_.find_typed(object.kind, key_of(object));
  if (found == nullptr) return written(false);
  if (!options.uid.empty() && found->metadata.uid != options.uid) {
    return {WriteResult::Code::conflict, "the UID in the precondition does not match", ""};
  }
  actions_.insert(name_action("delete", object.kind, object.metadata.name));
  store_.remove(object.kind, key_of(object), options);
  return {};
}

void World::record(const ControlledObject& about, WorkloadEvent event) {
  const char* type = event.type == WorkloadEvent::Type::warning ? "Warning" : "Normal";
  actions_.insert(name_event(about.kind, about.metadata.name, type, event.reason, with_short_hashes(event.message)));
}

}  // namespace berth
