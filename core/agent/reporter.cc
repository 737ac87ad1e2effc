#include "core/agent/reporter.h"

#include <utility>

#include "core/agent/records.h"

namespace berth {

Reporter::Reporter(const NodeState& state, const RollbackWatch& watch, const AgentConfig& config, const Topics& topics,
                   const Clock& clock, Timers& timers, Turn& turn)
    : state_(state), watch_(watch), config_(config), topics_(topics), clock_(clock), timers_(timers), turn_(turn) {}

Reporter::~Reporter() { timers_.cancel(heartbeat_); }

void Reporter::begin_session(std::uint64_t last) {
  session_ = last + 1;
  turn_.store().put(Table::meta, std::string(kSessionKey), encode_text(std::to_string(session_)));
}

bool Reporter::set_link(bool up) {
  if (link_up_ == up) return false;
  link_up_ = up;
  if (!up) {
    timers_.cancel(heartbeat_);
    begin_session(session_);
  }
  return true;
}

bool Reporter::set_images(std::vector<ContainerImage> images) {
  if (notes_.images == images) return false;
  notes_.images = std::move(images);
  return true;
}

bool Reporter::set_pressures(std::vector<NodePressure> pressures) {
  return std::exchange(notes_.pressures, std::move(pressures)) != notes_.pressures;
}

void Reporter::publish_state(const std::string& address) {
  if (!link_up_) return;
  Message state;
  state.topic = topics_.node_state(config_.node);
  state.payload = node_state_payload(session(), ++state_sequence_, config_, notes_, address);
  state.retain = true;
  turn_.send(std::move(state));
}

void Reporter::publish_online() {
  Message birth;
  birth.topic = topics_.node_presence(config_.node);
  birth.payload = presence_payload(session(), true);
  birth.retain = true;
  turn_.send(std::move(birth));
}

void Reporter::beat() {
  Message message;
  message.topic = topics_.node_heartbeat(config_.node);
  message.payload = heartbeat_payload(session(), ++heartbeat_sequence_, asked_from_ != 0);
  message.qos = 0;
  turn_.send(std::move(message));
  timers_.cancel(heartbeat_);
  heartbeat_ = timers_.at(clock_.now() + config_.heartbeat_ms, [this] { beat(); });
}

void Reporter::note_gateway() { asked_from_ = heartbeat_sequence_ + 1; }

void Reporter::note_answered(std::uint64_t sequence) {
  if (sequence >= asked_from_ && sequence <= heartbeat_sequence_) asked_from_ = 0;
}

std::optional<Message> Reporter::pod_status(const std::string& key, const std::string& uid, const Slot& slot,
                                            const std::string& status) const {
  if (!link_up_ || key.empty()) return std::nullopt;
  Message message;
  message.topic = topics_.node_pod(config_.node, key);
  message.payload = pod_status_payload(session(), uid, slot, status);
  message.retain = true;
  return message;
}

void Reporter::clear_pod(const std::string& key) {
  if (!link_up_) {
    pending_clears_.insert(key);
    return;
  }
  Message message;
  message.topic = topics_.node_pod(config_.node, key);
  message.retain = true;
  turn_.send(std::move(message));
}

std::set<std::string> Reporter::take_pending_clears() { return std::exchange(pending_clears_, {}); }

Message Reporter::will() const {
  Message message;
  message.topic = topics_.node_presence(config_.node);
  message.payload = presence_payload(session(), false);
  message.retain = true;
  return message;
}

void Reporter::say_goodbye() {
  timers_.cancel(heartbeat_);
  turn_.send(will());
}

}  // namespace berth
