#include "tests/conformance/world.h"

#include <algorithm>
#include <utility>

#include "core/api/controller_revision.h"
#include "tests/conformance/verdict.h"

namespace berth {
namespace {

constexpr Millis kConflictRetry = 10;  // client-go retry.DefaultBackoff

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

void World::learn_hash(std::string_view kind, const Json& object) {
  const Json& metadata = at(object, "metadata");
  const std::string name = text(at(metadata, "name"));
  // Of a ControllerRevision by its name: after a collision, that of a StatefulSet keeps the label of the first attempt.
  std::string hash = text(at(at(metadata, "labels"), "pod-template-hash"));
  if (kind == ControllerRevision::kKind) hash = name.substr(name.rfind('-') + 1);
  if (hash.empty() || !name.ends_with("-" + hash) || hashes_.contains(hash)) return;
  const auto is_used = [&](const std::string& called) {
    return std::any_of(hashes_.begin(), hashes_.end(), [&](const auto& each) { return each.second == called; }) ||
           std::find(expected_hashes_.begin(), expected_hashes_.end(), called) != expected_hashes_.end();
  };
  std::string called = "h1";
  for (int number = 2; is_used(called); ++number) called = "h" + std::to_string(number);
  // The attempt to create an object whose name is taken by another was not recorded.
  const ObjectKey taken{"default", name.substr(0, name.size() - hash.size()) + called};
  if (!expected_hashes_.empty() && store_.find(kind, taken) == nullptr) {
    called = expected_hashes_.front();
    expected_hashes_.erase(expected_hashes_.begin());
  }
  hashes_.emplace(hash, called);
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
  learn_hash(kind, object);
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
  // After a conflict upstream sleeps for so long; what is created afterwards is later than the second.
  if (event.message.ends_with("the object has been modified")) store_.set_now(store_.now() + kConflictRetry);
  const char* type = event.type == WorkloadEvent::Type::warning ? "Warning" : "Normal";
  actions_.insert(name_event(about.kind, about.metadata.name, type, event.reason, with_short_hashes(event.message)));
}

}  // namespace berth
