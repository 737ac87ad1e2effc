#include <algorithm>
#include <utility>

#include "core/agent/agent.h"
#include "core/agent/records.h"
#include "core/check.h"
#include "core/json/json.h"

namespace berth {

namespace {

constexpr std::size_t kMaxPhaseBytes = 32;

// Of a status that is too large: how the pod ended must not be lost with the rest.
std::string phase_alone(const Json& status) {
  Json json = Json::object();
  const std::string phase = status.string_at("phase");
  json.set("phase", phase.size() > kMaxPhaseBytes ? "Unknown" : phase);
  json.set("message", "the runtime's status was larger than 16 KiB; only its phase was taken");
  return json.dump();
}

bool asks_to_make(const std::vector<BoundVolume>& volumes) {
  return std::any_of(volumes.begin(), volumes.end(), [](const BoundVolume& each) { return each.make.has_value(); });
}

std::string failed_status(const std::string& why) {
  Json json = Json::object();
  json.set("phase", "Failed");
  json.set("reason", "StartError");
  json.set("message", why);
  return json.dump();
}

}  // namespace

// Asked of a copy of the state, as it would be decided: only what would be admitted now asks for anything. Whom the
// device obeys, and the floor, follow from the request as from a List.
bool Agent::waits_for_configs(const Request& pre_bind) {
  if (pre_bind.type != RequestType::pre_bind || pre_bind.configs.empty()) return false;
  if (slots_.judge(pre_bind).event != SlotEvent::admit) return false;
  Lacking lacking = objects_.lacking(pre_bind.pod, pre_bind.configs);
  if (lacking.wishes.empty()) return lacking.waits;
  Request first = pre_bind;
  first.type = RequestType::configs;
  first.uid.clear();
  if (slots_.carry_out(first).adopt) reporter_.note_gateway();
  send_lacks(pre_bind, std::move(lacking.wishes));
  return true;
}

void Agent::send_lacks(const Request& request, std::vector<ConfigWish> wishes) {
  Answer answer(AnswerType::lacks);
  answer.incarnation = state().incarnation;
  answer.gateway_id = request.gateway_id;
  answer.uid = request.uid;
  answer.epoch = request.epoch;
  answer.position = request.position;
  answer.wishes = std::move(wishes);
  answers_.send(request.gateway, std::move(answer));
}

void Agent::carry_out(const Request& request) {
  if (waits_for_configs(request)) return;
  const auto slot = state().slots.find(request.uid);
  const Tag older{request.uid, slot == state().slots.end() ? Epoch{} : slot->second.epoch};
  NodeDecision decision = slots_.carry_out(request);
  if (decision.adopt) reporter_.note_gateway();
  if (decision.lasts) decision.answer->refusals = refused_.id();
  if (decision.undo) {
    turn_.after_commit([this, older] { runtime_.undo(older); });
    promises_.end(request.uid);
    statuses_.clear(slots_.forget(request.uid));
    if (!decision.event) objects_.remove_pod(request.uid);
  }
  const ReplyTo reply_to{request.gateway, request.gateway_id, request.epoch, request.via};
  if (decision.event) carry_out_event(request, decision);
  if (decision.answer_when_stopped) {
    std::vector<ReplyTo>& releases = slots_.live(request.uid).releases;
    std::erase_if(releases, [&](const ReplyTo& known) { return known.epoch == request.epoch; });
    releases.push_back(reply_to);
  }
  if (decision.answer) {
    answers_.send(request.gateway, *decision.answer);
    const bool is_released = decision.answer->type == AnswerType::released && !request.keep_output;
    if (is_released && config_.output != nullptr) {
      turn_.after_commit([this, tag = Tag{request.uid, request.epoch}] { config_.output->drop(tag); });
    }
  } else if (request.type == RequestType::list) {
    if (is_told_of_lost_time(request)) return;
    answers_.send_kept(request);
    if (config_.time_floor != nullptr && request.time > 0) config_.time_floor->note_told(request.time);
    if (request.page == 0) volumes_.disown_filled(state());
    answers_.send_page(request, volumes_.unused(state()), volumes_.kept(state()));
    if (request.report) report();
    note_protocol(request);
    if (renewal_) renewal_->on_list(request);
  } else if (request.type == RequestType::heartbeat) {
    reporter_.note_answered(request.sequence);
  } else if (request.type == RequestType::certificate) {
    if (renewal_) renewal_->on_certificate(request);
  } else if (request.type == RequestType::configs) {
    Lacking lacking = objects_.take_offer(request.configs, {request.gateway_id.term, request.position});
    // No wishes would say that all of it is here; unanswered, the offer comes again.
    if (!lacking.wishes.empty() || !lacking.waits) send_lacks(request, std::move(lacking.wishes));
  } else if (request.type == RequestType::config) {
    objects_.take_part(request.config, {request.gateway_id.term, request.position});
  } else if (request.type == RequestType::delete_volume) {
    volumes_.remove(request, state());
  } else if (const Slot* preparing = slots_.find({request.uid, request.epoch}, SlotState::preparing);
             preparing != nullptr && request.type == RequestType::pre_bind) {
    slots_.live(request.uid).pre_bind = reply_to;  // the latest request is answered once prepared
  }
}

// N8: no mark showed it, but the gateway has heard of a time that this store does not know.
bool Agent::is_told_of_lost_time(const Request& list) {
  if (list.seen.is_zero() || list.seen_incarnation != state().incarnation || !watch_.is_behind(list.seen)) return false;
  log_.write(Level::error, "this store is an older copy of itself, says the gateway; stopping everything it started",
             {{"heard", to_text(list.seen)}, {"at", to_text(watch_.at())}, {"incarnation", state().incarnation}});
  lost_ = kStoreRolledBack;
  AgentRecords noted;
  noted.state.incarnation = state().incarnation;
  noted.identity = identity();
  noted.lost = lost_;
  turn_.store().put(Table::meta, std::string(kIncarnationKey), encode_incarnation(noted));
  return true;
}

// Whether this device is served is the gateway's decision, and stands in the node's status. It is logged here too,
// where the operator of a device looks.
void Agent::note_protocol(const Request& list) {
  if (list.protocol == std::exchange(gateway_protocol_, list.protocol) || serves(list.protocol, kProtocol)) return;
  const std::string side = list.protocol.major > kProtocol.major ? "this agent" : "the gateway";
  log_.write(Level::error, "the gateway does not support this agent's protocol and places nothing here",
             {{"gateway", list.gateway},
              {"speaks", to_text(list.protocol)},
              {"this agent speaks", to_text(kProtocol)},
              {"upgrade", side}});
}

void Agent::carry_out_event(const Request& request, const NodeDecision& decision) {
  const Tag tag{request.uid, slots_.slot(request.uid).epoch};
  switch (*decision.event) {
    case SlotEvent::admit:
      slots_.begin(tag.uid);
      objects_.add_pod(tag.uid, request.pod);
      objects_.note_admitted(tag.uid, request.configs);
      promises_.arm(tag, slots_.slot(tag.uid));
      // What it prepares carries its tag, so a start sweeps it if the commit is lost. But the record of a volume comes
      // before its directory (N11), and what an older slot had is removed first.
      if (decision.undo || asks_to_make(request.volumes)) {
        turn_.after_commit([this, tag] { prepare(tag); });
      } else {
        turn_.before_commit([this, tag] { prepare(tag); });
      }
      break;
    case SlotEvent::bind:
      promises_.end(tag.uid);
      turn_.before_commit(
          [this, tag, reply_to = ReplyTo{request.gateway, request.gateway_id, request.epoch, request.via}] {
            launch(tag, reply_to);
          });
      return;  // Bound says it; the first status is the runtime's, which comes at once
    case SlotEvent::release: turn_.after_commit([this, tag] { stop(tag); }); break;
    default: CHECK(false);
  }
  statuses_.publish(tag.uid);
}

void Agent::withdraw(const Tag& tag, SlotEvent event) {
  promises_.end(tag.uid);
  statuses_.clear(slots_.drop(tag.uid, event));
  objects_.remove_pod(tag.uid);
  turn_.after_commit([this, tag] { runtime_.undo(tag); });
}

// Effects check the slot again before they act: it may have changed later in the same turn.
void Agent::prepare(const Tag& tag) {
  const Slot* slot = slots_.find(tag, SlotState::preparing);
  if (slot == nullptr) return;
  // Copies, since the runtime may answer before prepare() returns, which may remove the slot.
  const std::string pod = slot->pod;
  const std::vector<BoundVolume> volumes = slot->volumes;
  const Status made = volumes_.make(volumes);
  if (!made.is_success()) return on_prepared(tag, made);
  runtime_.prepare(tag, pod, volumes);
}

void Agent::on_prepared(const Tag& tag, Status status) {
  Slot* slot = slots_.find(tag, SlotState::preparing);
  if (slot == nullptr) return;
  const std::optional<ReplyTo> reply_to = slots_.live(tag.uid).pre_bind;
  if (status.is_success()) {
    slot->state = apply(slot->state, SlotEvent::prepared);
    slots_.save(tag.uid);
    if (reply_to) answers_.send(*reply_to, AnswerType::pre_bound, tag.uid, {});
    statuses_.publish(tag.uid);
    return;
  }
  // The id that it was refused under, even if there is another one at once.
  const std::string refusals = refused_.id();
  const bool lasts = refused_.add(tag.uid, slot->pod, slot->volumes);
  withdraw(tag, SlotEvent::failed);
  if (!reply_to) return;
  answers_.send(*reply_to, AnswerType::rejected, tag.uid, "cannot prepare: " + status.message(),
                lasts ? refusals : std::string());
}

// The slot is running, durably with this turn's commit. So is the handle of the held child, before go(); Bound is sent
// after both. A child whose slot was not made durable stays held: the next Bind takes it over, the end of the promise
// removes it.
void Agent::launch(const Tag& tag, std::optional<ReplyTo> reply_to) {
  const Slot* slot = slots_.find(tag, SlotState::running);
  if (slot == nullptr) return;
  const std::string pod = slot->pod;
  const std::vector<BoundVolume> volumes = slot->volumes;
  const Result<std::string> handle = runtime_.start(tag, pod, volumes);
  if (Slot* running = slots_.find(tag, SlotState::running); running != nullptr) {
    if (!handle) {
      on_status(tag, failed_status(handle.error().message()), true);
    } else {
      if (running->handle != *handle) {
        running->handle = *handle;
        slots_.save(tag.uid);
      }
      turn_.after_commit([this, tag] {
        if (slots_.find(tag, SlotState::running) != nullptr) runtime_.go(tag);
      });
    }
  }
  if (reply_to) answers_.send(*reply_to, AnswerType::bound, tag.uid, {});
}

void Agent::on_status(const Tag& tag, const std::string& status, bool finished) {
  Slot* running = slots_.find(tag, SlotState::running);
  if (running == nullptr && slots_.find(tag, SlotState::stopping) == nullptr) return;
  const Result<Json> json = Json::parse(status, Json::Limits{kMaxRuntimeStatusBytes, 32});
  if (json && json->is_object()) {
    slots_.live(tag.uid).status = status.size() > kMaxStatusBytes ? phase_alone(*json) : status;
  } else {
    log_.write(Level::error, "invalid status from the runtime, expected a JSON object", {{"uid", tag.uid}});
  }
  if (running != nullptr && finished) {
    running->state = apply(running->state, SlotEvent::exited);
    running->status = slots_.live(tag.uid).status;
    slots_.save(tag.uid);
  }
  statuses_.publish(tag.uid);
}

void Agent::stop(const Tag& tag) {
  const Slot* stopping = slots_.find(tag, SlotState::stopping);
  if (stopping == nullptr) return;
  if (stopping->keep_output && config_.output != nullptr) config_.output->keep(tag);
  runtime_.stop(tag, slots_.live(tag.uid).grace_ms);
}

void Agent::on_stopped(const Tag& tag) {
  if (sweep_.stopped(tag)) {
    if (sweep_.may_resume(tag.uid)) resume(tag.uid);
    if (sweep_.is_done()) swept();
    return;
  }
  if (slots_.find(tag, SlotState::stopping) == nullptr) return;
  const std::vector<ReplyTo> releases = std::move(slots_.live(tag.uid).releases);
  statuses_.clear(slots_.drop(tag.uid, SlotEvent::stopped));
  objects_.remove_pod(tag.uid);
  for (const ReplyTo& reply_to : releases) answers_.send(reply_to, AnswerType::released, tag.uid, {});
}

// N5
void Agent::end_promise(const Tag& tag) {
  const bool promised =
      slots_.find(tag, SlotState::preparing) != nullptr || slots_.find(tag, SlotState::prepared) != nullptr;
  if (!promised) return;
  log_.write(Level::info, "promise expired", {{"pod", slots_.live(tag.uid).key}, {"epoch", to_text(tag.epoch)}});
  withdraw(tag, SlotEvent::undo);
}

}  // namespace berth
