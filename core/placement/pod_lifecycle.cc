// The life of one pod, read downwards as kube-scheduler's schedule_one.go: the scheduler has decided on a node and
// holds it reserved; then
//
//   permit ─▶ pre_bind ══ row prebind on flash ══▶ PreBind ▷ device ▷ PreBound ─▶ bind ══ row bind on flash ══▶ Bind ▷
//   device ▷ Bound ─▶ post_bind, row bound ... ═▶ Release ▷ device ▷ Released
//
// A failure at any step undoes the reservation and the pod goes back to the queue. Recovery enters binding_cycle() at
// the phase that it finds. Below the steps: the row's moves, one function for each phase that it enters. Which moves
// there are is the one table in core/handshake/row.cc.
#include "core/placement/pod_lifecycle.h"

#include "core/check.h"
#include "core/objects/object_events.h"
#include "core/placement/pending_release.h"
#include "core/placement/pod_news.h"
#include "core/placement/queue_positions.h"
#include "core/placement/retired.h"

namespace berth {

namespace {

bool is_over(const Binding& binding) {
  return binding.row.phase == Phase::bound && binding.progress().events.is_empty();
}

}  // namespace

PodLifecycle::PodLifecycle(const PlacementContext& context, const Parts& parts)
    : context_(context),
      state_(parts.state),
      scheduler_(parts.scheduler),
      sender_(parts.sender),
      listings_(parts.listings),
      volumes_(parts.volumes),
      provisioned_(parts.provisioned),
      releases_(parts.releases),
      changes_(parts.changes),
      events_(parts.events),
      window_({context.options.max_rows_in_flight, context.options.max_rows_per_node}),
      configs_(context, parts.state, parts.sender, [this](Binding& binding) { request(binding); }) {}

PodLifecycle::~PodLifecycle() {
  context_.timers.cancel(permit_timer_);
  for (auto&& [uid, binding] : state_.bindings) {
    binding.cancel(context_.timers);
    // A crash undoes nothing: what the rows say is what the next start resumes.
    if (!binding.is_at_rest() && binding.edit().reservation) binding.edit().reservation->commit();
  }
}

void PodLifecycle::start(std::unique_ptr<BindingCycle> cycle) {
  const Text uid = cycle->queued.pod->metadata.uid;
  CHECK(!state_.bindings.contains(uid));
  Binding made;
  made.row.uid = uid;
  Binding& binding = state_.bindings[state_.bindings.add(std::move(made))];
  binding.pod = cycle->queued.pod;
  binding.row.pod = context_.objects.pods().key_of(*binding.pod);
  binding.row.node = Text::common(cycle->node);
  binding.begin(std::move(cycle));
  binding.edit().task = binding_cycle(binding);
  reap(uid);
}

// kube-scheduler schedule_one.go bindingCycle. A restart enters it with the phase that it found.
Task PodLifecycle::binding_cycle(Binding& binding) {
  if (binding.row.phase == Phase::none) {
    // permit
    if (binding.progress().waits) {
      const std::int64_t began_us = context_.clock.now_us();
      const Status permitted = co_await binding.edit().permitted.next();
      context_.metrics.permit_wait.at({to_string(permitted.code())})
          .observe(seconds_between(began_us, context_.clock.now_us()));
      if (!permitted.is_success()) {
        give_up(binding, permitted, true);
        co_return;
      }
    }
    scheduler_.leave_queue(binding.edit());
    // pre_bind
    Status begun = pre_bind(binding);
    while (begun.is_wait()) {
      const Status decided = co_await binding.edit().permitted.next();
      begun = decided.is_success() ? pre_bind(binding) : decided;
    }
    if (!begun.is_success()) {
      give_up(binding, begun, false);
      co_return;
    }
  }
  // The exchange with the device, with bind and post_bind on its way: see move(). The coroutine ends with phase bound:
  // most pods are bound for months, and its frame would stay as long. feed() begins it again.
  while (binding.row.phase != Phase::none && !is_over(binding)) {
    request(binding);
    const RowEvent event = co_await binding.edit().events.next();
    move(binding, event);
  }
}

// Code::wait: the node or a provisioner has to act first, and this is called again.
Status PodLifecycle::pre_bind(Binding& binding) {
  const std::string& node = binding.row.node;
  const DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr || device->incarnation.empty()) return Status::error("node " + node + " is gone");
  if (is_retired(*context_.identity, context_.nodes, node)) {
    return Status::error("node " + node + " was forgotten and is still to be cleared");
  }
  if (context_.identity->adopting) return Status::error(std::string(kRecoveringStore));
  if (const auto hold = device->holds.find(Hold::passed_over); hold != device->holds.end()) {
    return Status::error("node " + node + " " + hold->second);  // decided on before that
  }
  if (device->holds.contains(Hold::twins)) return Status::error("node " + node + " is two devices");
  if (window_.is_busy(node)) return defer(binding);
  binding.edit().deferred = false;
  PlacementRequest& request = binding.edit().request;
  Status prepared = scheduler_.pre_bind(binding.edit(), request);
  if (!prepared.is_success()) return prepared;
  context_.timers.cancel(binding.edit().deadline);
  if (!request.provision.empty()) return await_provisioners(binding, request.again_at);
  return begin_row(binding, std::move(request), device->incarnation);
}

