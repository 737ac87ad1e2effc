// Orphans: workloads found in adopt mode whose object is not there (rules.md P8). Each stands on its node's release
// list, so it is charged and its epoch is held, but nothing is asked of the device before the operator has spoken: a
// delete of the uid releases it, its object takes it up. Until then a pod of that uid is placed nowhere.
#include "core/gateway/gateway.h"

namespace berth {

std::vector<std::string> Gateway::orphans_of(std::string_view uid) const {
  std::vector<std::string> keys;
  for (const std::string& key : identity_.orphans) {
    if (releases_.at(key).entry.uid == uid) keys.push_back(key);
  }
  return keys;
}

void Gateway::keep_orphan(const ReleaseEntry& entry, const std::string& key) {
  identity_.orphans.insert(key);
  identity_changed_ = true;
  store_.put(Table::release, key, encode(entry));
  hold_volumes(key, entry.volumes);
  restore_release(entry);
  log_.write(Level::warn, "a workload without an object was found; apply its pod or delete it",
             {{"node", entry.node}, {"pod", entry.uid}});
}

// The operator's word: it shall not be. True when there was something to release.
bool Gateway::release_orphans(std::string_view uid) {
  const std::vector<std::string> keys = orphans_of(uid);
  if (keys.empty()) return false;
  for (const std::string& key : keys) {
    identity_.orphans.erase(key);
    identity_.ending.insert(key);
  }
  identity_changed_ = true;
  for (const std::string& key : keys) request_release(key);
  return true;
}

// Its object is there: what the device has now decides.
void Gateway::ask_for_orphans(std::string_view uid) {
  for (const std::string& key : orphans_of(uid)) {
    const std::string node = releases_.at(key).entry.node;
    if (!listings_.contains(node)) list_node(node);
  }
}

// The epoch moves from the release list to a row, or is gone from its node.
void Gateway::forget_orphan(const std::string& key) {
  const std::string uid = releases_.at(key).entry.uid;
  identity_.orphans.erase(key);
  identity_changed_ = true;
  drop_release(key);
  queue_if_free(uid);
}

// True while something of this uid may run that no row names.
bool Gateway::may_run_elsewhere(std::string_view uid) const {
  for (const auto* keys : {&identity_.orphans, &identity_.ending}) {
    for (const std::string& key : *keys) {
      auto found = releases_.find(key);
      if (found != releases_.end() && found->second.entry.uid == uid) return true;
    }
  }
  return false;
}

void Gateway::queue_if_free(std::string_view uid) {
  const PodEntry* entry = objects_.find_pod_by_uid(uid);
  const bool waits = entry != nullptr && !entry->deleting && !entry->finished && !bindings_.contains(uid) &&
                     queue_.where(uid) == Queue::Where::none && !may_run_elsewhere(uid);
  if (waits) enqueue(entry->pod);
}

void Gateway::forget_orphans_not_in(const std::string& node, const std::set<std::string>& names) {
  for (const std::string& key : std::set(identity_.orphans)) {
    // It ends as a release does: what it was charged is free, and pods may wait for that.
    if (releases_.at(key).entry.node == node && !names.contains(key)) end_release(key);
  }
}

}  // namespace berth
