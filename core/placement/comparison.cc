#include "core/placement/comparison.h"

#include <algorithm>
#include <utility>

#include "core/api/defaults.h"
#include "core/objects/volume_bindings.h"
#include "core/placement/pending_release.h"
#include "core/placement/retired.h"

namespace berth {

namespace {

std::string slot_key(const std::string& node, const SlotReport& slot) {
  return release_key(node, slot.uid, slot.epoch);
}

Resources charge_of(const SlotReport& slot) {
  Result<Json> manifest = Json::parse(slot.pod);
  if (!manifest) return {};
  Result<Pod> pod = decode_accepted_pod(*manifest);
  return pod ? pod_requests(*pod) : Resources{};
}

bool is_alive(SlotState state) { return state == SlotState::running || state == SlotState::stopping; }

}  // namespace

void Comparison::take_slots(const Answer& answer) {
  if (parts_.listings.is_page_of_open(answer)) parts_.provisioned.take_unused(answer.node, answer.unused_volumes);
  const std::optional<Listed> listed = parts_.listings.add_page(answer);
  if (!listed) return;
  const std::vector<SlotReport>& slots = listed->slots;
  const std::size_t unexplained = count_unexplained(answer.node, slots);
  if (context_.identity->adopting && parts_.twins.is_held(answer.node)) {
    return parts_.listings.start_later(answer.node);  // D5: what the other device runs is not known
  }
  if (!parts_.nodes.admit_listing(answer.node, slots.size(), unexplained)) {
    // What it runs is not known then, and the fleet waits for it as for one that is offline.
    if (context_.identity->adopting) parts_.listings.start_later(answer.node);
    return;
  }
  const auto foreign = std::find_if(slots.begin(), slots.end(), [&](const SlotReport& slot) {
    return slot.state != SlotState::none && !is_given(answer.node, slot.epoch);
  });
  if (foreign != slots.end()) parts_.adopt_mode.note_foreign_slot(answer.node, *foreign);
  if (compare(answer.node, slots, answer.incarnation)) {
    parts_.nodes.note_unexplained(answer.node, unexplained);
    parts_.provisioned.reclaim(answer.node);
    parts_.orphan_volumes.take_listing(answer.node, *listed);
    parts_.lifecycle.configs().note_listed(answer.node);
    if (parts_.orphan_volumes.has_left_volume(answer.node, listed->ended)) {
      parts_.listings.start(answer.node, Floor::leave);
    }
    return parts_.adopt_mode.note_answered(answer.node);
  }
  parts_.listings.start_later(answer.node);
}

// P11: this store, as it is, gave the epoch. Otherwise the slot was never told to end by anybody who knew of it.
bool Comparison::is_given(const std::string& node, const Epoch& epoch) const {
  return context_.nodes.is_given(node, epoch, context_.identity->terms);
}

// Slots that no row and no entry explains: each becomes durable.
std::size_t Comparison::count_unexplained(const std::string& node, const std::vector<SlotReport>& slots) const {
  return static_cast<std::size_t>(std::count_if(slots.begin(), slots.end(), [&](const SlotReport& slot) {
    if (slot.state == SlotState::none || parts_.releases.contains(slot_key(node, slot))) return false;
    const Binding* known = parts_.state.find(slot.uid);
    return known == nullptr || known->row.node != node || known->row.epoch != slot.epoch;
  }));
}

// Outside adopt mode no claim is bound because a device lists it with a volume.
SlotReport Comparison::believed(const SlotReport& slot, bool has_object) const {
  SlotReport found = slot;
  if (context_.identity->adopting || has_object) return found;
  const VolumeBindings bindings(context_.objects);
  std::erase_if(found.volumes, [&](const BoundVolume& volume) { return !bindings.is_bound(volume); });
  return found;
}

// False when the store had no capacity for all of it: the node has not answered then.
bool Comparison::compare(const std::string& node, const std::vector<SlotReport>& slots,
                         const std::string& incarnation) {
  std::set<std::string> listed, keys;
  const bool retired = is_retired(*context_.identity, node, incarnation);
  bool status_lost = false;
  bool complete = true;
  for (const SlotReport& slot : slots) {
    if (slot.state == SlotState::none) continue;
    listed.insert(slot.uid);
    auto found = parts_.state.bindings.find(slot.uid);
    if (found != parts_.state.bindings.end() && found->second.row.node == node &&
        found->second.row.epoch == slot.epoch) {
      // How it ended stands in its status, which was lost: the next listing asks for it.
      if (slot.state == SlotState::finished && found->second.row.phase == Phase::bound) status_lost = true;
      if (found->second.row.phase == Phase::prebind) find_promise(node, slot);
      continue;
    }
    const std::string key = slot_key(node, slot);
    keys.insert(key);
    const bool has_object =
        context_.identity->kept.contains(key) ||
        (context_.identity->orphans.contains(key) && context_.objects.pods().find_by_uid(slot.uid) != nullptr);
    if (parts_.releases.contains(key) && !has_object) {
      hold_back_pod_of(slot, key);
      continue;
    }
    const bool is_ending = parts_.releases.ends_older(node, slot.uid, slot.epoch);
    if (!retired && !is_ending && (context_.identity->adopting || has_object || !is_given(node, slot.epoch))) {
      complete = adopt_slot(node, believed(slot, has_object), incarnation) && complete;
      // What the node reported of the pod came before there was a row to believe it by.
      const auto adopted_row = parts_.state.bindings.find(slot.uid);
      if (adopted_row != parts_.state.bindings.end() && adopted_row->second.row.epoch == slot.epoch) status_lost = true;
    } else {
      parts_.releases.add({node, incarnation, slot.uid, slot.epoch, encode_charge(charge_of(slot))},
                          is_alive(slot.state));
    }
  }
  add_orphans_of_twins(node, incarnation, keys);
  parts_.releases.forget_orphans_not_in(node, keys);
  if (retired) welcome_back(node, incarnation);
  std::vector<Binding*> missing;
  for (Binding* binding : rows_of(parts_.state, node)) {
    const Phase phase = binding->row.phase;
    if (listed.contains(binding->row.uid)) continue;
    if (phase == Phase::bind || phase == Phase::bound) missing.push_back(binding);
  }
  for (Binding* binding : missing) parts_.lifecycle.verify(*binding);  // resend, never conclude
  if (parts_.listings.set_status_lost(node, status_lost) && status_lost) parts_.listings.start(node);
  return complete;
}

// P11: a slot that is bound of a promise: the time that was lost, of which this store knows nothing, has sent the Bind.
void Comparison::find_promise(const std::string& node, const SlotReport& slot) {
  const bool was_bound = slot.state == SlotState::running || slot.state == SlotState::finished;
  if (was_bound) {
    parts_.lifecycle.feed(slot.uid, RowEvent::pre_bound, "node " + node + " has it already");
  } else if (slot.state == SlotState::stopping) {
    parts_.lifecycle.feed(slot.uid, RowEvent::leave, "node " + node + " has been told to end it");
  }
  hold_back_pod_of(slot, slot_key(node, slot));
}

// P11: a promise that this store gave up, and a time that it lost has bound. That may be all that shows that time.
void Comparison::hold_back_pod_of(const SlotReport& slot, const std::string& key) {
  const bool is_given_up = parts_.releases.contains(key) && !context_.identity->orphans.contains(key);
  if (!is_given_up || !is_alive(slot.state)) return;
  context_.identity.insert(&Identity::ending, key);
  parts_.releases.hold_name(key, Adoption::name_of(slot));
}

// D5: of a device that this one is not the successor of, its listing says nothing.
void Comparison::add_orphans_of_twins(const std::string& node, const std::string& incarnation,
                                      std::set<std::string>& keys) const {
  for (const std::string& key : context_.identity->orphans) {
    const ReleaseEntry& entry = parts_.state.releases.at(key).entry;
    if (entry.node != node || entry.incarnation == incarnation) continue;
    if (parts_.twins.is_over(node, entry.incarnation, incarnation)) continue;
    keys.insert(key);
    parts_.twins.list_later(node);
  }
}

// A slot that no row explains, found while the gateway recovers what it once knew. False: no capacity, ask again.
bool Comparison::adopt_slot(const std::string& node, const SlotReport& slot, const std::string& incarnation) {
  const bool unbound = slot.state == SlotState::preparing || slot.state == SlotState::prepared;
  ReleaseEntry leftover{node,
                        incarnation,
                        slot.uid,
                        slot.epoch,
                        encode_charge(charge_of(slot)),
                        unbound ? std::vector<BoundVolume>() : slot.volumes};
  // Until it has ended, a pod of its name would be the second one, even if the operator has deleted it.
  if (is_alive(slot.state)) parts_.adoption.describe(slot, leftover);
  const std::string key = slot_key(node, slot);
  // Outside adopt mode what the gateway knows of the pod stands, whatever epoch a device says that it has (S12).
  const bool is_open = context_.identity->adopting || context_.identity->orphans.contains(key);
  const Binding* waiting = parts_.state.find(slot.uid);
  if (is_open && !unbound && waiting != nullptr && waiting->row.phase == Phase::none) {
    // A decision that waits, on Permit or for a busy node, is superseded: the pod has a node.
    const std::string why = "the pod was found on node " + node;
    parts_.lifecycle.give_up_waiting(slot.uid, why, why);
    parts_.lifecycle.deliver_permits();
  }
  PodEntry* entry = context_.objects.pods().find_by_uid(slot.uid);
  if (entry == nullptr) {
    if (is_ending(slot)) {
      if (context_.identity->orphans.contains(key)) {
        parts_.releases.release_orphan(key);  // which holds its name until it has ended
      } else {
        parts_.releases.add(leftover, is_alive(slot.state));
      }
      return true;
    }
    const Adoption::Found found = parts_.adoption.find_object(node, slot, key);
    if (found == Adoption::Found::no_capacity) return false;
    if (found == Adoption::Found::none) {
      add_orphan(slot, leftover, key);
      return true;
    }
    entry = context_.objects.pods().find_by_uid(slot.uid);
  } else if (context_.identity->orphans.contains(key)) {
    parts_.adoption.reconcile(node, slot, *entry);
  }
  const Binding* known = parts_.state.find(slot.uid);
  // Two nodes with one pod: the highest running epoch keeps the row, the other goes to the release list.
  const bool other_wins = known != nullptr && (!is_open || known->row.epoch > slot.epoch || !is_alive(slot.state));
  // It has ended on another node, whose row is gone already.
  const bool has_ended = known == nullptr && entry->finished && (!is_open || slot.state != SlotState::finished);
  if (other_wins || unbound || has_ended) {
    if (context_.identity->orphans.contains(key)) parts_.releases.forget_orphan(key);
    parts_.releases.add(leftover, is_alive(slot.state));
    return true;
  }
  return adopt_row(node, slot, incarnation, *entry);
}

// Nothing of it was started, or it was told to end: by the operator, lately or before the store or the device's went
// back (P16), or by a gateway that knew more.
bool Comparison::is_ending(const SlotReport& slot) const {
  const std::set<std::string>& deleted = context_.identity->deleted;
  if (deleted.contains(slot.uid) || context_.mirror.past().is_gone(slot.uid)) return true;
  const PodEntry* entry = context_.objects.pods().find_by_uid(slot.uid);
  if (entry == nullptr && !deleted.empty() && deleted.contains(Adoption::name_of(slot))) return true;
  return slot.state != SlotState::running && slot.state != SlotState::finished;
}

// A workload without an object waits for the operator's decision: it may be all that is left of the pod.
void Comparison::add_orphan(const SlotReport& slot, ReleaseEntry orphan, const std::string& key) {
  if (context_.identity->orphans.contains(key)) return;
  parts_.adoption.describe(slot, orphan);
  parts_.releases.add_orphan(orphan, key);
}

// The slot makes a row.
bool Comparison::adopt_row(const std::string& node, const SlotReport& slot, const std::string& incarnation,
                           PodEntry& entry) {
  Row row;
  row.uid = slot.uid;
  row.pod = entry.key;
  row.epoch = slot.epoch;
  row.node = Text::common(node);
  row.incarnation = Text::common(incarnation);
  row.promise_ms = context_.options.promise_ms;
  row.volumes = slot.volumes;
  const bool keeps_running = slot.state == SlotState::running && !entry.deleting;
  apply(row, keeps_running ? RowEvent::found_running : RowEvent::found_ending);
  if (Status begun = context_.store.begin(row.uid, encode(row), static_cast<int>(row.phase)); !begun.is_success()) {
    log_refused(context_.log, "slot of pod " + row.pod, begun.message());
    return false;
  }
  if (context_.identity->rolled_back || context_.identity->orphans.contains(slot_key(node, slot))) {
    parts_.volumes.correct_copy(row);
  }
  parts_.volumes.move_claims(row);
  if (Binding* known = parts_.state.find(slot.uid)) parts_.lifecycle.drop(*known);
  // An end that another node told was that of an earlier placement.
  const bool has_finished = slot.state == SlotState::finished && !entry.deleting;
  if (has_finished != entry.finished && (has_finished || keeps_running)) {
    entry.finished = has_finished;
    context_.objects.pods().save(row.pod);
  }
  // Before the row holds the epoch instead.
  const std::string key = slot_key(node, slot);
  if (context_.identity->orphans.contains(key)) parts_.releases.forget_orphan(key);
  parts_.scheduler.queue().remove(slot.uid);
  context_.publisher.mark(Kind::pod, row.pod);
  parts_.recovery.resume(std::move(row));
  if (Binding* adopted = parts_.state.find(slot.uid)) parts_.lifecycle.verify(*adopted);
  return true;
}

// Cleared of everything: every slot of this incarnation is gone or on the release list. A node like others now.
void Comparison::welcome_back(const std::string& node, const std::string& incarnation) {
  const bool by_incarnation = context_.identity.erase(&Identity::retired, node + "/" + incarnation);
  const bool by_name = context_.identity.erase(&Identity::retired, node + "/");
  if (!by_incarnation && !by_name) return;
  context_.log.write(Level::info, "forgotten node returned; what it ran is released", {{"node", node}});
  parts_.nodes.refresh(node);
  if (const DeviceNode* device = context_.nodes.find(node); device != nullptr && !device->facts.is_null()) {
    parts_.nodes.refresh_local_volumes(node);
  }
}

// P11: the time that was lost may have bound them, or have placed their pods elsewhere. Binding them now could be the
// second time.
void Comparison::give_up_promises() {
  std::vector<Text> promised;
  for (const auto& [uid, binding] : parts_.state.bindings) {
    if (binding.row.phase == Phase::prebind) promised.push_back(uid);
  }
  for (const Text& uid : promised) {
    parts_.lifecycle.feed(uid, RowEvent::leave, "the gateway does not know all that was placed, and asks the nodes");
  }
}

}  // namespace berth
