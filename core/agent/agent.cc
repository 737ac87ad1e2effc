#include "core/agent/agent.h"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

// FNV-1a, 64 bit (Fowler, Noll, Vo): makes machines differ that were cloned together with their seed.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

}  // namespace

Agent::Agent(AgentConfig config, const Clock& clock, Transport& transport, Store& store, Runtime& runtime,
             Timers& timers, Log& log, std::uint64_t seed)
    : config_(std::move(config)),
      clock_(clock),
      transport_(transport),
      runtime_(runtime),
      timers_(timers),
      log_(log),
      random_(seed ^ hash(config_.machine_id)),
      topics_(config_.fleet),
      offer_{to_resources(config_.capacity), config_.volumes},
      turn_(store, transport),
      answers_(turn_, [](const std::vector<Answer>& answers) { return encode_all(answers); }) {
  transport_.set_handler(this);
  runtime_.set_handler(this);
}

Agent::~Agent() {
  timers_.cancel(heartbeat_);
  for (auto& [uid, live] : live_) timers_.cancel(live.promise);
  transport_.set_handler(nullptr);
  runtime_.set_handler(nullptr);
}

Status Agent::start() {
  const Result<std::vector<Record>> records = turn_.store().load();
  if (!records) return records.error();
  Result<AgentRecords> read = decode_records(*records);
  if (!read) return read.error();
  state_ = std::move(read->state);
  session_ = read->session + 1;
  save_session();
  for (const auto& [uid, slot] : state_.slots) {
    live_[uid] = read_manifest(slot.pod, slot.volumes);
    live_[uid].status = slot.status;
  }
  sweep(end_promises_of_another_boot(read->boot_id));
  for (const auto& [uid, slot] : state_.slots) {
    const bool shared = std::any_of(sweeping_.begin(), sweeping_.end(), [&](const Tag& tag) { return tag.uid == uid; });
    if (shared) {
      waiting_to_resume_.insert(uid);
    } else {
      resume(uid);
    }
  }
  started_ = true;
  if (sweeping_.empty()) swept();
  return turn_.finish();
}

// N5: a reboot ends the promises. Undoes what their slots had prepared, and returns the tags.
std::set<Tag> Agent::end_promises_of_another_boot(const std::string& boot_id) {
  std::set<Tag> ended;
  if (boot_id == config_.boot_id) return ended;
  turn_.store().put(Table::meta, std::string(kBootKey), encode_text(config_.boot_id));
  for (const auto& [uid, slot] : state_.slots) {
    if (slot.state == SlotState::preparing || slot.state == SlotState::prepared) ended.insert({uid, slot.epoch});
  }
  for (const Tag& tag : ended) {
    log_.write(Level::info, "promise ended by a reboot", {{"pod", live_[tag.uid].key}, {"epoch", to_text(tag.epoch)}});
    drop_slot(tag.uid, SlotEvent::undo);
    undo_after_commit(tag);
  }
  return ended;
}

// Also implements N0: at the first boot no slots exist yet, so the sweep stops everything.
void Agent::sweep(const std::set<Tag>& ended) {
  for (const Tag& tag : runtime_.list()) {
    if (ended.contains(tag)) continue;  // already being undone
    const auto slot = state_.slots.find(tag.uid);
    if (slot != state_.slots.end() && slot->second.epoch == tag.epoch) continue;
    log_.write(Level::warn, "stopping a workload without a slot", {{"uid", tag.uid}, {"epoch", to_text(tag.epoch)}});
    sweeping_.insert(tag);
    turn_.after_commit([this, tag] { runtime_.stop(tag, kDefaultGraceMs); });
  }
}

void Agent::swept() {
  if (state_.incarnation.empty()) {
    // Only now: an agent that exits in the middle of N0 must start it again.
    state_.incarnation = random_.hex_id();
    turn_.store().put(Table::meta, std::string(kIncarnationKey), encode_text(state_.incarnation));
    log_.write(Level::info, "first boot of this store", {{"incarnation", state_.incarnation}});
  }
  if (link_up_) announce();
}

