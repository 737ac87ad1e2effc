#include "core/placement/placement.h"

#include "core/placement/queue_positions.h"

namespace berth {

namespace {

// Both bound a turn: the rest is tried in the next one. An attempt that finds no node among thousands, and none by
// preemption, takes milliseconds; one that does takes microseconds, and writes.
constexpr int kMaxAttemptsPerTurn = 64;
constexpr std::int64_t kDecideUs = 20'000;

}  // namespace

Placement::Placement(const PlacementContext& context)
    : context_(context),
      scheduler_(context.clock, context.objects, pods_,
                 {context.options.queue,
                  context.options.seed,
                  {},
                  &context.metrics,
                  make_fast_path(context.options.scheduling_cache_bytes),
                  &context.log}),
      sender_(context, state_.epochs),
      output_(context, state_, sender_),
      listings_(context, sender_),
      changes_(context.objects, context.mirror, scheduler_.queue()),
      refusals_(context, scheduler_, changes_),
      provisioned_(context, state_, sender_, changes_),
      orphan_volumes_(std::make_unique<OrphanVolumes>(context, provisioned_)),
      volumes_(context, state_, changes_, provisioned_, *this),
      immediate_claims_(context, volumes_),
      releases_(context, state_, scheduler_.cache(), sender_, listings_, volumes_, provisioned_, changes_, *this),
      lifecycle_(context, {state_, scheduler_, sender_, listings_, volumes_, provisioned_, releases_, changes_, *this}),
      admission_(context, volumes_, changes_),
      ephemeral_claims_(context, admission_, volumes_),
      nodes_(context, {scheduler_.handlers(), sender_, listings_, volumes_, admission_, changes_, releases_, lifecycle_,
                       refusals_}),
      twins_(context, state_, listings_,
             [this](const std::string& node, const std::string& why) { nodes_.quarantine(node, Hold::twins, why); }),
      pods_(context, {state_, scheduler_, volumes_, ephemeral_claims_, releases_, changes_, lifecycle_, output_}),
      recovery_(context, {state_, scheduler_, volumes_, provisioned_, releases_, lifecycle_, nodes_, pods_}),
      pod_admission_(context, scheduler_),
      adoption_(context, {state_, volumes_, releases_, lifecycle_, pods_, pod_admission_}),
      adopt_mode_(context, {volumes_, nodes_, pods_, adoption_, output_, *orphan_volumes_}),
      comparison_(context, {state_, scheduler_, listings_, volumes_, provisioned_, releases_, lifecycle_, nodes_, pods_,
                            recovery_, adoption_, adopt_mode_, twins_, *orphan_volumes_}),
      takeover_(context, {listings_, nodes_, comparison_, adopt_mode_}),
      retirement_(context, {state_, volumes_, releases_, changes_, lifecycle_, nodes_, adopt_mode_, takeover_, twins_,
                            listings_, *orphan_volumes_}),
      statuses_(context, state_,
                [this](const std::string& node, const std::string& why) { nodes_.hold_statuses(node, why); }) {}

Status Placement::load(const RecordView& record) {
  switch (record.table) {
    case Table::queue: return load_position(context_.objects, record);
    case Table::row: {
      Result<Row> row = decode_row(record.value, record.phase);
      if (!row) return Status::error("stored row " + std::string(record.key) + ": " + row.error().message());
      if (row->uid != record.key) {
        return Status::error("stored row " + std::string(record.key) + ": is the row of pod " + std::string(row->uid));
      }
      recovery_.load(std::move(*row));
      return Status::ok();
    }
    case Table::release: {
      Result<ReleaseEntry> entry = decode_release_entry(record.value);
      if (!entry) {
        return Status::error("stored release entry " + std::string(record.key) + ": " + entry.error().message());
      }
      releases_.restore(std::move(*entry));
      return Status::ok();
    }
    case Table::meta: return volumes_.load(record);
    default: return Status::error("stored record " + std::string(record.key) + ": of an unknown table");
  }
}

Status Placement::take_report(const std::string& node, std::string_view what, const Json& payload, bool is_live) {
  twins_.end_routine(node);
  Status taken = nodes_.take_report(node, what, payload);
  if (!taken.is_success()) return taken;
  twins_.note_report(node, what, payload, is_live);
  if (what == "heartbeat" && is_live) nodes_.routine().begin(node, payload);
  return taken;
}

void Placement::take_answer(Answer answer) {
  if (!sender_.names().complete(answer)) {
    return context_.log.write(Level::debug, "answer dropped",
                              {{"node", answer.node}, {"why", "it goes by a name of another time"}});
  }
  if (answer.uid.empty() && !answer.epoch.is_zero()) answer.uid = state_.epochs.uid_of(answer.node, answer.epoch);
  twins_.end_routine(answer.node);
  twins_.note_answer(answer);
  nodes_.note_incarnation(answer);
  nodes_.note_position(answer);
  nodes_.apply_change(answer.node, context_.nodes.on_sign_of_life(answer.node, answer.incarnation));
  if (answer.type == AnswerType::renew) return nodes_.renewals().take(answer.node, answer.certificate_request);
  if (answer.type == AnswerType::superseded) return takeover_.take_superseded(answer);
  if (answer.type == AnswerType::kept) return output_.take(answer);
  if (answer.type == AnswerType::lacks) return lifecycle_.configs().take_lacks(answer);
  if (answer.type == AnswerType::volume_deleted) {
    if (provisioned_.take_answer(answer)) {
      listings_.note_deleted(answer.node, answer.volume);
      orphan_volumes_->note_deleted(answer.node, answer.volume);
    }
    return;
  }
  if (answer.type == AnswerType::slots) {
    takeover_.note_slots(answer);
    return comparison_.take_slots(answer);
  }
  // D5: asked again, and believed when it is known which device is there.
  const bool is_doubtful =
      answer.type == AnswerType::hello && !twins_.is_over(answer.node, answer.to_incarnation, answer.incarnation);
  if (is_doubtful) return;
  if (lifecycle_.take_answer(answer) || releases_.take_answer(answer)) {
    const bool has_ended = answer.type == AnswerType::released;
    if (has_ended && orphan_volumes_->note_ended(answer.node, answer.epoch)) listings_.start(answer.node, Floor::leave);
    return;
  }
  context_.log.write(Level::debug, "answer dropped",
                     {{"node", answer.node}, {"answer", std::string(to_string(answer.type))}, {"pod", answer.uid}});
}

void Placement::on_synced() {
  adopt_mode_.start();
  for (const auto& [name, device] : context_.nodes.all()) nodes_to_ask_.push_back(name);
}

void Placement::ask_nodes(std::int64_t end_us) {
  for (; !nodes_to_ask_.empty() && context_.clock.now_us() < end_us; nodes_to_ask_.pop_front()) {
    const std::string& name = nodes_to_ask_.front();
    if (context_.nodes.find(name) == nullptr) continue;
    context_.publisher.mark(Kind::node, name);
    nodes_.ask_everything(name);
  }
}

bool Placement::schedule_pending() {
  if (!context_.options.hold.empty() || !context_.mirror.barrier().is_synced() || context_.identity->adopting) {
    return false;
  }
  ephemeral_claims_.make_missing();
  if (changes_.take_claims_bindable()) immediate_claims_.bind_all();
  const std::int64_t end_us = context_.clock.now_us() + kDecideUs;
  for (int attempt = 0; attempt < kMaxAttemptsPerTurn && (attempt == 0 || context_.clock.now_us() < end_us);
       ++attempt) {
    if (lifecycle_.is_window_full()) return false;
    while (scheduler_.prepare()) {
      if (context_.clock.now_us() >= end_us) return true;
    }
    Scheduler::Attempt attempted = scheduler_.schedule_one();
    if (!attempted.popped) return false;
    if (attempted.binding != nullptr) lifecycle_.start(std::move(attempted.binding));
    lifecycle_.deliver_permits();
  }
  return true;
}

void Placement::name_freed(const std::string& pod) {
  const PodEntry* entry = context_.objects.pods().find(pod);
  if (entry != nullptr) pods_.enqueue_if_free(std::string(entry->pod->uid()));
}

void Placement::local_volumes_freed(const std::string& node) {
  if (context_.nodes.find(node) != nullptr) nodes_.refresh_local_volumes(node);
}

void Placement::prebind_disproved(std::string_view uid, const std::string& reason) {
  lifecycle_.feed(uid, RowEvent::leave, reason);
}

bool Placement::claim_gone(const std::string& claim) {
  if (!lifecycle_.forget_claim(claim)) return false;
  volumes_.forget_claim(claim);
  return true;
}

}  // namespace berth
