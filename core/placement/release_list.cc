#include "core/placement/release_list.h"

#include <utility>

#include "core/placement/pending_release.h"

namespace berth {

ReleaseList::ReleaseList(const PlacementContext& context, PlacementState& state, Cache& cache, RequestSender& sender,
                         Listings& listings, VolumeBinder& volumes, ProvisionedVolumes& provisioned,
                         ObjectChanges& changes, PlacementEvents& events)
    : context_(context),
      state_(state),
      cache_(cache),
      sender_(sender),
      listings_(listings),
      volumes_(volumes),
      provisioned_(provisioned),
      changes_(changes),
      events_(events) {}

ReleaseList::~ReleaseList() {
  for (auto& [key, release] : state_.releases) context_.timers.cancel(release.resend);
}

void ReleaseList::recover() {
  for (const auto& [key, release] : state_.releases) volumes_.hold(key, release.entry.volumes);
  const auto is_lost = [this](const std::string& key) { return !contains(key); };
  Identity& identity = context_.identity.keep();
  std::erase_if(identity.orphans, is_lost);
  std::erase_if(identity.kept, is_lost);
  std::erase_if(identity.ending, is_lost);
}

bool ReleaseList::take_answer(const Answer& answer) {
  const std::string key = release_key(answer.node, answer.uid, answer.epoch);
  const auto found = state_.releases.find(key);
  if (found == state_.releases.end() || !ends_entry(found->second.entry, answer, context_.identity->id.store_id)) {
    return false;
  }
  const ReleaseEntry ended = found->second.entry;
  end(key);
  provisioned_.take_unused(ended.node, ended.made);
  return true;
}

void ReleaseList::resend(const std::string& node) {
  for (auto entry = state_.releases.lower_bound(node + "/"); entry != state_.releases.end(); ++entry) {
    if (entry->second.entry.node != node) break;
    entry->second.resends = 0;
    request(entry->first);
  }
}

bool ReleaseList::ends_older(const std::string& node, std::string_view uid, const Epoch& epoch) const {
  const std::string prefix = node + "/" + std::string(uid) + "/";
  for (auto at = state_.releases.lower_bound(prefix); at != state_.releases.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    if (at->second.entry.epoch > epoch && !context_.identity->orphans.contains(at->first)) return true;
  }
  return false;
}

std::size_t ReleaseList::count_of(const std::string& node) const {
  std::size_t count = 0;
  for (auto entry = state_.releases.lower_bound(node + "/"); entry != state_.releases.end(); ++entry, ++count) {
    if (entry->second.entry.node != node) break;
  }
  return count;
}

void ReleaseList::add(ReleaseEntry entry, bool may_run) {
  const std::string key = release_key(entry.node, entry.uid, entry.epoch);
  if (may_run) context_.identity.insert(&Identity::ending, key);
  context_.store.put(Table::release, key, encode(entry));
  volumes_.hold(key, entry.volumes);
  restore(std::move(entry));
  request(key);
}

void ReleaseList::hold_name(const std::string& key, const std::string& pod) {
  ReleaseEntry& entry = state_.releases.at(key).entry;
  if (entry.holds_name && entry.pod == pod) return;
  entry.pod = pod;
  entry.holds_name = true;
  context_.store.put(Table::release, key, encode(entry));
}

void ReleaseList::restore(ReleaseEntry entry) {
  const std::string key = release_key(entry.node, entry.uid, entry.epoch);
  cache_.charge(entry.node, key, decode_charge(entry.charge));
  state_.epochs.hold(entry.node, entry.epoch, entry.uid);
  state_.releases[key].entry = std::move(entry);
}

void ReleaseList::end(const std::string& key) {
  const std::string node = state_.releases.at(key).entry.node;
  const std::string uid = state_.releases.at(key).entry.uid;
  const std::string pod = state_.releases.at(key).entry.pod;
  EventObjects objects;
  objects.old_pod = placed_on(node, uid, decode_charge(state_.releases.at(key).entry.charge));
  // A device may report an orphan unasked: it must not stay named once its entry is gone.
  if (context_.identity->orphans.contains(key)) {
    forget_orphan(key);
  } else {
    drop(key);
  }
  if (context_.identity.erase(&Identity::ending, key)) events_.uid_freed(uid);
  if (!pod.empty()) events_.name_freed(pod);
  context_.publisher.mark(Kind::node, node);
  volumes_.delete_unused();
  changes_.wake({EventResource::assigned_pod, kDelete, "AssignedPodDelete"}, objects);
}

void ReleaseList::drop(const std::string& key) {
  auto found = state_.releases.find(key);
  const ReleaseEntry entry = std::move(found->second.entry);
  context_.timers.cancel(found->second.resend);
  state_.releases.erase(found);
  volumes_.forget_holder(key);
  context_.identity.erase(&Identity::kept, key);
  context_.store.erase(Table::release, key);
  cache_.discharge(entry.node, key);
  listings_.note_ended(entry.node, entry.epoch);
  state_.epochs.drop(entry.node, entry.epoch, entry.uid);
}

void ReleaseList::request(const std::string& key) {
  if (context_.identity->orphans.contains(key)) return;  // not before the operator has decided
  Release& release = state_.releases.at(key);
  Request message(RequestType::release);
  message.uid = release.entry.uid;
  message.epoch = release.entry.epoch;
  message.incarnation = release.entry.incarnation;
  sender_.send(release.entry.node, std::move(message));
  sender_.arm_resend(release.resend, release.resends, [this, key] {
    state_.releases.at(key).resend = 0;
    request(key);
  });
}

bool ReleaseList::may_run_elsewhere(const Pod& pod) const {
  for (const auto* keys : {&context_.identity->orphans, &context_.identity->ending}) {
    for (const std::string& key : *keys) {
      auto found = state_.releases.find(key);
      if (found != state_.releases.end() && found->second.entry.uid == pod.uid()) return true;
    }
  }
  return holder_of_name(pod) != nullptr;
}

const ReleaseEntry* ReleaseList::holder_of_name(const Pod& pod) const {
  for (const auto* keys : {&context_.identity->orphans, &context_.identity->ending}) {
    for (const std::string& key : *keys) {
      const auto found = state_.releases.find(key);
      if (found == state_.releases.end() || !found->second.entry.holds_name) continue;
      if (found->second.entry.uid != pod.uid() && found->second.entry.pod == pod.metadata.key()) {
        return &found->second.entry;
      }
    }
  }
  return nullptr;
}

std::vector<std::string> ReleaseList::orphans_named(const std::string& pod) const {
  std::vector<std::string> keys;
  for (const std::string& key : context_.identity->orphans) {
    if (state_.releases.at(key).entry.pod == pod) keys.push_back(key);
  }
  return keys;
}

void ReleaseList::keep_orphan(const std::string& key) {
  context_.identity.insert(&Identity::kept, key);
  const std::string node = state_.releases.at(key).entry.node;
  if (!listings_.is_open(node)) listings_.start(node);
}

void ReleaseList::release_orphan(const std::string& key) {
  context_.identity.erase(&Identity::orphans, key);
  context_.identity.erase(&Identity::kept, key);
  context_.identity.insert(&Identity::ending, key);
  request(key);
}

std::vector<std::string> ReleaseList::orphans_of(std::string_view uid) const {
  std::vector<std::string> keys;
  for (const std::string& key : context_.identity->orphans) {
    if (state_.releases.at(key).entry.uid == uid) keys.push_back(key);
  }
  return keys;
}

void ReleaseList::add_orphan(const ReleaseEntry& entry, const std::string& key) {
  context_.identity.edit().orphans.insert(key);
  context_.store.put(Table::release, key, encode(entry));
  volumes_.hold(key, entry.volumes);
  restore(entry);
  context_.log.write(Level::warn, "a workload without an object was found: see berthctl get pods, adopt and delete",
                     {{"node", entry.node}, {"pod", entry.pod}, {"uid", entry.uid}});
}

bool ReleaseList::release_orphans(std::string_view uid) {
  const std::vector<std::string> keys = orphans_of(uid);
  if (keys.empty()) return false;
  for (const std::string& key : keys) release_orphan(key);
  return true;
}

void ReleaseList::list_nodes_of_orphans(std::string_view uid) {
  for (const std::string& key : orphans_of(uid)) {
    const std::string node = state_.releases.at(key).entry.node;
    if (!listings_.is_open(node)) listings_.start(node);
  }
}

void ReleaseList::forget_orphan(const std::string& key) {
  const std::string uid = state_.releases.at(key).entry.uid;
  const std::string pod = state_.releases.at(key).entry.pod;
  context_.identity.edit().orphans.erase(key);
  drop(key);
  events_.uid_freed(uid);
  if (!pod.empty()) events_.name_freed(pod);
}

void ReleaseList::forget_orphans_not_in(const std::string& node, const std::set<std::string>& keys) {
  for (const std::string& key : std::set(context_.identity->orphans)) {
    // It ends as a release does: what it was charged is free, and pods may wait for that.
    if (state_.releases.at(key).entry.node == node && !keys.contains(key)) end(key);
  }
}

}  // namespace berth
