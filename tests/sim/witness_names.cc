// What a gateway without its store makes of the pods that the devices run (S14: P14, P15).
#include <algorithm>

#include "core/placement/state.h"
#include "tests/sim/witness.h"

namespace berth::sim {

// The store does not know what the nodes run before it has heard each of them.
void Witness::unhear_nodes() {
  std::set<std::string> nodes;
  for (const auto& view : devices_) nodes.insert(view->name);
  names_.lose_store(nodes);
}

void Witness::machine_lost(bool is_marked_new) {
  unhear_nodes();
  must_adopt_ = !is_marked_new;
  gateway_.is_behind = false;
}

bool Witness::was_found(std::string_view uid) const {
  // One that had finished has no row any more.
  if (found_.contains(std::string(uid))) return true;
  const auto row = gateway_.rows.find(std::string(uid));
  return row != gateway_.rows.end() && !owner_of_.contains({gateway_.id.store_id, row->second.epoch}) &&
         !gateway_.from_copy.contains(show(row->second.uid, row->second.epoch));
}

// An entry of the release list is new in this commit.
void Witness::check_found(const std::string& key) {
  const auto found = gateway_.releases.find(key);
  if (found == gateway_.releases.end()) return;
  const ReleaseEntry& entry = found->second;
  const DeviceView* view = device(entry.node);
  if (view == nullptr || view->hostile) return;
  const auto slot = view->durable.state.slots.find(entry.uid);
  const bool is_held = slot != view->durable.state.slots.end() && slot->second.epoch == entry.epoch;
  // Adopt mode does not wait for a forgotten node that returns.
  const bool returns =
      returned_.contains(entry.node) || gateway_.has_retired(view->name, view->durable.state.incarnation);
  const bool is_foreign = !owner_of_.contains({gateway_.id.store_id, entry.epoch}) && !returns;
  if (gateway_.has_begun_new && is_held && is_foreign) {
    news_.two_of_a_name.push_back("the store has counted as new, and goes on with " + key + ", which it did not give");
  }
  const bool has_object =
      gateway_.contents.contains({Table::object, "pods/" + entry.pod}) || names_freed_.contains(entry.pod);
  if (gateway_.orphans.contains(key) && entry.holds_name && !has_object) {
    news_.two_of_a_name.push_back("no object was made of " + key + ", and the name " + entry.pod + " was free");
  }
}

// A row begins: no other pod of its name has a placement that this store knows of and that may run.
void Witness::check_name_is_free(const Row& row) {
  const std::string what = "row " + show(row.uid, row.epoch) + " begins while ";
  if (const std::string holder = names_.find_holder(row); !holder.empty()) {
    news_.two_of_a_name.push_back(what + holder + " holds its name, " + std::string(row.pod));
  }
  for (const std::string& uid : names_.uids_of(row.pod)) {
    if (uid == std::string(row.uid)) continue;
    for (const auto& view : devices_) {
      if (view->hostile || view->older_copy) continue;
      for (const Tag& tag : view->runtime->alive(uid)) {
        const std::string key = release_key(view->name, uid, tag.epoch);
        if (!gateway_.releases.contains(key) || was_forgotten(view->name, {uid, tag.epoch})) continue;
        news_.two_of_a_name.push_back(what + key + " runs, which has the name " + std::string(row.pod));
      }
    }
  }
}

// Adopt mode has ended with this commit: of two pods of a name the configuration has decided, if it may.
void Witness::check_adopted(bool was_adopting) {
  if (!was_adopting || gateway_.adopting || !gateway_.has_store || names_.same_name() == SameName::ask) return;
  if (gateway_.alive == nullptr) return;
  std::map<std::string, std::set<std::string>> orphans;  // by name
  for (const std::string& key : gateway_.orphans) {
    const auto entry = gateway_.releases.find(key);
    if (entry != gateway_.releases.end()) orphans[entry->second.pod].insert(key);
  }
  for (const auto& [uid, row] : gateway_.rows) {
    const auto same = orphans.find(row.pod);
    // Of two that earlier stores placed nobody knows which one was meant.
    if (same == orphans.end() || same->second.size() != 1 || row.phase == Phase::release) continue;
    // A node that had a later term before is not known to have been given the epoch.
    if (!gateway_.alive->nodes().is_given(row.node, row.epoch, gateway_.alive->identity().terms)) continue;
    const ReleaseEntry& entry = gateway_.releases.at(*same->second.begin());
    if (!entry.holds_name || owner_of_.contains({gateway_.id.store_id, entry.epoch}) || entry.uid == uid) continue;
    if (names_.same_name() == SameName::older && gateway_.kept.contains(*same->second.begin())) continue;
    news_.two_of_a_name.push_back("adopt mode has ended, and " + *same->second.begin() + " stays beside " +
                                  show(uid, row.epoch) + ", both of the name " + entry.pod);
  }
}

}  // namespace berth::sim
