#include "core/agent/agent.h"

#include <utility>

#include "core/agent/records.h"

namespace berth {

namespace {

constexpr Millis kRetryMs = 10'000;
constexpr std::uint64_t kRefusedStream = 0x5245465553414c;  // of random numbers

// FNV-1a, 64 bit (Fowler, Noll, Vo): makes machines differ that were cloned together with their seed.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

Answer volume_deleted(const NodeState& state, const std::string& volume, const ReplyTo& asked_by) {
  Answer answer(AnswerType::volume_deleted);
  answer.incarnation = state.incarnation;
  answer.gateway_id = asked_by.id;
  answer.volume = volume;
  answer.epoch = asked_by.epoch;
  return answer;
}

// What another state directory's agent started is not stopped, and nobody may know of it any more.
void tell_of_others(const DeviceIdentity& before, const AgentConfig& now, Runtime& runtime, Log& log) {
  if (before.fleet == now.fleet && before.node == now.node) return;
  const Result<std::vector<std::string>> others = runtime.list_others(before.fleet, before.node);
  if (!others) return;  // the sweep finds no more, and tells why
  for (const std::string& other : *others) {
    log.write(Level::error,
              "not stopped, since it was started from another state directory than this one, which may be a copy of "
              "it; stop it if no other agent has it",
              {{"what", other}});
  }
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
      own_statuses_(topics_.node_pod(config_.node, {}) + "/"),
      turn_(store, transport),
      volumes_({turn_, clock, timers, log, config_.volume_pools, config_.pool_directories},
               [this](const std::string& volume, const ReplyTo& asked_by) {
                 answers_.send(asked_by.gateway, volume_deleted(state(), volume, asked_by));
               }),
      slots_(store, clock, log, {to_resources(config_.capacity), config_.volumes, config_.volume_pools}, volumes_),
      objects_(store, config_.volatile_store, clock, log,
               [this](const std::string& uid) {
                 const auto slot = state().slots.find(uid);
                 if (slot == state().slots.end()) return;
                 turn_.after_commit([this, tag = Tag{uid, slot->second.epoch}] { runtime_.objects_changed(tag); });
               }),
      promises_(clock, timers, [this](const Tag& tag) { end_promise(tag); }),
      sweep_(runtime, turn_, log),
      watch_(config_.marks, clock, timers, turn_),
      answers_(slots_.state(), watch_, topics_, config_, random_, turn_),
      reporter_(slots_.state(), watch_, config_, topics_, clock, timers, turn_),
      statuses_(slots_, reporter_, turn_),
      refused_(runtime, clock, timers, seed ^ kRefusedStream, [this] {
        reporter_.set_refusals(refused_.id());
        reporter_.publish_state(transport_.local_address());
      }) {
  reporter_.set_refusals(refused_.id());
  if (config_.images != nullptr) {
    reporter_.set_images(config_.images->images());
    config_.images->set_on_change([this] {
      if (reporter_.set_images(config_.images->images())) reporter_.publish_state(transport_.local_address());
    });
  }
  if (config_.certificates != nullptr) {
    renewal_.emplace(Renewal::Parts{*config_.certificates, slots_.state(), answers_, reporter_, transport_}, clock,
                     config_.time_floor, log, hash(config_.node) ^ hash(config_.machine_id));
  }
  transport_.set_handler(this);
  runtime_.set_handler(this);
  runtime_.set_objects(&objects_);
}

Agent::~Agent() {
  timers_.cancel(retry_);
  transport_.set_handler(nullptr);
  runtime_.set_handler(nullptr);
  runtime_.set_objects(nullptr);
}

Status Agent::start() {
  const Result<std::vector<Record>> records = turn_.store().load();
  if (!records) return records.error();
  Result<AgentRecords> read = decode_records(*records);
  if (!read) return read.error();
  lost_ = find_loss(*read);
  watch_.begin_run(read->runs, random_);
  // Of a store without an incarnation the boot's record tells why; discard() notes it in the incarnation's otherwise.
  const std::string lost = read->state.incarnation.empty() ? lost_ : std::string();
  turn_.store().put(Table::meta, std::string(kBootKey), encode_boot(config_.boot_id, watch_.runs(), lost));
  reporter_.begin_session(read->session);
  reporter_.set_lost_before(read->lost_before);
  if (!lost_.empty()) {
    discard(*records, *read);
    read->state = NodeState();
    read->volumes.clear();  // what lies in the pools may be newer than the copy: it stays
  } else if (read->identity != identity() && !read->state.incarnation.empty()) {
    save_incarnation(*read);
  }
  slots_.restore(std::move(read->state));
  lost_.empty() ? objects_.restore(read->configs) : objects_.discard();
  for (const auto& [uid, slot] : slots_.state().slots) objects_.add_pod(uid, slot.pod);
  volumes_.restore(std::move(read->volumes));
  Status listed = sweep_.start(slots_.state(), end_promises_of_another_boot(read->boot_id));
  if (!listed.is_success()) return listed;
  for (const std::string& uid : slots_.by_priority()) {
    if (!sweep_.holds_back(uid)) resume(uid);
  }
  started_ = true;
  if (!state().incarnation.empty()) watch_.mark(state().incarnation);
  if (sweep_.is_done()) swept();
  return turn_.finish();
}

Status Agent::finish_turn() {
  Status finished = turn_.finish();
  if (!finished.is_success() || !is_lost()) return finished;
  return Status::error("this store is an older copy of itself");
}

std::string Agent::find_loss(const AgentRecords& records) {
  const std::string& incarnation = records.state.incarnation;
  const bool is_behind = watch_.is_behind_mark(incarnation, records.runs);
  if (!records.lost.empty()) {
    log_.write(Level::warn, "this store counts as lost; stopping everything found",
               {{"why", records.lost}, {"incarnation", incarnation}});
    return records.lost;
  }
  const std::string why = records.identity ? difference(*records.identity, identity()) : std::string();
  if (!why.empty()) {
    log_.write(Level::error,
               "this store is another device's; stopping everything it started, then starting as a new one",
               {{"why", why}, {"incarnation", incarnation}});
    tell_of_others(*records.identity, config_, runtime_, log_);
    return std::string(kAnotherDevice);
  }
  if (!is_behind) return {};
  log_.write(Level::error,
             "this store is an older copy of itself; stopping everything it started, then starting as a new device",
             {{"incarnation", incarnation}});
  return std::string(kStoreRolledBack);
}

void Agent::discard(const std::vector<Record>& records, const AgentRecords& read) {
  for (const Record& record : records) {
    const bool is_kept = record.table == Table::meta && record.key != kGatewayKey && record.key != kFloorKey &&
                         !record.key.starts_with(kVolumeKeys);
    if (!is_kept) discarded_.emplace_back(record.table, record.key);
  }
  if (read.state.incarnation.empty()) return;
  // An agent that dies half way has come further, and could not tell any more.
  AgentRecords noted = read;
  noted.lost = lost_;
  turn_.store().put(Table::meta, std::string(kIncarnationKey), encode_incarnation(noted));
}

void Agent::save_incarnation(AgentRecords records) {
  records.identity = identity();
  turn_.store().put(Table::meta, std::string(kIncarnationKey), encode_incarnation(records));
  turn_.store().erase(Table::meta, std::string(kIdentityKey));
}

// N5: a reboot ends the promises. Undoes what their slots had prepared, and returns the tags.
std::set<Tag> Agent::end_promises_of_another_boot(const std::string& boot_id) {
  std::set<Tag> ended;
  if (boot_id == config_.boot_id) return ended;
  for (const auto& [uid, slot] : slots_.state().slots) {
    if (slot.state == SlotState::preparing || slot.state == SlotState::prepared) ended.insert({uid, slot.epoch});
  }
  for (const Tag& tag : ended) {
    log_.write(Level::info, "promise ended by a reboot",
               {{"pod", slots_.live(tag.uid).key}, {"epoch", to_text(tag.epoch)}});
    withdraw(tag, SlotEvent::undo);
  }
  return ended;
}

void Agent::swept() {
  if (state().incarnation.empty()) begin_incarnation();
  if (is_ready() && reporter_.is_link_up()) announce();
}

// Only once all is swept: an agent that exits in the middle of N0 must start it again.
void Agent::begin_incarnation() {
  AgentRecords fresh;
  fresh.state.incarnation = random_.hex_id();
  fresh.lost_before = lost_;
  if (!watch_.begin_incarnation(fresh.state.incarnation)) {
    retry_ = timers_.at(clock_.now() + kRetryMs, [this] { swept(); });
    return;
  }
  if (config_.output != nullptr) {
    for (const Tag& tag : config_.output->kept()) config_.output->drop(tag);
  }
  for (const auto& [table, key] : std::exchange(discarded_, {})) turn_.store().erase(table, key);
  turn_.store().put(Table::meta, std::string(kBootKey), encode_boot(config_.boot_id, watch_.runs()));
  save_incarnation(fresh);
  slots_.set_incarnation(fresh.state.incarnation);
  reporter_.set_lost_before(std::exchange(lost_, {}));
  watch_.mark(fresh.state.incarnation);
  log_.write(Level::info, "first boot of this store", {{"incarnation", fresh.state.incarnation}});
}

void Agent::resume(const std::string& uid) {
  Slot& slot = slots_.slot(uid);
  const Tag tag{uid, slot.epoch};
  switch (slot.state) {
    case SlotState::preparing:
      promises_.arm(tag, slot);
      turn_.after_commit([this, tag] { prepare(tag); });
      return;
    case SlotState::prepared: promises_.arm(tag, slot); return;
    case SlotState::running: turn_.after_commit([this, tag] { launch(tag, std::nullopt); }); return;
    case SlotState::stopping: turn_.after_commit([this, tag] { stop(tag); }); return;
    case SlotState::finished:
    case SlotState::none: return;
  }
}

void Agent::on_message(const Message& message) {
  if (message.topic.starts_with(own_statuses_)) return on_own_status(message);
  if (message.topic != topics_.node_requests(config_.node)) {
    log_.write(Level::warn, "message on an unexpected topic", {{"topic", message.topic}});
    return;
  }
  for (Result<Request>& request : decode_requests(message.payload)) on_request(std::move(request));
}

void Agent::on_request(Result<Request> request) {
  if (!request) {
    log_.write(Level::warn, "request dropped", {{"why", request.error().message()}});
    return;
  }
  if (!answers_.complete(*request)) {
    log_.write(Level::debug, "request dropped", {{"why", "what it is about goes by a name of another time"}});
    return;
  }
  // The device was enrolled for another gateway.
  if (!config_.gateway.empty() && request->gateway != config_.gateway) {
    log_.write(Level::warn, "requests of another gateway are dropped: this device is enrolled for one",
               {{"enrolledFor", config_.gateway}, {"from", request->gateway}, {"setting", "gateway"}});
    return;
  }
  if (!is_ready()) {
    log_.write(Level::debug, "request dropped", {{"why", "still stopping workloads without a slot"}});
    return;
  }
  carry_out(*request);
}

void Agent::on_link(bool up) {
  if (up && renewal_) renewal_->on_connected();
  if (reporter_.set_link(up) && up && is_ready()) announce();
}

void Agent::say_goodbye() {
  if (state().incarnation.empty()) return;
  watch_.mark(state().incarnation);
  reporter_.say_goodbye();
}

void Agent::set_pressures(std::vector<NodePressure> pressures) {
  if (reporter_.set_pressures(std::move(pressures)) && is_ready()) reporter_.publish_state(transport_.local_address());
}

// Publishes everything that is sent once per session. The gateway resends requests and compares slots when it sees the
// birth message, so the subscription comes first.
void Agent::announce() {
  answers_.begin_session();
  turn_.after_commit([this] {
    if (!transport_.is_up()) return;
    transport_.subscribe(topics_.node_requests(config_.node), 1);
    transport_.subscribe(own_statuses_ + "#", 0, {.no_local = true});
  });
  report();
  reporter_.publish_online();
  for (const std::string& key : reporter_.take_pending_clears()) statuses_.clear(key);
  reporter_.beat();
}

// A status that the broker retains though no slot explains it was left by an agent that died before it could clear it,
// or is older than this store.
void Agent::on_own_status(const Message& message) {
  const std::string key = message.topic.substr(own_statuses_.size());
  if (!message.retain || message.payload.empty() || slots_.find_uid(key) != nullptr) return;
  log_.write(Level::info, "clearing a status without a slot", {{"pod", key}});
  reporter_.clear_pod(key);
}

void Agent::report() {
  reporter_.publish_state(transport_.local_address());
  statuses_.publish_all();
}

}  // namespace berth
