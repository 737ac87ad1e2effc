#include "core/agent/agent.h"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

// FNV-1a, 64 bit (Fowler, Noll, Vo): tells machines apart that were cloned together with their seed.
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

// N5: at every reboot. What the slots had prepared is undone; their tags are returned.
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

// N0 and the sweep of every start are one thing: before the first boot is over no slot names anything.
void Agent::sweep(const std::set<Tag>& ended) {
  for (const Tag& tag : runtime_.list()) {
    if (ended.contains(tag)) continue;  // undone already
    const auto slot = state_.slots.find(tag.uid);
    if (slot != state_.slots.end() && slot->second.epoch == tag.epoch) continue;
    log_.write(Level::warn, "stopping what no slot names", {{"uid", tag.uid}, {"epoch", to_text(tag.epoch)}});
    sweeping_.insert(tag);
    turn_.after_commit([this, tag] { runtime_.stop(tag, kDefaultGraceMs); });
  }
}

void Agent::swept() {
  if (state_.incarnation.empty()) {
    // Only now: an agent that ends in the middle of N0 must begin it anew.
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
    log_.write(Level::warn, "message on a topic that is not mine", {{"topic", message.topic}});
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
    log_.write(Level::warn, "request dropped", {{"why", "gateway: " + request->gateway + " is not mine"}});
    return;
  }
  if (!is_ready()) {
    log_.write(Level::debug, "request dropped", {{"why", "still sweeping"}});
    return;
  }
  carry_out(*request);
}

void Agent::on_link(bool up) {
  if (link_up_ == up) return;
  link_up_ = up;
  if (!up) {
    timers_.cancel(heartbeat_);
    // The next session's number must be known before its will is given, so it is taken now.
    ++session_;
    save_session();
    return;
  }
  if (is_ready()) announce();
}

void Agent::save_session() {
  turn_.store().put(Table::meta, std::string(kSessionKey), encode_text(std::to_string(session_)));
}

// Everything that is said once per session. The gateway resends and compares when it sees the birth, so the
// subscription comes first.
void Agent::announce() {
  turn_.after_commit([this] {
    if (transport_.is_up()) transport_.subscribe(topics_.node_requests(config_.node), 1);
  });
  report();
  Message birth;
  birth.topic = topics_.node_presence(config_.node);
  birth.payload = presence_payload(speaker(), true);
  birth.retain = true;
  turn_.send(std::move(birth));
  for (const std::string& key : std::exchange(unsaid_, {})) publish_clear(key);
  beat();
}

void Agent::report() {
  Message facts;
  facts.topic = topics_.node_state(config_.node);
  facts.payload = node_state_payload(speaker(), ++state_sequence_, config_);
  facts.retain = true;
  turn_.send(std::move(facts));
  for (const auto& [uid, slot] : state_.slots) publish_pod(uid);
}

void Agent::beat() {
  Message message;
  message.topic = topics_.node_heartbeat(config_.node);
  message.payload = heartbeat_payload(speaker(), ++heartbeat_sequence_);
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
  message.payload = pod_status_payload(speaker(), uid, state_.slots.at(uid), live.status);
  message.retain = true;
  turn_.send(std::move(message));
}

void Agent::publish_clear(const std::string& key) {
  if (key.empty()) return;
  // A pod of the same name but another uid may be here already: then its status stands in that place.
  const auto heir =
      std::find_if(live_.begin(), live_.end(), [&](const auto& entry) { return entry.second.key == key; });
  if (heir != live_.end()) return publish_pod(heir->first);
  if (!link_up_) {
    unsaid_.insert(key);
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
  message.payload = presence_payload(speaker(), false);
  message.retain = true;
  return message;
}

void Agent::say_goodbye() {
  timers_.cancel(heartbeat_);
  turn_.send(will());
}

}  // namespace berth
