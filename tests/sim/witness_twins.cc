// S16: what a Hello ends, while two devices may have one name (D5).
#include <utility>

#include "tests/sim/witness.h"

namespace berth::sim {

namespace {
constexpr Millis kQueuedMs = 100;  // so long a message may wait in the gateway
constexpr Millis kDayMs = 86'400'000;
}  // namespace

void Witness::note_heard(const std::string& node, const std::string& incarnation) {
  const Millis now = gateway_clock_->now();
  const auto [known, is_first] = heard_.try_emplace({node, incarnation}, HeardAt{now, -kDayMs});
  HeardAt& heard = known->second;
  if (!is_first && now - heard.last >= kQueuedMs) heard.before = heard.last;
  heard.last = now;
}

void Witness::set_apart(const DeviceView& view, const PlacementId& named) {
  apart_.insert({named.first, named.second, view.name});
  forgotten_.insert({named.first, named.second, view.name});
}

void Witness::forget_twins() {
  gone_.clear();
  gateway_.twins.clear();
  for (const auto& view : devices_) {
    if (!is_shared(view->node)) continue;
    for (const auto& [uid, slot] : view->durable.state.slots) set_apart(*view, {uid, slot.epoch});
    // A request may be on its way.
    for (const auto& [uid, epoch, node] : placements_) {
      if (node == view->node) set_apart(*view, {uid, epoch});
    }
    for (const Tag& tag : view->runtime->alive()) set_apart(*view, {tag.uid, tag.epoch});
  }
}

// S16: a Hello ends nothing of a device that is alive, unless that has been silent for long. Two that were never there
// at the same time are one device to the gateway, that was replaced.
void Witness::judge_hellos() {
  constexpr Millis kReturnMs = 6'000;  // as set by the gateway
  for (const auto& [node, incarnation, named] : std::exchange(gone_, {})) {
    const auto row = gateway_.rows.find(named.first);
    const bool is_there = (row != gateway_.rows.end() && row->second.epoch == named.second) ||
                          gateway_.releases.contains(node + "/" + named.first + "/" + to_text(named.second));
    if (is_there || !gateway_.has_store || !hellos_.contains({node, incarnation, named})) continue;
    const DeviceView* view = device(node, incarnation);
    if (view == nullptr || view->hostile || view->older_copy) continue;
    const auto heard = heard_.find(std::pair(node, incarnation));
    // What it said last may still wait in the gateway, behind that Hello.
    const Millis now = gateway_clock_->now();
    const auto last = [&] { return now - heard->second.last < kQueuedMs ? heard->second.before : heard->second.last; };
    const bool is_silent = heard == heard_.end() || now - last() >= kReturnMs;
    const std::string mark = node + "/" + incarnation + "/";
    const auto twin = gateway_.twins.lower_bound(mark);
    if (is_silent && (twin == gateway_.twins.end() || !twin->starts_with(mark))) {
      set_apart(*view, named);  // also what it does not hold yet: the PreBind may be on its way
      continue;
    }
    if (was_forgotten(view->name, named)) continue;
    const auto slot = view->durable.state.slots.find(named.first);
    const bool has_slot = slot != view->durable.state.slots.end() && slot->second.epoch == named.second;
    if (!has_slot && !view->runtime->is_alive({named.first, named.second})) continue;
    news_.mistaken.push_back("a Hello has ended " + show(named.first, named.second) + ", which device " + view->name +
                             " of node " + node + " holds");
  }
}

}  // namespace berth::sim
