#include "core/agent/slot_table.h"

#include <algorithm>
#include <utility>

#include "core/agent/records.h"
#include "core/api/decode.h"
#include "core/api/defaults.h"
#include "core/api/host_ports.h"
#include "core/api/names.h"
#include "core/check.h"
#include "core/stable_sort.h"

namespace berth {

SlotTable::SlotTable(Store& store, const Clock& clock, Log& log, Offer offer, MadeVolumes& made)
    : store_(store), clock_(clock), log_(log), offer_(std::move(offer)), made_(made) {}

void SlotTable::restore(NodeState state) {
  state_ = std::move(state);
  for (const auto& [uid, slot] : state_.slots) {
    live_[uid] = read_manifest(slot.pod, slot.volumes);
    live_[uid].status = slot.status;
  }
}

std::vector<std::string> SlotTable::by_priority() const {
  std::vector<std::string> uids;
  for (const auto& [uid, live] : live_) uids.push_back(uid);
  stable_sort(
      uids, [this](const std::string& a, const std::string& b) { return live_.at(a).priority > live_.at(b).priority; });
  return uids;
}

SlotTable::Live SlotTable::live_of(const Pod& pod, const std::vector<BoundVolume>& volumes) {
  Live live;
  live.key = pod.metadata.key();
  live.demand = {pod_requests(pod), host_ports(pod), volumes};
  live.grace_ms = std::max<Millis>(0, pod.spec->termination_grace_period_seconds) * 1000;
  live.priority = pod.priority;
  return live;
}

// The manifest of a stored slot. If this version cannot read it, the workload can still be stopped.
SlotTable::Live SlotTable::read_manifest(const std::string& pod, const std::vector<BoundVolume>& volumes) {
  const Result<Json> json = Json::parse(pod);
  const Result<Pod> decoded = json ? decode_accepted_pod(*json) : Result<Pod>(json.error());
  if (decoded) return live_of(*decoded, volumes);
  log_.write(Level::error, "stored manifest cannot be read", {{"why", decoded.error().message()}});
  Live live;
  live.demand.volumes = volumes;
  return live;
}

Status SlotTable::admit_request(const Request& request) {
  if (request.pod.size() > kMaxManifestBytes)
    return Status::unschedulable("pod: must be at most 56 KiB, got " + std::to_string(request.pod.size()) + " bytes");
  if (state_.slots.size() >= kMaxSlots && !state_.slots.contains(request.uid)) {
    return Status::unschedulable("too many pods: this agent holds at most " + std::to_string(kMaxSlots));
  }
  const Result<Json> json = Json::parse(request.pod);
  if (!json) return json.error();
  Result<Pod> pod = decode_pod(*json, nullptr);
  if (!pod) return pod.error();
  // The status topic contains the namespace as a level, so it must be valid and not empty.
  if (!is_valid_name(pod->metadata.namespace_)) {
    return Status::error("metadata.namespace: must be a name: lower-case letters, digits, '.' and '-'");
  }
  set_defaults(*pod);
  admitted_ = live_of(*pod, request.volumes);
  std::vector<const Demand*> held;
  std::vector<const Slot*> others;
  for (const auto& [uid, slot] : state_.slots) {
    if (uid != request.uid) others.push_back(&slot);
    if (uid != request.uid && slot.is_charged()) held.push_back(&live_.at(uid).demand);
  }
  Status admitted = admit(admitted_->demand, offer_, held);
  return admitted.is_success() ? made_.admit(request.volumes, others) : admitted;
}

NodeDecision SlotTable::judge(const Request& request) {
  admitted_.reset();
  return decide(state_, request, [this](const Request& pre_bind) { return admit_request(pre_bind); });
}

NodeDecision SlotTable::carry_out(const Request& request) {
  NodeDecision decision = judge(request);
  const std::vector<std::string> dropped = apply(state_, request, decision);
  if (decision.event == SlotEvent::admit) {
    Slot& admitted = state_.slots.at(request.uid);
    admitted.deadline = clock_.now() + admitted.promise_ms;
    made_.note_admitted(admitted.volumes, admitted.epoch);
  } else if (decision.event == SlotEvent::bind) {
    made_.note_bound(state_.slots.at(request.uid).volumes);
  }
  save(request, decision, dropped);
  return decision;
}

// Stages what the decision makes durable, in one commit with the rest of the turn.
void SlotTable::save(const Request& request, const NodeDecision& decision, const std::vector<std::string>& dropped) {
  if (decision.adopt || decision.proof) {
    store_.put(Table::meta, std::string(kGatewayKey), encode_gateway(state_));
  }
  if (decision.adopt) {
    log_.write(Level::info, "gateway adopted",
               {{"term", std::to_string(state_.gateway.term)}, {"store", state_.gateway.store_id}});
  }
  if (decision.floor) store_.put(Table::meta, std::string(kFloorKey), encode(state_.floor));
  if (decision.high && state_.high.contains(request.uid)) {
    store_.put(Table::high, request.uid, encode(*decision.high));
  }
  for (const std::string& uid : dropped) store_.erase(Table::high, uid);
  if (state_.slots.contains(request.uid)) {
    if (decision.event) save(request.uid);
  } else if (decision.undo) {
    store_.erase(Table::slot, request.uid);
  }
}

void SlotTable::begin(const std::string& uid) {
  CHECK(admitted_.has_value());
  live_[uid] = std::move(*admitted_);
}

Slot* SlotTable::find(const Tag& tag, SlotState state) {
  const auto slot = state_.slots.find(tag.uid);
  const bool found = slot != state_.slots.end() && slot->second.epoch == tag.epoch && slot->second.state == state;
  return found ? &slot->second : nullptr;
}

const std::string* SlotTable::find_uid(const std::string& key) const {
  const auto found =
      std::find_if(live_.begin(), live_.end(), [&](const auto& entry) { return entry.second.key == key; });
  return found == live_.end() ? nullptr : &found->first;
}

void SlotTable::save(const std::string& uid) { store_.put(Table::slot, uid, encode(state_.slots.at(uid))); }

std::string SlotTable::drop(const std::string& uid, SlotEvent event) {
  CHECK(apply(state_.slots.at(uid).state, event) == SlotState::none);
  if (clear_slot(state_, uid)) store_.erase(Table::high, uid);
  store_.erase(Table::slot, uid);
  return forget(uid);
}

std::string SlotTable::forget(const std::string& uid) {
  const auto live = live_.find(uid);
  if (live == live_.end()) return {};
  std::string key = std::move(live->second.key);
  live_.erase(live);
  return key;
}

}  // namespace berth
