#include <algorithm>
#include <utility>

#include "core/agent/agent.h"
#include "core/api/decode.h"
#include "core/api/defaults.h"
#include "core/api/host_ports.h"
#include "core/api/names.h"
#include "core/check.h"

namespace berth {

namespace {

std::string failed_status(const std::string& why) {
  Json json = Json::object();
  json.set("phase", "Failed");
  json.set("reason", "StartError");
  json.set("message", why);
  return json.dump();
}

}  // namespace

Agent::Live Agent::live_of(const Pod& pod, const std::vector<BoundVolume>& volumes) {
  Live live;
  live.key = pod.metadata.key();
  live.demand = {pod_requests(pod), host_ports(pod), volumes};
  live.grace_ms = std::max<Millis>(0, pod.termination_grace_period_seconds) * 1000;
  return live;
}

// The manifest of a stored slot. If this version cannot read it, the workload can still be stopped.
Agent::Live Agent::read_manifest(const std::string& pod, const std::vector<BoundVolume>& volumes) {
  const Result<Json> json = Json::parse(pod);
  const Result<Pod> decoded = json ? decode_accepted_pod(*json) : Result<Pod>(json.error());
  if (decoded) return live_of(*decoded, volumes);
  log_.write(Level::error, "stored manifest cannot be read", {{"why", decoded.error().message()}});
  Live live;
  live.demand.volumes = volumes;
  return live;
}

Status Agent::admit_request(const Request& request) {
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
  for (const auto& [uid, slot] : state_.slots) {
    if (uid != request.uid && slot.is_charged()) held.push_back(&live_.at(uid).demand);
  }
  return admit(admitted_->demand, offer_, held);
}

void Agent::carry_out(const Request& request) {
  admitted_.reset();
  const NodeDecision decision =
      decide(state_, request, [this](const Request& pre_bind) { return admit_request(pre_bind); });
  const auto slot = state_.slots.find(request.uid);
  const Tag older{request.uid, slot == state_.slots.end() ? Epoch{} : slot->second.epoch};
  const std::vector<std::string> dropped = apply(state_, request, decision);
  if (decision.event == SlotEvent::admit) {
    Slot& admitted = state_.slots.at(request.uid);
    admitted.deadline = clock_.now() + admitted.promise_ms;
  }
  save(request, decision, dropped);

  if (decision.undo) {
    undo_after_commit(older);
    forget_live(request.uid);
  }
  const ReplyTo reply_to{request.gateway, request.gateway_id, request.epoch};
  if (decision.event) carry_out_event(request, *decision.event);
  if (decision.answer_when_stopped) {
    std::vector<ReplyTo>& releases = live_.at(request.uid).releases;
    std::erase_if(releases, [&](const ReplyTo& known) { return known.epoch == request.epoch; });
    releases.push_back(reply_to);
  }
  if (decision.answer) {
    send_answer(request.gateway, *decision.answer);
  } else if (request.type == RequestType::list) {
    send_answer(request.gateway, listing_.page(state_, request));
    if (request.report) report();
  } else if (const Slot* preparing = find_slot({request.uid, request.epoch}, SlotState::preparing);
             preparing != nullptr && request.type == RequestType::pre_bind) {
    live_.at(request.uid).pre_bind = reply_to;  // the latest request is answered once prepared
  }
}

// Stages what the decision makes durable, in one commit with the rest of the turn.
void Agent::save(const Request& request, const NodeDecision& decision, const std::vector<std::string>& dropped) {
  Store& store = turn_.store();
  if (decision.adopt) {
    store.put(Table::meta, std::string(kGatewayKey), encode(state_.gateway));
    log_.write(Level::info, "gateway adopted",
               {{"term", std::to_string(state_.gateway.term)}, {"store", state_.gateway.store_id}});
  }
  if (decision.floor) store.put(Table::meta, std::string(kFloorKey), encode(state_.floor));
  if (decision.high && state_.high.contains(request.uid)) {
    store.put(Table::high, request.uid, encode(*decision.high));
  }
  for (const std::string& uid : dropped) store.erase(Table::high, uid);
  if (state_.slots.contains(request.uid)) {
    if (decision.event) save_slot(request.uid);
  } else if (decision.undo) {
    store.erase(Table::slot, request.uid);
  }
}

void Agent::carry_out_event(const Request& request, SlotEvent event) {
  const Tag tag{request.uid, state_.slots.at(request.uid).epoch};
  switch (event) {
    case SlotEvent::admit:
      CHECK(admitted_.has_value());
      live_[tag.uid] = std::move(*admitted_);
      arm_promise(tag.uid);
      turn_.after_commit([this, tag] { prepare(tag); });
      break;
    case SlotEvent::bind:
      timers_.cancel(live_.at(tag.uid).promise);
      turn_.after_commit([this, tag, reply_to = ReplyTo{request.gateway, request.gateway_id, request.epoch}] {
        launch(tag, reply_to);
      });
      break;
    case SlotEvent::release: turn_.after_commit([this, tag] { stop(tag); }); break;
    default: CHECK(false);
  }
  publish_pod(tag.uid);
}

void Agent::save_slot(const std::string& uid) { turn_.store().put(Table::slot, uid, encode(state_.slots.at(uid))); }

void Agent::drop_slot(const std::string& uid, SlotEvent event) {
  CHECK(apply(state_.slots.at(uid).state, event) == SlotState::none);
  if (clear_slot(state_, uid)) turn_.store().erase(Table::high, uid);
  turn_.store().erase(Table::slot, uid);
  forget_live(uid);
}

void Agent::forget_live(const std::string& uid) {
  const auto live = live_.find(uid);
  if (live == live_.end()) return;
  timers_.cancel(live->second.promise);
  const std::string key = live->second.key;
  live_.erase(live);
  publish_clear(key);
}

void Agent::undo_after_commit(const Tag& tag) {
  turn_.after_commit([this, tag] { runtime_.undo(tag); });
}

Slot* Agent::find_slot(const Tag& tag, SlotState state) {
  const auto slot = state_.slots.find(tag.uid);
  const bool found = slot != state_.slots.end() && slot->second.epoch == tag.epoch && slot->second.state == state;
  return found ? &slot->second : nullptr;
}

// Effects check the slot again before they act: it may have changed later in the same turn.
void Agent::prepare(const Tag& tag) {
  const Slot* slot = find_slot(tag, SlotState::preparing);
  if (slot == nullptr) return;
  // Copies, since the runtime may answer before prepare() returns, which may remove the slot.
  const std::string pod = slot->pod;
  const std::vector<BoundVolume> volumes = slot->volumes;
  runtime_.prepare(tag, pod, volumes);
}

void Agent::on_prepared(const Tag& tag, Status status) {
  Slot* slot = find_slot(tag, SlotState::preparing);
  if (slot == nullptr) return;
  const std::optional<ReplyTo> reply_to = live_.at(tag.uid).pre_bind;
  if (status.is_success()) {
    slot->state = apply(slot->state, SlotEvent::prepared);
    save_slot(tag.uid);
    if (reply_to) answer(*reply_to, AnswerType::pre_bound, tag.uid, {});
    publish_pod(tag.uid);
    return;
  }
  drop_slot(tag.uid, SlotEvent::failed);
  undo_after_commit(tag);
  if (reply_to) answer(*reply_to, AnswerType::rejected, tag.uid, "cannot prepare: " + status.message());
}

// The slot is durably running. The handle of the stopped child is made durable before go(); Bound is sent after both.
void Agent::launch(const Tag& tag, std::optional<ReplyTo> reply_to) {
  const Slot* slot = find_slot(tag, SlotState::running);
  if (slot == nullptr) return;
  const std::string pod = slot->pod;
  const std::vector<BoundVolume> volumes = slot->volumes;
  const Result<std::string> handle = runtime_.start(tag, pod, volumes);
  if (Slot* running = find_slot(tag, SlotState::running); running != nullptr) {
    if (!handle) {
      on_status(tag, failed_status(handle.error().message()), true);
    } else {
      if (running->handle != *handle) {
        running->handle = *handle;
        save_slot(tag.uid);
      }
      turn_.after_commit([this, tag] {
        if (find_slot(tag, SlotState::running) != nullptr) runtime_.go(tag);
      });
    }
  }
  if (reply_to) answer(*reply_to, AnswerType::bound, tag.uid, {});
}

void Agent::on_status(const Tag& tag, const std::string& status, bool finished) {
  Slot* running = find_slot(tag, SlotState::running);
  if (running == nullptr && find_slot(tag, SlotState::stopping) == nullptr) return;
  const Result<Json> json = Json::parse(status, Json::Limits{kMaxStatusBytes, 32});
  if (json && json->is_object()) {
    live_.at(tag.uid).status = status;
  } else {
    log_.write(Level::error, "invalid status from the runtime, expected a JSON object of at most 16 KiB",
               {{"uid", tag.uid}});
  }
  if (running != nullptr && finished) {
    running->state = apply(running->state, SlotEvent::exited);
    running->status = live_.at(tag.uid).status;
    save_slot(tag.uid);
  }
  publish_pod(tag.uid);
}

void Agent::stop(const Tag& tag) {
  if (find_slot(tag, SlotState::stopping) == nullptr) return;
  runtime_.stop(tag, live_.at(tag.uid).grace_ms);
}

void Agent::on_stopped(const Tag& tag) {
  if (sweeping_.erase(tag) > 0) {
    const bool more =
        std::any_of(sweeping_.begin(), sweeping_.end(), [&](const Tag& other) { return other.uid == tag.uid; });
    if (!more && waiting_to_resume_.erase(tag.uid) > 0) resume(tag.uid);
    if (is_ready()) swept();
    return;
  }
  if (find_slot(tag, SlotState::stopping) == nullptr) return;
  const std::vector<ReplyTo> releases = std::move(live_.at(tag.uid).releases);
  drop_slot(tag.uid, SlotEvent::stopped);
  for (const ReplyTo& reply_to : releases) answer(reply_to, AnswerType::released, tag.uid, {});
}

// N5. The deadline is on the boot clock, so a restart of the agent does not extend it; should that clock have gone
// back, the remaining time is still bounded by the promise itself.
void Agent::arm_promise(const std::string& uid) {
  Slot& slot = state_.slots.at(uid);
  const Tag tag{uid, slot.epoch};
  slot.deadline = std::min(slot.deadline, clock_.now() + slot.promise_ms);
  live_.at(uid).promise = timers_.at(slot.deadline, [this, tag] { end_promise(tag); });
}

void Agent::end_promise(const Tag& tag) {
  const bool promised =
      find_slot(tag, SlotState::preparing) != nullptr || find_slot(tag, SlotState::prepared) != nullptr;
  if (!promised) return;
  log_.write(Level::info, "promise expired", {{"pod", live_.at(tag.uid).key}, {"epoch", to_text(tag.epoch)}});
  drop_slot(tag.uid, SlotEvent::undo);
  undo_after_commit(tag);
}

void Agent::answer(const ReplyTo& to, AnswerType type, const std::string& uid, const std::string& reason) {
  Answer answer(type);
  answer.incarnation = state_.incarnation;
  answer.gateway_id = to.id;
  answer.uid = uid;
  answer.epoch = to.epoch;
  answer.reason = reason;
  send_answer(to.gateway, answer);
}

void Agent::send_answer(const std::string& gateway, const Answer& answer) {
  Message message;
  message.topic = topics_.answers(gateway, config_.node);
  Answer sent = answer;
  // Two gateway stores may have given the same epoch to different pods; then the uid is needed.
  const bool is_shared = std::any_of(state_.slots.begin(), state_.slots.end(), [&answer](const auto& slot) {
    return slot.second.epoch == answer.epoch && slot.first != answer.uid;
  });
  sent.epoch_alone = !is_shared && (answer.type == AnswerType::pre_bound || answer.type == AnswerType::bound);
  answers_.send(std::move(message), std::move(sent));
}

}  // namespace berth