// P1: the row with its new epoch is in this turn's transaction; PreBind leaves after it.
Status PodLifecycle::begin_row(Binding& binding, PlacementRequest request, const std::string& incarnation) {
  Row& row = binding.row;
  row.incarnation = Text::common(incarnation);
  row.promise_ms = context_.options.promise_ms;
  // While the pod waited, for Permit or a provisioner, they were only assumed to be its claims'.
  for (const BoundVolume& each : request.volumes) {
    if (volumes_.is_taken(each))
      return Status::error("volume " + each.volume + " is no longer free for claim " + each.claim);
  }
  row.volumes = std::move(request.volumes);
  row.epoch = {context_.nodes.id_towards(row.node, context_.identity->id).term, context_.store.next_position()};
  if (Status begun = context_.store.begin(row.uid, encode(row), static_cast<int>(Phase::prebind));
      !begun.is_success()) {
    return Status::error(begun.message());  // rejected by no plugin: error backoff, or it would be tried again at once
  }
  apply(row, RowEvent::begin);
  window_.enter(row);
  state_.epochs.hold(row.node, row.epoch, row.uid);
  arm_deadline(binding);
  events_.prebind_told(row, PreBindOutcome::asked);
  return Status::ok();
}

// The device has prepared the pod: the Bind plugin may still refuse.
Status PodLifecycle::bind(Binding& binding) {
  if (binding.progress().reservation) return scheduler_.bind(binding.edit());
  return Status::error(binding.pod == nullptr
                           ? "the pod is not known in this gateway"
                           : "no profile \"" + binding.pod->spec->scheduler_name + "\" in this gateway");
}

void PodLifecycle::post_bind(Binding& binding) {
  if (binding.pod != nullptr) {  // a damaged store may have lost the object, and not the row
    if (binding.progress().queued.pod != nullptr) scheduler_.finish_binding(binding.edit());
    scheduler_.handlers().pod_bound(binding.pod, binding.row.node);
    scheduler_.post_bind(binding.edit());
  }
  binding.edit().end_scheduling();
}

// The binding ended before anything was written: undo, and back to the queue.
void PodLifecycle::give_up(Binding& binding, const Status& status, bool waited) {
  if (waited) {
    scheduler_.reject_waiting(binding.edit(), status);
  } else {
    scheduler_.fail_binding(binding.edit(), status);
  }
  changes_.wake_unreserved(binding.pod);
  const PodEntry* entry = context_.objects.pods().find_by_uid(binding.row.uid);
  if (entry != nullptr && entry->deleting && !context_.identity->adopting) events_.pod_gone(binding.row.pod);
}

// --- The row: what happens to it, and what follows in each phase that it enters.

void PodLifecycle::feed(std::string_view uid, RowEvent event) {
  auto found = state_.bindings.find(uid);
  if (found == state_.bindings.end() || !find_move(found->second.row.phase, event)) return;
  Binding& binding = found->second;
  binding.edit().events.push(event);
  if (!binding.progress().task.is_begun()) binding.edit().task = binding_cycle(binding);
  reap(uid);
}

void PodLifecycle::feed(std::string_view uid, RowEvent event, const std::string& reason) {
  if (Binding* binding = state_.find(uid)) binding->edit().reason = reason;
  feed(uid, event);
}

