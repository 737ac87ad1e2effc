// What the flash and the machine of a device hold.
#include "tests/sim/witness.h"

#include "core/api/defaults.h"
#include "core/api/host_ports.h"
#include "core/check.h"

namespace berth::sim {

namespace {

// The demand of a slot, computed like the scheduler does.
Demand demand_of(const Slot& slot) {
  const Result<Json> json = Json::parse(slot.pod);
  const Result<Pod> pod = json ? decode_accepted_pod(*json) : Result<Pod>(json.error());
  return pod ? Demand{pod_requests(*pod), host_ports(*pod), slot.volumes} : Demand{{}, {}, slot.volumes};
}

// Reads one record, except the incarnation.
void read_device_record(DeviceView& view, OneName& names, const Contents& contents,
                        const std::pair<Table, std::string>& id) {
  NodeState& state = view.durable.state;
  const auto record = contents.find(id);
  if (record == contents.end()) {
    view.contents.erase(id);
    if (id.first == Table::slot) state.slots.erase(id.second), view.demands.erase(id.second);
    if (id.first == Table::high) state.high.erase(id.second);
    return;
  }
  view.contents.insert_or_assign(id, record->second);
  const Record now{id.first, id.second, record->second.value, record->second.phase};
  CHECK(decode_record(now, view.durable).is_success());
  if (id.first != Table::slot) return;
  const Slot& slot = state.slots.at(id.second);
  auto& known = view.demands[id.second];
  if (known.first == slot.epoch) return;
  known = {slot.epoch, demand_of(slot)};
  names.note_slot(id.second, slot.pod);
}

}  // namespace

void Witness::read_device(const std::string& name, const Contents& contents, const RecordIds* touched) {
  const bool few = touched != nullptr && !touched->contains({Table::meta, std::string(kIncarnationKey)});
  for (auto& device : devices_) {
    if (device->name != name) continue;
    if (few) {
      for (const auto& id : *touched) {
        read_device_record(*device, names_, contents, id);
        if (id.first != Table::slot) continue;
        scope_.slots.insert(name);
        scope_.uids.insert(id.second);
        const auto demand = device->demands.find(id.second);
        if (demand != device->demands.end() && !demand->second.second.volumes.empty()) scope_.volumes = true;
      }
      return;
    }
    if (device->contents == contents) return;
    device->contents = contents;
    scope_.everything = true;
    Result<AgentRecords> records = decode_records(to_records(contents));
    CHECK(records.has_value());
    device->durable = std::move(*records);
    const std::string& incarnation = device->durable.state.incarnation;
    // While it sweeps it has none, and runs what the copy says.
    const bool is_another =
        !incarnation.empty() && device->older_copy && device->older_copy->incarnation != incarnation;
    if (is_another) device->older_copy.reset();
    auto& demands = device->demands;
    std::erase_if(demands, [&](const auto& known) { return !device->durable.state.slots.contains(known.first); });
    for (const auto& [uid, slot] : device->durable.state.slots) {
      auto& known = demands[uid];
      if (known.first == slot.epoch) continue;
      known = {slot.epoch, demand_of(slot)};
      names_.note_slot(uid, slot.pod);
    }
  }
}

void Witness::device_rolled_back(const std::string& name, const AgentRecords& copy, std::uint64_t next_position) {
  for (auto& view : devices_) {
    if (view->name != name) continue;
    view->older_copy = {copy.state.incarnation, {}};
    view->promises.clear();  // it may make one of them again
    const auto heard = heard_of_.find(name);
    if (is_shared(view->node)) continue;  // what was heard of one is not known while the other speaks
    if (heard == heard_of_.end() || heard->second.first != copy.state.incarnation) continue;
    const bool is_later = copy.runs.origin_of(heard->second.second, next_position) == EpochOrigin::unknown;
    if (is_later) view->older_copy->knew = gateway_starts_;
  }
  std::erase_if(finals_, [&](const auto& known) { return known.first.first == name; });
}

bool Witness::device_told(const std::string& name, const Request& list, std::uint64_t next_position) {
  for (auto& view : devices_) {
    if (view->name != name || !view->older_copy || list.seen_incarnation != view->older_copy->incarnation) continue;
    const GatewayId& obeyed = view->durable.state.gateway;
    const bool is_obeyed = list.gateway_id.term > obeyed.term || list.gateway_id == obeyed;
    const bool is_told = view->durable.runs.origin_of(list.seen, next_position) == EpochOrigin::unknown;
    if (!is_obeyed || !is_told) continue;
    view->older_copy->knew.reset();
    return true;
  }
  return false;
}

void Witness::end_rollbacks(const ProofKey& key) {
  for (auto& view : devices_) {
    if (!view->older_copy || view->hostile) continue;
    if (view->older_copy->knew && view->older_copy->knew == gateway_starts_) {
      news_.untold.push_back("node " + view->name +
                             " runs on an older copy of its store, and the gateway did not tell it");
    }
    view->older_copy.reset();
  }
  find_unheard_proofs(key);
  check_everything();
}

// Each node has been listed: whom it has obeyed before is known.
void Witness::find_unheard_proofs(const ProofKey& key) {
  if (gateway_.alive == nullptr) return;
  const Identity& own = gateway_.alive->identity();
  for (const auto& view : devices_) {
    const NodeState& state = view->durable.state;
    if (view->hostile || state.gateway.store_id != own.id.store_id) continue;
    if (gateway_.has_retired(view->node, state.incarnation) || is_shared(view->node)) continue;
    for (const ObeyedGateway& before : state.obeyed_before) {
      const auto term = read_proof(key, own.id.store_id, view->node, before.proof);
      if (!term || before.store_id != own.id.store_id || own.terms.may_contain(*term, own.id.term)) continue;
      news_.untold.push_back("node " + view->name + " has obeyed term " + std::to_string(*term) +
                             " of the gateway's store, which does not know of it");
    }
  }
}

void Witness::device_turned(const std::string& name, Millis now, int boots) {
  constexpr Millis kPromiseMs = 5000;  // as set by the gateway
  constexpr Millis kSlackMs = 1000;    // until the turn that ends the promise is over
  for (auto& view : devices_) {
    if (view->name != name || view->hostile) continue;
    const auto& slots = view->durable.state.slots;
    const auto is_promise = [&](const std::string& uid) {
      const auto slot = slots.find(uid);
      return slot != slots.end() &&
             (slot->second.state == SlotState::preparing || slot->second.state == SlotState::prepared);
    };
    std::erase_if(view->promises, [&](const auto& known) { return !is_promise(known.first); });
    for (const auto& [uid, slot] : slots) {
      if (!is_promise(uid)) continue;
      auto& known = view->promises[uid];
      if (known.epoch != slot.epoch) known = {slot.epoch, now, boots};
      if (known.boots == boots && now - known.since <= kPromiseMs + kSlackMs) continue;
      news_.overdue_promises.push_back("node " + name + " still holds " + show(uid, slot.epoch) + " (" +
                                       std::string(to_string(slot.state)) +
                                       ") after its promise expired or after a reboot");
    }
  }
}

void Witness::check_holdings(const std::string& name) {
  const DeviceView& view = *device(name);
  const auto& slots = view.durable.state.slots;
  view.runtime->for_each([&](const Tag& tag, bool alive) {
    const auto slot = slots.find(tag.uid);
    const bool named = slot != slots.end() && slot->second.epoch == tag.epoch;
    if (named && (!alive || (slot->second.is_charged() && slot->second.state >= SlotState::running))) return;
    news_.held_without_slot.push_back("node " + name + " holds resources of " + show(tag.uid, tag.epoch) +
                                      (alive ? ", running" : "") + ", its slot is " +
                                      (named ? std::string(to_string(slot->second.state)) : "gone"));
  });
}

}  // namespace berth::sim
