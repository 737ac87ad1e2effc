#include "tests/conformance/compare_worlds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/json/canonical.h"
#include "core/json/merge_patch.h"
#include "tests/conformance/verdict.h"

namespace berth {
namespace {

Json comparable(const Json& object) {
  Json copy = object;
  if (Json* status = copy.find("status"); status != nullptr && at(*status, "conditions").is_array()) {
    status->set("conditions", conditions_by_type(at(*status, "conditions")));
  }
  return without_nothing(copy);
}

std::string difference(const std::string& name, const Json& got, const Json& wanted) {
  if (is_same(got, wanted)) return "";
  // The patches name only what differs.
  return name + ": got " + merge_patch_between(wanted, got).dump() + ", want " +
         merge_patch_between(got, wanted).dump();
}

std::string show_rest(const std::multiset<std::string>& these, const std::multiset<std::string>& others) {
  std::vector<std::string> rest;
  std::set_difference(these.begin(), these.end(), others.begin(), others.end(), std::back_inserter(rest));
  return show(rest);
}

std::string owner_uid(const Json& object) {
  for (const Json& owner : list(at(at(object, "metadata"), "ownerReferences"))) {
    if (flag(at(owner, "controller"))) return text(at(owner, "uid"));
  }
  return "";
}

Json final_pod(const Json& pod) {
  const Json& metadata = at(pod, "metadata");
  Json extract = Json::object();
  extract.set("phase", at(at(pod, "status"), "phase")).set("node", at(at(pod, "spec"), "nodeName"));
  extract.set("owner", owner_uid(pod)).set("terminating", !at(metadata, "deletionTimestamp").is_null());
  extract.set("finalizers", at(metadata, "finalizers"));
  return extract;
}

Json final_object(const std::string& kind, const Json& object) {
  Json extract = Json::object();
  Json metadata = at(object, "metadata");
  for (const std::string_view key :
       {"name", "namespace", "creationTimestamp", "generation", "generateName", "ownerReferences"}) {
    metadata.erase(key);
  }
  extract.set("metadata", std::move(metadata)).set("owner", owner_uid(object));
  if (kind != "Node") extract.set("status", at(object, "status"));
  Json spec = at(object, "spec");
  if (kind != "PersistentVolumeClaim" && kind != "ReplicationController") {  // the records do not cut these down
    spec = Json::object();
    for (const std::string_view key : {"replicas", "paused", "suspend", "parallelism", "taints"}) {
      spec.set(key, at(at(object, "spec"), key));
    }
  }
  extract.set("spec", std::move(spec)).set("revision", at(object, "revision"));
  return comparable(extract);
}

}  // namespace

std::string compare_actions(const std::multiset<std::string>& got, const std::multiset<std::string>& wanted) {
  if (got == wanted) return "";
  return "actions: got " + show_rest(got, wanted) + ", want " + show_rest(wanted, got);
}

std::string compare_answers(const Json& got, const Json& wanted) {
  if (is_same(without_nothing(got), without_nothing(wanted))) return "";
  return "answer: got " + got.dump() + ", want " + wanted.dump();
}

std::string compare_worlds(const WorldStore& got, const WorldStore& wanted) {
  std::set<std::string> kinds;
  for (const WorldStore* store : {&got, &wanted}) {
    for (std::string& kind : store->kinds()) kinds.insert(std::move(kind));
  }
  kinds.erase("Lease");  // the world renews them, and that is not recorded
  for (const std::string& kind : kinds) {
    std::set<ObjectKey> keys;
    for (const WorldStore* store : {&got, &wanted}) {
      for (ObjectKey& key : store->keys(kind)) keys.insert(std::move(key));
    }
    for (const ObjectKey& key : keys) {
      const std::string name = kind + " " + key.name;
      const Json* ours = got.find(kind, key);
      const Json* theirs = wanted.find(kind, key);
      if (ours == nullptr) return name + ": is missing";
      if (theirs == nullptr) return name + ": should not exist";
      const std::string found = difference(name, comparable(*ours), comparable(*theirs));
      if (!found.empty()) return found;
    }
  }
  return "";
}

std::string compare_with_final(const WorldStore& got, const Json& wanted) {
  for (const std::string& kind : got.kinds()) {
    if (kind == "Lease") continue;
    const Json& objects = at(wanted, kind);
    std::size_t count = 0;
    for (const ObjectKey& key : got.keys(kind)) {
      const Json& object = *got.find(kind, key);
      const Json extract = without_nothing(kind == "Pod" ? final_pod(object) : final_object(kind, object));
      const std::string found = difference(kind + " " + key.name, extract, without_nothing(at(objects, key.name)));
      if (!found.empty()) return found;
      ++count;
    }
    if (objects.is_object() && objects.as_object().size() != count) return kind + ": objects are missing";
  }
  return "";
}

}  // namespace berth
