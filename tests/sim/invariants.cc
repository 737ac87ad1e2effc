#include "tests/sim/invariants.h"

#include <algorithm>
#include <tuple>

#include "tests/sim/holdings.h"

namespace berth::sim {

namespace {

bool is_alive(SlotState state) {
  return state == SlotState::preparing || state == SlotState::prepared || state == SlotState::running;
}

Breach first(const std::vector<std::string>& found) { return found.empty() ? Breach() : Breach(found.front()); }

Breach s1(const Witness& witness) { return first(witness.news().repeated_epochs); }

Breach s2(const Witness& witness) { return first(witness.news().conflicting_epochs); }

Breach s3(const Witness& witness) {
  for (const SentBind& bind : witness.news().binds_sent) {
    const std::string named = show(bind.named.first, bind.named.second);
    if (!witness.was_bind_durable(bind.named)) {
      return "Bind was sent for " + named + ", whose phase bind was never on flash";
    }
    if (!witness.was_prebound_received(bind.named)) return "Bind was sent for " + named + " without PreBound";
  }
  return {};
}

Breach find_twin(const Witness& witness, const std::string& uid) {
  const DeviceView* first = nullptr;
  Tag twin;
  for (const auto& device : witness.devices()) {
    if (device->hostile || device->older_copy) continue;
    for (const Tag& tag : device->runtime->alive(uid)) {
      if (witness.was_forgotten(device->name, {uid, tag.epoch})) continue;
      if (witness.was_not_awaited(device->name, {uid, tag.epoch})) continue;
      if (first != nullptr) {
        return "a pod runs twice: " + show(uid, twin.epoch) + " on " + first->name + " and " + show(uid, tag.epoch) +
               " on " + device->name;
      }
      first = device.get();
      twin = tag;
    }
  }
  return {};
}

Breach s4(const Witness& witness) {
  for (const std::string& uid : witness.scope().uids) {
    if (Breach breach = find_twin(witness, uid)) return breach;
  }
  return {};
}

Breach s5(const Witness& witness) {
  for (const std::string& uid : witness.scope().uids) {
    const auto found = witness.gateway().rows.find(uid);
    if (found == witness.gateway().rows.end() || found->second.phase != Phase::bound) continue;
    const Row& row = found->second;
    const DeviceView* device = witness.device(row.node, row.incarnation);
    if (device == nullptr || device->hostile || device->older_copy) continue;
    if (witness.gateway().from_copy.contains(show(uid, row.epoch)))
      continue;  // P11: asked for, and ended by the answer
    const NodeState& state = device->durable.state;
    const auto slot = state.slots.find(uid);
    if (slot == state.slots.end())
      return "row " + show(uid, row.epoch) + " is bound, but node " + row.node + " has no slot";
    const bool runs = slot->second.state == SlotState::running || slot->second.state == SlotState::finished;
    if (slot->second.epoch != row.epoch || !runs) {
      return "row " + show(uid, row.epoch) + " is bound, but the slot on node " + row.node + " is " +
             show(uid, slot->second.epoch) + " " + std::string(to_string(slot->second.state));
    }
  }
  return {};
}

Breach s6(const Witness& witness) { return first(witness.news().stale_changes); }

Breach s7(const Witness& witness) {
  const GatewayView& gateway = witness.gateway();
  if (!gateway.is_settled()) return {};
  for (const auto& device : witness.devices()) {
    if (device->hostile || device->older_copy || witness.names().is_unheard(device->name)) continue;
    if (gateway.has_retired(device->node, device->durable.state.incarnation)) continue;
    for (const std::string& uid : witness.scope().uids) {
      const auto slot = device->durable.state.slots.find(uid);
      if (slot == device->durable.state.slots.end()) continue;
      const Epoch& epoch = slot->second.epoch;
      const auto row = gateway.rows.find(uid);
      if (row != gateway.rows.end() && row->second.node == device->node && row->second.epoch == epoch) continue;
      if (witness.is_apart(device->name, {uid, epoch})) continue;
      const std::string key = device->node + "/" + uid + "/" + to_text(epoch);
      if (gateway.releases.contains(key) || gateway.orphans.contains(key)) continue;
      return "node " + device->name + " holds slot " + show(uid, epoch) + " (" +
             std::string(to_string(slot->second.state)) + ") without a row or a release-list entry";
    }
  }
  return {};
}

Breach s8(const Witness& witness) {
  for (const auto& device : witness.devices()) {
    if (!witness.scope().slots.contains(device->name)) continue;
    Resources used;
    std::int64_t pods = 0;
    for (const auto& [uid, slot] : device->durable.state.slots) {
      if (!slot.is_charged()) continue;
      const Resources& asked = device->demands.at(uid).second.requests;
      used.milli_cpu += asked.milli_cpu;
      used.memory += asked.memory;
      ++pods;
    }
    const Resources& all = device->allocatable;
    if (used.milli_cpu > all.milli_cpu || used.memory > all.memory || pods > all.allowed_pods) {
      return "node " + device->name + " admitted " + std::to_string(used.milli_cpu) + "m cpu, " +
             std::to_string(used.memory) + " bytes, " + std::to_string(pods) + " pods, more than its capacity";
    }
  }
  return {};
}

// What the cache must contain for one node, as implied by rows and release lists of the running gateway; sorted names.
struct Implied {
  std::vector<std::string_view> pods;
  std::vector<std::string_view> charges;
};

Breach find_unlike_row(const Gateway& gateway, std::string_view uid, const Row& row) {
  const std::optional<std::string> node = gateway.scheduler().cache().node_of(uid);
  if (node != row.node) {
    return "row " + show(uid, row.epoch) + " is on node " + row.node + ", but in the cache on " + node.value_or("none");
  }
  const bool assumed = row.phase < Phase::bound;
  if (gateway.scheduler().cache().is_assumed(uid) == assumed) return {};
  return "row " + show(uid, row.epoch) + " is in phase " + std::string(to_string(row.phase)) +
         ", but in the cache it is " + (assumed ? "confirmed" : "assumed");
}

Breach find_unlike_node(const std::string& name, const NodeInfo* info, const Implied& should) {
  Resources sum;
  Implied has;
  if (info != nullptr) {
    for (const auto& pod : info->pods) {
      has.pods.push_back(pod->uid());
      sum.add(pod_requests(*pod));
    }
    for (const auto& [key, amount] : info->charges) {
      has.charges.push_back(key);
      sum.add(amount);
    }
  }
  std::sort(has.pods.begin(), has.pods.end());
  std::sort(has.charges.begin(), has.charges.end());
  if (has.pods != should.pods) return "the cache's pods on node " + name + " differ from the rows";
  if (has.charges != should.charges)
    return "the resources the cache reserves for releases on node " + name + " differ from the release list";
  if (info == nullptr) return {};
  if (sum.milli_cpu == info->requested.milli_cpu && sum.memory == info->requested.memory) return {};
  return "the cache's sum on node " + name + " differs from that of its pods and releases";
}

Breach s9(const Witness& witness) {
  const Gateway* gateway = witness.gateway().alive;
  const Witness::Scope& scope = witness.scope();
  if (gateway == nullptr || scope.rows.empty()) return {};
  std::map<std::string_view, Implied> implied;
  for (const std::string& node : scope.rows) implied[node];
  std::size_t placed = 0;
  for (const auto& [uid, binding] : gateway->bindings()) {
    const auto on = implied.find(binding.row.node);
    if (binding.pod == nullptr || on == implied.end()) continue;
    const PodEntry* entry = gateway->objects().pods().find(binding.row.pod);
    const bool finished = entry != nullptr && entry->finished && entry->pod->uid() == uid;
    if (finished) {
      if (gateway->scheduler().cache().node_of(uid)) return "finished pod " + uid + " is still in the cache";
      continue;
    }
    ++placed;
    on->second.pods.push_back(uid);
    if (Breach breach = find_unlike_row(*gateway, uid, binding.row)) return breach;
  }
  if (scope.everything && gateway->scheduler().cache().pod_count() != placed) {
    return "the cache holds " + std::to_string(gateway->scheduler().cache().pod_count()) + " pods, expected " +
           std::to_string(placed) + " from the rows";
  }
  for (const auto& [key, release] : gateway->releases()) {
    if (const auto on = implied.find(release.entry.node); on != implied.end()) on->second.charges.push_back(key);
  }
  for (const auto& device : witness.devices()) {
    const auto should = implied.find(device->name);
    if (should == implied.end()) continue;
    std::sort(should->second.pods.begin(), should->second.pods.end());
    if (Breach breach =
            find_unlike_node(device->name, gateway->scheduler().cache().find(device->name), should->second)) {
      return breach;
    }
  }
  return {};
}

bool has_orphan(const Gateway& gateway, const std::string& uid) {
  const auto names = [&](const std::string& key) { return key.find("/" + uid + "/") != std::string::npos; };
  const auto& [orphans, ending] = std::tie(gateway.identity().orphans, gateway.identity().ending);
  return std::any_of(orphans.begin(), orphans.end(), names) || std::any_of(ending.begin(), ending.end(), names);
}

bool is_name_held(const Gateway& gateway, const std::string& key, const std::string& uid) {
  return std::any_of(gateway.releases().begin(), gateway.releases().end(), [&](const auto& release) {
    const ReleaseEntry& entry = release.second.entry;
    return entry.holds_name && entry.pod == key && entry.uid != uid;
  });
}

Breach find_misplaced_pod(const Gateway& gateway, const std::string& key, const PodEntry& entry) {
  const std::string& uid = entry.pod->uid();
  const Queue::Where where = gateway.scheduler().queue().where(uid);
  const auto binding = gateway.bindings().find(uid);
  const bool has_binding = binding != gateway.bindings().end();
  const bool permit_wait = has_binding && binding->second.row.phase == Phase::none;
  // A pod that waits on Permit is "in flight" in the queue, which is not a second location.
  const bool queued = where != Queue::Where::none && !(permit_wait && where == Queue::Where::in_flight);
  const bool finished = entry.finished && !has_binding;
  const int locations = (queued ? 1 : 0) + (has_binding ? 1 : 0) + (finished ? 1 : 0);
  if (locations == 1) return {};
  // The delete is kept until every node has answered (P7), or until the state of its orphan is known.
  const bool kept_delete = entry.deleting && gateway.identity().adopting;
  if (locations == 0 && (kept_delete || has_orphan(gateway, uid) || is_name_held(gateway, key, uid))) return {};
  return "pod " + uid + " (" + key + ") is in " + std::to_string(locations) + " locations" +
         (entry.deleting ? ", deleting" : "") + (entry.finished ? ", finished" : "");
}

Breach s10(const Witness& witness) {
  const Gateway* gateway = witness.gateway().alive;
  if (gateway == nullptr) return {};
  if (!witness.scope().everything) {
    for (const std::string& key : witness.scope().pods) {
      const auto entry = gateway->objects().pods().all().find(key);
      if (entry == gateway->objects().pods().all().end()) continue;
      if (Breach breach = find_misplaced_pod(*gateway, key, entry->second)) return breach;
    }
    return {};
  }
  std::set<std::string> uids;
  for (const auto& [key, entry] : gateway->objects().pods().all()) {
    if (Breach breach = find_misplaced_pod(*gateway, key, entry)) return breach;
    uids.insert(entry.pod->uid());
  }
  for (const std::string& uid : gateway->scheduler().queue().uids()) {
    if (!uids.contains(uid)) return "the queue holds pod " + uid + ", which has no object";
  }
  return {};
}

Breach s11(const Witness& witness) { return first(witness.news().accepted_without_flash); }

Breach held(const Witness& witness) { return first(witness.news().held_without_slot); }

Breach passed(const Witness& witness) {
  const Breach too_soon = first(witness.news().asked_too_soon);
  return too_soon ? too_soon : first(witness.news().passed_over_in_vain);
}

Breach able(const Witness& witness) { return first(witness.news().asked_in_vain); }

Breach told(const Witness& witness) { return first(witness.news().untold); }

Breach time_floor(const Witness& witness) { return first(witness.news().leaps); }

Breach n5(const Witness& witness) { return first(witness.news().overdue_promises); }

Breach s12(const Witness& witness) { return first(witness.news().foreign_changes); }

Breach s13(const Witness& witness) { return first(witness.news().unproven); }

// Two pods of a name write to one volume: the gateway has placed the second one without asking the device what it runs.
Breach find_volume_of_a_name(const Witness& witness, const DeviceView& device, const std::string& uid) {
  const auto& slots = device.durable.state.slots;
  const auto slot = slots.find(uid);
  const auto runs = [&](const std::string& of) {
    return !witness.was_forgotten(device.name, {of, slots.at(of).epoch}) && slots.at(of).state == SlotState::running;
  };
  if (slot == slots.end() || slot->second.volumes.empty() || !runs(uid)) return {};
  const std::string name = witness.names().name_of(uid);
  for (const std::string& other : witness.names().uids_of(name)) {
    if (other == uid || !slots.contains(other) || !runs(other)) continue;
    for (const BoundVolume& volume : slot->second.volumes) {
      const auto& theirs = slots.at(other).volumes;
      if (std::find(theirs.begin(), theirs.end(), volume) == theirs.end()) continue;
      return "volume " + volume.volume + " is that of two pods " + name + ": " + uid + " and " + other;
    }
  }
  return {};
}

Breach s14(const Witness& witness) {
  if (Breach breach = first(witness.news().two_of_a_name)) return breach;
  for (const auto& device : witness.devices()) {
    if (device->hostile || device->older_copy) continue;
    for (const std::string& uid : witness.scope().uids) {
      if (Breach breach = find_volume_of_a_name(witness, *device, uid)) return breach;
    }
  }
  return {};
}

Breach s16(const Witness& witness) { return first(witness.news().mistaken); }

Breach find_revived(const Witness& witness, const DeviceView& device, const std::string& uid) {
  const auto slot = device.durable.state.slots.find(uid);
  if (slot == device.durable.state.slots.end() && device.runtime->alive(uid).empty()) return {};
  const auto finals = witness.finals().find({device.name, uid});
  if (finals == witness.finals().end()) return {};
  const std::string& incarnation = device.durable.state.incarnation;
  for (const Witness::Final& final : finals->second) {
    // If the stores of the gateway and of every node are lost, nobody can raise the term: epochs start over, and only
    // the incarnation distinguishes old from new. Until its first boot is over, a node still runs what the lost store
    // left.
    if (!incarnation.empty() && final.incarnation != incarnation) continue;
    const bool upwards = final.type == AnswerType::released;
    if (slot != device.durable.state.slots.end() && is_alive(slot->second.state)) {
      const Epoch& epoch = slot->second.epoch;
      if (epoch == final.epoch || (upwards && epoch < final.epoch)) {
        return "slot " + show(uid, epoch) + " is alive on node " + device.name + " after " +
               std::string(to_string(final.type)) + "(" + to_text(final.epoch) + ")";
      }
    }
    if (device.runtime->is_alive({uid, final.epoch})) {
      return "workload " + show(uid, final.epoch) + " is alive on node " + device.name + " after " +
             std::string(to_string(final.type));
    }
  }
  return {};
}

Breach final_answers(const Witness& witness) {
  for (const auto& device : witness.devices()) {
    if (device->hostile) continue;
    for (const std::string& uid : witness.scope().uids) {
      if (Breach breach = find_revived(witness, *device, uid)) return breach;
    }
  }
  return {};
}

}  // namespace

const std::vector<Invariant>& safety() {
  static const std::vector<Invariant> kSafety{
      {"S1", "epochs never repeat or decrease, across crashes", s1},
      {"S2", "one epoch, one node", s2},
      {"S3", "Bind(e) sent implies phase >= bind is durable and PreBound(e) was received", s3},
      // Before S4 and S7, which follow from it.
      {"S16", "a Hello ends nothing that another live device of the same name holds", s16},
      {"S4", "a pod uid runs on at most one node", s4},
      {"S5", "phase bound implies the node's slot is (e, running or finished), or another incarnation", s5},
      {"S6", "a stale or duplicate delivery changes neither store and repeats an equivalent final answer", s6},
      {"S7", "outside adopt mode, a slot on any node has a row or a release-list entry (for what it holds see HELD)",
       s7},
      {"S8", "the requests of all charged slots on a node do not exceed its allocatable resources", s8},
      {"S9", "the cache matches what rows and release lists imply", s9},
      {"S10", "each accepted pod is in exactly one location: queue, row or finished", s10},
      {"S11", "\"accepted\" was answered implies the object is on flash", s11},
      {"S12", "a message from one node never changes the state of a pod whose row names another", s12},
      {"S13", "what a node says changes term and mode of no other node without a proof", s13},
      {"S14",
       "a name that a found workload holds is no other pod's, and of two pods of a name the configuration decides",
       s14},
      {"HELD", "a machine holds only what its agent's slots refer to, and no live workload for a slot that has ended",
       held},
      {"PORTS", "no two charged slots of a node use the same host port", find_shared_port},
      {"DEVICES", "the charged slots of a node do not exceed its capacity of an extended resource",
       find_device_overrun},
      {"VOLUMES", "no volume belongs to two claims, and no claim has two volumes", find_shared_volume},
      {"HOME", "a pod with a volume is placed on the node of that volume", find_away_from_volume},
      {"NAMED", "a pod with spec.nodeName is placed on that node", find_away_from_named_node},
      {"FLOOD", "what a lying device makes durable, and what it offers, is within the limits", find_flood},
      {"PASSED", "a node that has just taken no pod is not asked again before its time is over", passed},
      {"ABLE", "no node is asked to run what it says that its runtime cannot do", able},
      {"TOLD", "who has an older copy of its store stops once told: a device by its gateway, a gateway by its mark",
       told},
      {"TIME", "a device's time floor never falls, and rises by one step a day at most", time_floor},
      {"N5", "preparing and prepared slots end at their promise limit and at every reboot", n5},
      {"FINAL", "once Rejected, Stale or Released(e) was sent, slot e is never alive again", final_answers},
  };
  return kSafety;
}

}  // namespace berth::sim