void Agent::resume(const std::string& uid) {
  const Slot& slot = state_.slots.at(uid);
  const Tag tag{uid, slot.epoch};
  switch (slot.state) {
    case SlotState::preparing:
      arm_promise(uid);
      turn_.after_commit([this, tag] { prepare(tag); });
      return;
    case SlotState::prepared: arm_promise(uid); return;
    case SlotState::running: turn_.after_commit([this, tag] { launch(tag, std::nullopt); }); return;
    case SlotState::stopping: turn_.after_commit([this, tag] { stop(tag); }); return;
    case SlotState::finished:
    case SlotState::none: return;
  }
}

void Agent::on_message(const Message& message) {
  if (message.topic != topics_.node_requests(config_.node)) {
    log_.write(Level::warn, "message on an unexpected topic", {{"topic", message.topic}});
    return;
  }
  for (const Result<Request>& request : decode_requests(message.payload)) on_request(request);
}

void Agent::on_request(const Result<Request>& request) {
  if (!request) {
    log_.write(Level::warn, "request dropped", {{"why", request.error().message()}});
    return;
  }
  if (!config_.gateway.empty() && request->gateway != config_.gateway) {
    log_.write(Level::warn, "request dropped",
               {{"why", "gateway: expected " + config_.gateway + ", got " + request->gateway}});
    return;
  }
  if (!is_ready()) {
    log_.write(Level::debug, "request dropped", {{"why", "still stopping workloads without a slot"}});
    return;
  }
  carry_out(*request);
}

void Agent::on_link(bool up) {
  if (link_up_ == up) return;
  link_up_ = up;
  if (!up) {
    timers_.cancel(heartbeat_);
    // The will is set before the next connection, so the session number must be allocated now.
    ++session_;
    save_session();
    return;
  }
  if (is_ready()) announce();
}

void Agent::save_session() {
  turn_.store().put(Table::meta, std::string(kSessionKey), encode_text(std::to_string(session_)));
}

// Publishes everything that is sent once per session. The gateway resends requests and compares slots when it sees the
// birth message, so the subscription comes first.
void Agent::announce() {
  turn_.after_commit([this] {
    if (transport_.is_up()) transport_.subscribe(topics_.node_requests(config_.node), 1);
  });
  report();
  Message birth;
  birth.topic = topics_.node_presence(config_.node);
  birth.payload = presence_payload(session(), true);
  birth.retain = true;
  turn_.send(std::move(birth));
  for (const std::string& key : std::exchange(pending_clears_, {})) publish_clear(key);
  beat();
}

void Agent::report() {
  Message state;
  state.topic = topics_.node_state(config_.node);
  state.payload = node_state_payload(session(), ++state_sequence_, config_);
  state.retain = true;
  turn_.send(std::move(state));
  for (const auto& [uid, slot] : state_.slots) publish_pod(uid);
}

void Agent::beat() {
  Message message;
  message.topic = topics_.node_heartbeat(config_.node);
  message.payload = heartbeat_payload(session(), ++heartbeat_sequence_);
  message.qos = 0;
  turn_.send(std::move(message));
  timers_.cancel(heartbeat_);
  heartbeat_ = timers_.at(clock_.now() + config_.heartbeat_ms, [this] { beat(); });
}

void Agent::publish_pod(const std::string& uid) {
  const Live& live = live_.at(uid);
  if (!link_up_ || live.key.empty()) return;
  Message message;
  message.topic = topics_.node_pod(config_.node, live.key);
  message.payload = pod_status_payload(session(), uid, state_.slots.at(uid), live.status);
  message.retain = true;
  turn_.send(std::move(message));
}

void Agent::publish_clear(const std::string& key) {
  if (key.empty()) return;
  // A pod with the same name but another uid may have a slot already: then publish its status instead.
  const auto successor =
      std::find_if(live_.begin(), live_.end(), [&](const auto& entry) { return entry.second.key == key; });
  if (successor != live_.end()) return publish_pod(successor->first);
  if (!link_up_) {
    pending_clears_.insert(key);
    return;
  }
  Message message;
  message.topic = topics_.node_pod(config_.node, key);
  message.retain = true;
  turn_.send(std::move(message));
}

Message Agent::will() const {
  Message message;
  message.topic = topics_.node_presence(config_.node);
  message.payload = presence_payload(session(), false);
  message.retain = true;
  return message;
}

void Agent::say_goodbye() {
  timers_.cancel(heartbeat_);
  turn_.send(will());
}

}  // namespace berth
