#include "core/agent/sweep.h"

#include <algorithm>

namespace berth {

Status Sweep::start(const NodeState& state, const std::set<Tag>& ended) {
  const Result<std::vector<Tag>> found = runtime_.list();
  if (!found) return found.error();
  for (const Tag& tag : *found) {
    if (ended.contains(tag)) continue;
    const auto slot = state.slots.find(tag.uid);
    if (slot != state.slots.end() && slot->second.epoch == tag.epoch) continue;
    log_.write(Level::warn, "stopping a workload without a slot", {{"uid", tag.uid}, {"epoch", to_text(tag.epoch)}});
    stopping_.insert(tag);
    turn_.after_commit([this, tag] { runtime_.stop(tag, kDefaultGraceMs); });
  }
  return Status::ok();
}

bool Sweep::holds_back(const std::string& uid) {
  if (!stops(uid)) return false;
  held_back_.insert(uid);
  return true;
}

bool Sweep::may_resume(const std::string& uid) { return !stops(uid) && held_back_.erase(uid) > 0; }

bool Sweep::stops(const std::string& uid) const {
  return std::any_of(stopping_.begin(), stopping_.end(), [&](const Tag& tag) { return tag.uid == uid; });
}

}  // namespace berth
