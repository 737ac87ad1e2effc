#include "tests/sim/one_name.h"

#include "core/json/json.h"
#include "core/objects/accepting.h"

namespace berth::sim {

void OneName::note_slot(const std::string& uid, const std::string& manifest) {
  if (name_of_.contains(uid)) return;
  const Result<Json> pod = Json::parse(manifest);
  const std::string name = pod ? key_of(Kind::pod, *pod) : std::string();
  if (name.empty()) return;
  name_of_[uid] = name;
  uids_of_[name].insert(uid);
}

std::string OneName::name_of(const std::string& uid) const {
  const auto found = name_of_.find(uid);
  return found == name_of_.end() ? "" : found->second;
}

const std::set<std::string>& OneName::uids_of(const std::string& name) const {
  static const std::set<std::string> kNone;
  const auto found = uids_of_.find(name);
  return found == uids_of_.end() ? kNone : found->second;
}

void OneName::lose_store(const std::set<std::string>& nodes) {
  unheard_ = nodes;
  listed_.clear();
  asked_.clear();
}

void OneName::note_listing(const std::string& node, std::uint64_t list_id) {
  const auto asked = asked_.find(node);
  if (asked != asked_.end() && asked->second == list_id) listed_.insert(node);
}

void OneName::turn_ended() {
  for (const std::string& node : listed_) unheard_.erase(node);
  listed_.clear();
}

void OneName::row_changed(const Row& row) {
  row_gone(row.uid);
  row_of_[row.uid] = row.pod;
  rows_[row.pod].insert(row.uid);
}

void OneName::row_gone(const std::string& uid) {
  const auto known = row_of_.find(uid);
  if (known == row_of_.end()) return;
  rows_[known->second].erase(uid);
  row_of_.erase(known);
}

// Kept as it was first stored: whatever becomes of the entry, the name is held until it is gone.
void OneName::entry_changed(const std::string& key, const ReleaseEntry& entry) {
  if (entry.holds_name) held_.try_emplace(key, entry.pod, entry.uid);
}

std::string OneName::find_holder(const Row& row) const {
  for (const auto& [key, held] : held_) {
    if (held.first == row.pod && held.second != std::string(row.uid)) return key;
  }
  return {};
}

std::string OneName::find_second_row(const Row& row) const {
  const auto found = rows_.find(row.pod);
  if (found == rows_.end()) return {};
  for (const std::string& uid : found->second) {
    if (uid != std::string(row.uid)) return uid;
  }
  return {};
}

}  // namespace berth::sim
