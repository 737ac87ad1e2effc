// OneName: what S14 needs to know of pods and their names: which names are held by workloads that the gateway found
// (P14), which rows a name has, and of which nodes a new store has not heard yet what they run (P15).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/handshake/row.h"
#include "core/objects/same_name.h"

namespace berth::sim {

class OneName {
 public:
  // What the gateway is configured to do with two pods of a name.
  void set_same_name(SameName stays) { stays_ = stays; }
  SameName same_name() const { return stays_; }

  // A device holds a slot with this manifest.
  void note_slot(const std::string& uid, const std::string& manifest);
  // Empty: no device has held the pod.
  std::string name_of(const std::string& uid) const;
  // All that devices have held.
  const std::set<std::string>& uids_of(const std::string& name) const;

  // The store is lost, and with it what these nodes run: each is unheard until a complete listing of it was taken.
  void lose_store(const std::set<std::string>& nodes);
  bool is_unheard(const std::string& node) const { return unheard_.contains(node) || late_.contains(node); }
  bool is_late(const std::string& node) const { return late_.contains(node); }
  // The operator did not wait for these.
  void set_late(std::set<std::string> nodes) { late_ = std::move(nodes); }
  void note_list_asked(const std::string& node, std::uint64_t list_id) { asked_[node] = list_id; }
  // The last page of a listing arrives.
  void note_listing(const std::string& node, std::uint64_t list_id);
  // The turn that took the listings is durable.
  void turn_ended();
  void turn_lost() { listed_.clear(); }

  // The gateway's records.
  void row_changed(const Row& row);
  void row_gone(const std::string& uid);
  void entry_changed(const std::string& key, const ReleaseEntry& entry);
  void entry_gone(const std::string& key) { held_.erase(key); }
  // Another pod that holds the name of this row, or has a row of that name; empty: none.
  std::string find_holder(const Row& row) const;
  std::string find_second_row(const Row& row) const;

 private:
  SameName stays_ = SameName::older;
  std::map<std::string, std::string> name_of_, row_of_;              // by uid
  std::map<std::string, std::set<std::string>> uids_of_, rows_;      // by name
  std::map<std::string, std::pair<std::string, std::string>> held_;  // by release_key(): name and uid
  std::set<std::string> unheard_, late_, listed_;
  std::map<std::string, std::uint64_t> asked_;  // by node
};

}  // namespace berth::sim
