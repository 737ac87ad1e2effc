// The row's road: from the decision to the device's proof, and back when it is refused (rules P1-P7).
#include <algorithm>

#include "core/check.h"
#include "core/gateway/gateway.h"
#include "core/json/utf8.h"
#include "core/objects/object_events.h"
#include "core/placement/pending_release.h"

namespace berth {

namespace {

constexpr std::size_t kMaxReasonBytes = 1024;  // shown twice in a status, which must fit into a message

bool is_over(const Binding& binding) {
  return binding.row.phase == Phase::bound && binding.journey().events.is_empty();
}

std::string release_key(const std::string& node, const std::string& uid, const Epoch& epoch) {
  return node + "/" + uid + "/" + to_text(epoch);
}

}  // namespace

// One pod's binding cycle (kube-scheduler schedule_one.go bindingCycle). A restart enters it with the phase it found.
Task Gateway::binding_cycle(Binding& binding) {
  if (binding.row.phase == Phase::none) {
    if (binding.journey().cycle->waits) {
      const std::int64_t began_us = clock_.now_us();
      const Status permitted = co_await binding.edit().permitted.next();
      metrics_.permit_wait.at({to_string(permitted.code())}).observe(seconds_between(began_us, clock_.now_us()));
      if (!permitted.is_success()) {
        give_up(binding, permitted, true);
        co_return;
      }
    }
    scheduler_.leave_queue(*binding.edit().cycle);
    Status begun = begin_row(binding);
    while (begun.is_wait()) {
      const Status news = co_await binding.edit().permitted.next();
      begun = news.is_success() ? begin_row(binding) : news;
    }
    if (!begun.is_success()) {
      give_up(binding, begun, false);
      co_return;
    }
  }
  // Bound, it ends: most pods are, for months, and the frame would wait as long. feed() begins it anew.
  while (binding.row.phase != Phase::none && !is_over(binding)) {
    request(binding);
    const RowEvent event = co_await binding.edit().events.next();
    move(binding, event);
  }
}

// P1: the row with its new epoch is in this turn's transaction; PreBind leaves after it. Wait: claims have to be
// provisioned first, and it is called again.
Status Gateway::begin_row(Binding& binding) {
  Row& row = binding.row;
  const DeviceNode* device = nodes_.find(row.node);
  if (device == nullptr || device->incarnation.empty()) return Status::error("node " + row.node + " is gone");
  if (is_retired(row.node)) return Status::error("node " + row.node + " was forgotten and is still to be cleared");
  if (identity_.adopting) return Status::error("the gateway learns anew what runs where");
  if (is_busy(row.node)) return defer(binding);
  binding.edit().deferred = false;
  PlacementRequest wanted;
  Status prepared = scheduler_.pre_bind(*binding.edit().cycle, wanted);
  if (!prepared.is_success()) return prepared;
  timers_.cancel(binding.edit().deadline);
  binding.edit().provisioning = wanted.provision;
  if (!wanted.provision.empty()) return await_provisioners(binding, wanted.again_at);
  row.incarnation = Text::common(device->incarnation);
  row.promise_ms = options_.promise_ms;
  row.volumes = std::move(wanted.volumes);
  row.epoch = {identity_.id.term, store_.next_position()};
  if (Status begun = store_.begin(row.uid, encode(row), static_cast<int>(Phase::prebind)); !begun.is_success()) {
    return Status::error(begun.message());  // no plugin's word: error backoff, or it would be tried again at once
  }
  apply(row, RowEvent::begin);
  enter_flight(row);
  hold_epoch(row.node, row.epoch, row.uid);
  arm_deadline(binding);
  return Status::ok();
}

void Gateway::arm_deadline(Binding& binding) {
  binding.edit().deadline = timers_.at(clock_.now() + binding.row.promise_ms, [this, uid = binding.row.uid] {
    Binding& late = bindings_.at(uid);
    late.edit().deadline = 0;
    late.edit().reason =
        "node " + late.row.node + " did not answer PreBind in " + std::to_string(late.row.promise_ms / 1000) + " s";
    feed(uid, RowEvent::leave);
  });
}

void Gateway::move(Binding& binding, RowEvent event) {
  if (event == RowEvent::pre_bound) {
    const Status bound = binding.journey().cycle->reservation
                             ? scheduler_.bind(*binding.journey().cycle)
                             : Status::error(binding.pod == nullptr ? "the pod is not known in this gateway"
                                                                    : "no profile \"" + binding.pod->scheduler_name +
                                                                          "\" in this gateway");
    if (!bound.is_success()) {
      binding.edit().refusal = bound;
      event = RowEvent::leave;
    }
  }
  if (!find_move(binding.row.phase, event)) return;  // overtaken by what was already in the mailbox
  const bool was_in_flight = is_in_flight(binding.row);
  const Move made = apply(binding.row, event);
  if (was_in_flight && !is_in_flight(binding.row)) leave_flight(binding.row);
  binding.edit().resends = 0;
  binding.cancel(timers_);
  log_.write(Level::info, "row moved",
             {{"pod", binding.row.pod},
              {"node", binding.row.node},
              {"epoch", to_text(binding.row.epoch)},
              {"event", std::string(to_string(event))},
              {"phase", std::string(to_string(binding.row.phase))}});
  switch (made.to) {
    case Phase::bind: enter_bind(binding); break;
    case Phase::bound: enter_bound(binding); break;
    case Phase::release: enter_release(binding, event); break;
    case Phase::none: end_row(binding, made); break;
    case Phase::prebind: CHECK(false);
  }
  publisher_.mark(Kind::pod, binding.row.pod);
}

// P2: phase bind is in this turn's transaction, with the volumes Bound; Bind leaves after it.
void Gateway::enter_bind(Binding& binding) {
  store_.advance(binding.row.uid, static_cast<int>(Phase::bind));
  for (const BoundVolume& bound_volume : binding.row.volumes) bind_volume(bound_volume);
  for (const BoundVolume& bound_volume : binding.row.volumes) {
    // The mirror tells a gateway that lost its store which data is whose.
    publisher_.mirror(Kind::persistent_volume, bound_volume.volume);
    publisher_.mirror(Kind::persistent_volume_claim, bound_volume.claim);
  }
}

void Gateway::enter_bound(Binding& binding) {
  store_.advance(binding.row.uid, static_cast<int>(Phase::bound));
  conditions_.erase(binding.row.pod);
  forget_place(binding.row.uid);
  if (binding.pod != nullptr) {  // a damaged store may have lost the object, and not the row
    scheduler_.finish_binding(*binding.edit().cycle);
    scheduler_.pod_bound(binding.pod, binding.row.node);
    scheduler_.post_bind(*binding.edit().cycle);
  }
  binding.edit().cycle = nullptr;
  take_finished(binding);
}

// P7: never back to bind or bound. What a finished pod used is free at once; a victim's only after proof.
void Gateway::enter_release(Binding& binding, RowEvent event) {
  store_.advance(binding.row.uid, static_cast<int>(Phase::release));
  if (event == RowEvent::finished) {
    PodEntry* entry = objects_.find_pod_by_uid(binding.row.uid);
    if (entry != nullptr) {
      entry->finished = true;
      objects_.save_pod(binding.row.pod);
    }
    cache_.remove(binding.row.uid);
    wake_freed(binding);
    delete_unused_volumes();
    return;
  }
  if (const auto& cycle = binding.journey().cycle; cycle && cycle->reservation) {
    cache_.confirm(binding.pod, binding.row.node);
    cycle->reservation->commit();
  }
}

void Gateway::end_row(Binding& binding, const Move& made) {
  const Row& row = binding.row;
  store_.erase(Table::row, row.uid);
  awaited_volumes_.erase(row.uid);
  if (made.to_release_list) {
    const Resources charge = binding.pod == nullptr ? Resources{} : pod_requests(*binding.pod);
    add_release({row.node, row.incarnation, row.uid, row.epoch, encode_charge(charge)}, false);  // Bind was never sent
  } else {
    drop_epoch(row.node, row.epoch, row.uid);
  }
  const PodEntry* entry = objects_.find_pod_by_uid(row.uid);
  const std::unique_ptr<BindingCycle>& cycle = binding.journey().cycle;
  const bool armed = cycle && cycle->reservation && cycle->reservation->is_armed();
  if (!armed) cache_.remove(row.uid);
  const bool again = entry != nullptr && !entry->deleting && !entry->finished && framework_of(*entry->pod) != nullptr;
  if (made.from == Phase::prebind) {
    let_go_of_volumes(row);
    wake_promised(binding);
  }
  if (again && (made.from == Phase::prebind || made.from == Phase::bind)) {
    const Journey& journey = binding.journey();
    const std::string why = journey.reason.empty() ? "node " + row.node + " lost the placement" : journey.reason;
    return scheduler_.fail_binding(*cycle, journey.refusal.is_success() ? Status::error(why) : journey.refusal);
  }
  if (cycle) cycle->reservation.reset();  // Unreserve, forget
  wake_freed(binding);
  if (entry == nullptr) return delete_unused_volumes();
  if (entry->deleting) {
    if (!identity_.adopting) finish_removal(row.pod);
    return;
  }
  if (entry->finished) return;
  enqueue(entry->pod);
}

void Gateway::wake_freed(const Binding& binding) {
  if (binding.pod == nullptr) return;
  EventObjects objects;
  objects.old_pod = placed_on(binding.row.node, *binding.pod);
  wake({EventResource::assigned_pod, kDelete, "AssignedPodDelete"}, objects);
}

// The binding ended before anything was written: undo, and back to the queue.
void Gateway::give_up(Binding& binding, const Status& status, bool waited) {
  if (waited) {
    scheduler_.reject_waiting(*binding.edit().cycle, status);
  } else {
    scheduler_.fail_binding(*binding.edit().cycle, status);
  }
  wake_promised(binding);
  const PodEntry* entry = objects_.find_pod_by_uid(binding.row.uid);
  if (entry != nullptr && entry->deleting && !identity_.adopting) finish_removal(binding.row.pod);
}

void Gateway::feed(std::string_view uid, RowEvent event) {
  auto found = bindings_.find(uid);
  if (found == bindings_.end() || !find_move(found->second.row.phase, event)) return;
  Binding& binding = found->second;
  binding.edit().events.push(event);
  if (!binding.journey().task.is_begun()) binding.edit().task = binding_cycle(binding);
  reap(uid);
}

void Gateway::feed_permit(std::string_view uid, Status status) {
  auto found = bindings_.find(uid);
  if (found == bindings_.end() || found->second.row.phase != Phase::none) return;
  found->second.edit().permitted.push(std::move(status));
  reap(uid);
}

void Gateway::reap(std::string_view uid) {
  auto found = bindings_.find(uid);
  if (found == bindings_.end() || !found->second.journey().task.is_done()) return;
  if (found->second.row.phase == Phase::bound) {
    found->second.edit().task = Task();
    found->second.rest();
    return;
  }
  found->second.cancel(timers_);
  bindings_.erase(found);
}

void Gateway::request(Binding& binding) {
  const Row& row = binding.row;
  Request message;
  switch (row.phase) {
    case Phase::prebind:
      message.type = RequestType::pre_bind;
      message.pod = binding.pod == nullptr ? "{}" : binding.pod->manifest().text();
      message.uid_in_pod = binding.pod != nullptr;
      message.volumes = row.volumes;
      message.promise_ms = row.promise_ms;
      binding.edit().prebind_sent = clock_.now();
      break;
    case Phase::bind: message.type = RequestType::bind; break;
    case Phase::release: message.type = RequestType::release; break;
    case Phase::bound:
    case Phase::none: return;  // nothing is asked
  }
  message.uid = row.uid;
  message.epoch = row.epoch;
  message.incarnation = row.incarnation;
  send_request(row.node, std::move(message));
  arm_resend(binding.edit().resend, binding.edit().resends, [this, uid = row.uid] {
    Binding& again = bindings_.at(uid);
    again.edit().resend = 0;
    request(again);
  });
}

void Gateway::verify(Binding& binding) {
  if (binding.row.phase != Phase::bound) return request(binding);
  Request message(RequestType::bind);
  message.uid = binding.row.uid;
  message.epoch = binding.row.epoch;
  message.incarnation = binding.row.incarnation;
  send_request(binding.row.node, std::move(message));
  arm_resend(binding.edit().resend, binding.edit().resends, [this, uid = binding.row.uid] {
    Binding& again = bindings_.at(uid);
    again.edit().resend = 0;
    verify(again);
  });
}

// Doubling, with a jitter of a quarter, so that a fleet that reconnects does not answer in step.
void Gateway::arm_resend(Timers::Id& timer, int& resends, std::function<void()> run) {
  timers_.cancel(timer);
  const Millis doubled = options_.resend_ms << std::min(resends, 10);
  const Millis delay = std::min(doubled, options_.resend_ms_max);
  const Millis jitter = static_cast<Millis>(random_.below(static_cast<std::uint64_t>(delay / 4 + 1)));
  ++resends;
  timer = timers_.at(clock_.now() + delay + jitter, std::move(run));
}

void Gateway::send_request(const std::string& node, Request request) {
  request.gateway = options_.gateway;
  request.gateway_id = identity_.id;
  request.floor = floor_of(node);
  Message message;
  message.topic = topics_.node_requests(node);
  // Ends in the broker's queue only; the receiver's rules never rely on it.
  message.expiry_s = static_cast<int>(std::max<Millis>(options_.promise_ms / 1000, 1));
  const bool places = request.type == RequestType::pre_bind || request.type == RequestType::bind;
  if (!places) return requests_.send(std::move(message), std::move(request));
  // The turn that asks may also hear what ends the row: then its phase never was on flash (P1, P2).
  const Phase least = request.type == RequestType::bind ? Phase::bind : Phase::prebind;
  auto wanted = [this, least, uid = request.uid, epoch = request.epoch] {
    const auto found = bindings_.find(uid);
    if (found == bindings_.end() || found->second.row.epoch != epoch) return false;
    const Phase phase = found->second.row.phase;
    return phase == least || (least == Phase::bind && phase == Phase::bound);
  };
  requests_.send(std::move(message), std::move(request), std::move(wanted));
}

void Gateway::on_answer(Answer answer) {
  if (answer.uid.empty() && !answer.epoch.is_zero()) answer.uid = uid_of_epoch(answer.node, answer.epoch);
  note_incarnation(answer);
  apply_change(answer.node, nodes_.on_sign_of_life(answer.node, answer.incarnation));
  if (answer.type == AnswerType::superseded) return on_superseded(answer);
  if (answer.type == AnswerType::slots) return on_slots(answer);
  if (auto found = bindings_.find(answer.uid); found != bindings_.end()) {
    Binding& binding = found->second;
    const Millis sent = binding.journey().prebind_sent;
    const bool passed = sent >= 0 && clock_.now() - sent >= binding.row.promise_ms;
    if (std::optional<RowEvent> event = read_answer(binding.row, answer, identity_.id.store_id, passed)) {
      if (answer.type == AnswerType::rejected) {
        binding.edit().reason = "node " + answer.node + " rejected the pod: " + shorten(answer.reason, kMaxReasonBytes);
      }
      return feed(answer.uid, *event);
    }
    const bool confirms = answer.type == AnswerType::bound && binding.row.phase == Phase::bound &&
                          answer.node == binding.row.node && answer.epoch == binding.row.epoch &&
                          answer.incarnation == binding.row.incarnation;
    if (confirms) {  // the answer to verify()
      binding.cancel(timers_);
      binding.rest();
    }
  }
  const std::string key = release_key(answer.node, answer.uid, answer.epoch);
  auto found = releases_.find(key);
  if (found == releases_.end() || !ends_entry(found->second.entry, answer, identity_.id.store_id)) {
    return log_.write(Level::debug, "answer dropped",
                      {{"node", answer.node}, {"answer", std::string(to_string(answer.type))}, {"pod", answer.uid}});
  }
  end_release(key);
}

void Gateway::add_release(ReleaseEntry entry, bool may_run) {
  const std::string key = release_key(entry.node, entry.uid, entry.epoch);
  if (may_run && identity_.ending.insert(key).second) identity_changed_ = true;
  store_.put(Table::release, key, encode(entry));
  hold_volumes(key, entry.volumes);
  restore_release(std::move(entry));
  request_release(key);
}

void Gateway::restore_release(ReleaseEntry entry) {
  const std::string key = release_key(entry.node, entry.uid, entry.epoch);
  cache_.charge(entry.node, key, decode_charge(entry.charge));
  hold_epoch(entry.node, entry.epoch, entry.uid);
  releases_[key].entry = std::move(entry);
}

void Gateway::end_release(const std::string& key) {
  const std::string node = releases_.at(key).entry.node;
  const std::string uid = releases_.at(key).entry.uid;
  EventObjects objects;
  objects.old_pod = placed_on(node, uid, decode_charge(releases_.at(key).entry.charge));
  // A device may speak of an orphan unasked: it must not stay named once its entry is gone.
  if (identity_.orphans.contains(key)) {
    forget_orphan(key);
  } else {
    drop_release(key);
  }
  if (identity_.ending.erase(key) > 0) {
    identity_changed_ = true;
    queue_if_free(uid);
  }
  publisher_.mark(Kind::node, node);
  delete_unused_volumes();
  wake({EventResource::assigned_pod, kDelete, "AssignedPodDelete"}, objects);
}

void Gateway::drop_release(const std::string& key) {
  auto found = releases_.find(key);
  const ReleaseEntry entry = std::move(found->second.entry);
  timers_.cancel(found->second.resend);
  releases_.erase(found);
  awaited_volumes_.erase(key);
  store_.erase(Table::release, key);
  cache_.discharge(entry.node, key);
  drop_epoch(entry.node, entry.epoch, entry.uid);
}

void Gateway::request_release(const std::string& key) {
  if (identity_.orphans.contains(key)) return;  // not before the operator's word
  Release& release = releases_.at(key);
  Request message(RequestType::release);
  message.uid = release.entry.uid;
  message.epoch = release.entry.epoch;
  message.incarnation = release.entry.incarnation;
  send_request(release.entry.node, std::move(message));
  arm_resend(release.resend, release.resends, [this, key] {
    releases_.at(key).resend = 0;
    request_release(key);
  });
}

void Gateway::resend_all(const std::string& node) {
  const DeviceNode* device = nodes_.find(node);
  for (Binding* binding : rows_of(node)) {
    if (!binding->is_at_rest()) binding->edit().resends = 0;
    if (binding->row.phase != Phase::bound) {
      request(*binding);
    } else if (device == nullptr || device->incarnation != binding->row.incarnation) {
      verify(*binding);
    }
  }
  for (auto entry = releases_.lower_bound(node + "/"); entry != releases_.end(); ++entry) {
    if (entry->second.entry.node != node) break;
    entry->second.resends = 0;
    request_release(entry->first);
  }
}

}  // namespace berth