void PodLifecycle::move(Binding& binding, RowEvent event) {
  if (event == RowEvent::pre_bound) {
    const Status bound = bind(binding);
    if (!bound.is_success()) {
      binding.edit().refusal = bound;
      event = RowEvent::leave;
    }
  }
  if (!find_move(binding.row.phase, event)) return;  // superseded by what was already in the mailbox
  const bool was_in_flight = is_in_flight(binding.row);
  const Move made = apply(binding.row, event);
  if (was_in_flight && !is_in_flight(binding.row)) window_.leave(binding.row);
  if (made.from == Phase::prebind) events_.prebind_told(binding.row, PreBindOutcome::ended);
  binding.edit().resends = 0;
  binding.cancel(context_.timers);
  context_.log.write(Level::info, "row moved",
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
  context_.publisher.mark(Kind::pod, binding.row.pod);
}

// P2: phase bind is in this turn's transaction, with the volumes Bound; Bind leaves after it.
void PodLifecycle::enter_bind(Binding& binding) {
  context_.store.advance(binding.row.uid, static_cast<int>(Phase::bind));
  provisioned_.make_objects(binding.row);
  for (const BoundVolume& bound_volume : binding.row.volumes) volumes_.bind(bound_volume);
  for (const BoundVolume& bound_volume : binding.row.volumes) {
    // The mirror tells a gateway that lost its store which data is whose.
    context_.publisher.mirror(Kind::persistent_volume, bound_volume.volume);
    context_.publisher.mirror(Kind::persistent_volume_claim, bound_volume.claim);
  }
}

void PodLifecycle::enter_bound(Binding& binding) {
  context_.store.advance(binding.row.uid, static_cast<int>(Phase::bound));
  if (PodEntry* entry = context_.objects.pods().find(binding.row.pod)) {
    entry->edit_extras([](PodExtras& extras) { extras.condition.reset(); });
  }
  forget_position(context_, binding.row.uid);
  post_bind(binding);
  take_finished(binding);
}

// P7: never back to bind or bound. What a finished pod used is free at once; a victim's only after proof.
void PodLifecycle::enter_release(Binding& binding, RowEvent event) {
  context_.store.advance(binding.row.uid, static_cast<int>(Phase::release));
  if (event == RowEvent::finished) {
    PodEntry* entry = context_.objects.pods().find_by_uid(binding.row.uid);
    if (entry != nullptr) {
      entry->finished = true;
      context_.objects.pods().save(binding.row.pod);
    }
    if (binding.pod != nullptr) scheduler_.handlers().pod_left(*binding.pod, binding.row.node);
    volumes_.delete_unused();
    return;
  }
  if (const PodEntry* entry = context_.objects.pods().find_by_uid(binding.row.uid); entry != nullptr) {
    for (ObjectEvent& news : news_of_stop(*entry->pod, binding.row.node, entry->observed.json())) {
      context_.events.record(std::move(news));
    }
  }
  // From phase bind: Bind may have come through, so PostBind follows as upstream, deleted or not. What Reserve assumed
  // until then ends with it, and nothing is undone.
  if (!binding.is_at_rest() && binding.edit().reservation && binding.progress().reservation->is_armed()) {
    scheduler_.cache().confirm(binding.pod, binding.row.node);
    scheduler_.post_bind(binding.edit());
  }
}

// What its device had reported wrongly of it.
void PodLifecycle::forget_wrong_report(const Row& row) {
  PodEntry* entry = context_.objects.pods().find_by_uid(row.uid);
  if (entry == nullptr || entry->extras().wrong_report.empty()) return;
  entry->edit_extras([](PodExtras& extras) { extras.wrong_report.clear(); });
  context_.publisher.mark(Kind::node, row.node);
}

void PodLifecycle::end_row(Binding& binding, const Move& made) {
  const Row& row = binding.row;
  forget_wrong_report(row);
  context_.store.erase(Table::row, row.uid);
  volumes_.forget_holder(row.uid);
  volumes_.pass_on_claims(row);
  if (made.to_release_list) {
    const Resources charge = binding.pod == nullptr ? Resources{} : pod_requests(*binding.pod);
    ReleaseEntry entry{row.node, row.incarnation, row.uid, row.epoch, encode_charge(charge)};
    entry.made = volumes_to_make(row);
    releases_.add(std::move(entry), false);  // Bind was never sent
  } else {
    listings_.note_ended(row.node, row.epoch);
    state_.epochs.drop(row.node, row.epoch, row.uid);
  }
  const PodEntry* entry = context_.objects.pods().find_by_uid(row.uid);
  const BindingCycle& cycle = binding.progress();
  const bool armed = cycle.reservation && cycle.reservation->is_armed();
  if (!armed) scheduler_.cache().remove(row.uid);
  const bool again =
      entry != nullptr && !entry->deleting && !entry->finished && scheduler_.framework_of(*entry->pod) != nullptr;
  if (made.from == Phase::prebind) {
    volumes_.unreserve(row);
    // What goes to the release list may still be made.
    if (!made.to_release_list) provisioned_.take_unused(row.node, volumes_to_make(row));
    changes_.wake_unreserved(binding.pod);
  }
  // Without a pod the cycle is one whose object a damaged store had lost; the object that has come since was never in
  // it.
  if (again && cycle.queued.pod != nullptr && (made.from == Phase::prebind || made.from == Phase::bind)) {
    const std::string why = cycle.reason.empty() ? "node " + row.node + " lost the placement" : cycle.reason;
    return scheduler_.fail_binding(binding.edit(), cycle.refusal.is_success() ? Status::error(why) : cycle.refusal);
  }
  if (!binding.is_at_rest()) binding.edit().reservation.reset();  // Unreserve, forget
  if (binding.pod != nullptr) scheduler_.handlers().pod_left(*binding.pod, row.node);
  if (entry == nullptr) return volumes_.delete_unused();
  if (entry->deleting) {
    if (!context_.identity->adopting) events_.pod_gone(row.pod);
    return;
  }
  if (entry->finished) return;
  events_.pod_unplaced(entry->pod);
}

void PodLifecycle::reap(std::string_view uid) {
  auto found = state_.bindings.find(uid);
  if (found == state_.bindings.end() || !found->second.progress().task.is_done()) return;
  if (found->second.row.phase == Phase::bound) {
    found->second.edit().task = Task();
    found->second.rest();
    return;
  }
  found->second.cancel(context_.timers);
  state_.bindings.erase(found);
  volumes_.delete_unused();
}

// A row whose place another node's slot disproves. Its record is that of the row to come already.
void PodLifecycle::drop(Binding& binding) {
  const Row& row = binding.row;
  const Resources charge = binding.pod == nullptr ? Resources{} : pod_requests(*binding.pod);
  const bool may_run = row.phase != Phase::prebind;
  forget_wrong_report(row);
  ReleaseEntry entry{row.node,  row.incarnation,       row.uid,
                     row.epoch, encode_charge(charge), may_run ? row.volumes.get() : std::vector<BoundVolume>()};
  entry.pod = row.pod;
  entry.holds_name = may_run;
  binding.cancel(context_.timers);
  if (!binding.is_at_rest() && binding.edit().reservation && binding.edit().reservation->is_armed()) {
    binding.edit().reservation.reset();
  } else {
    scheduler_.cache().remove(row.uid);
  }
  listings_.note_ended(row.node, row.epoch);
  state_.epochs.drop(row.node, row.epoch, row.uid);
  if (is_in_flight(row)) window_.leave(row);
  if (row.phase == Phase::prebind) events_.prebind_told(row, PreBindOutcome::ended);
  volumes_.forget_holder(row.uid);
  state_.bindings.erase(state_.bindings.index_of(row.uid));
  releases_.add(std::move(entry), may_run);
}

void PodLifecycle::take_finished(const Binding& binding) {
  if (binding.row.phase != Phase::bound) return;
  const PodEntry* entry = context_.objects.pods().find_by_uid(binding.row.uid);
  if (entry == nullptr) return;
  const Json observed = entry->observed.json();
  const Json* epoch = observed.find("epoch");
  const Json* phase = observed.find("phase");
  if (epoch == nullptr || phase == nullptr || *epoch != Json(to_text(binding.row.epoch))) return;
  if (*phase == Json("Succeeded") || *phase == Json("Failed")) feed(binding.row.uid, RowEvent::finished);
}

void PodLifecycle::set_pod(std::string_view uid, const PodPtr& pod) {
  if (Binding* binding = state_.find(uid)) binding->pod = pod;
}

void PodLifecycle::resume(Binding restored) {
  const Text uid = restored.row.uid;
  const auto [index, is_new] = state_.bindings.find_or_add(uid, [&restored] { return std::move(restored); });
  CHECK(is_new);
  Binding& binding = state_.bindings[index];
  if (binding.row.phase == Phase::bound) return;
  if (binding.row.phase == Phase::prebind) arm_deadline(binding);
  if (is_in_flight(binding.row)) window_.enter(binding.row);
  binding.edit().task = binding_cycle(binding);
  reap(uid);
}

bool PodLifecycle::forget_claim(const std::string& claim) {
  for (auto&& [uid, binding] : state_.bindings) {
    if (binding.row.volumes.empty() || binding.row.phase == Phase::none) continue;
    std::vector<BoundVolume> volumes = binding.row.volumes;
    if (std::erase_if(volumes, [&claim](const BoundVolume& each) { return each.claim == claim; }) == 0) continue;
    Row row = binding.row;
    row.volumes = std::move(volumes);
    if (!context_.store.begin(uid, encode(row), static_cast<int>(row.phase)).is_success()) return false;
    binding.row.volumes = std::move(row.volumes);
  }
  return true;
}

}  // namespace berth
