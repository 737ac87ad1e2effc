#include "tests/sim/process.h"

#include <iterator>
#include <utility>

#include "core/json/json.h"

namespace berth::sim {

namespace {
// Additional messages on a link with a small send window, for requests that are resent when lost.
constexpr std::size_t kOtherMessages = 16;
constexpr Millis kCutOffMs = 200;  // until one that is cut off tries again
// Independent random streams from one seed.
enum Stream : std::uint64_t { kWorld = 0x11, kNetworkFaults = 0x22, kBroker = 0x33 };
std::uint64_t mix(std::uint64_t seed, Stream stream) { return Random(seed * 1000003 + stream).next(); }
}  // namespace

SimEnvironment::SimEnvironment(std::uint64_t seed, Sabotage sabotage_in, bool print)
    : random(mix(seed, kWorld)),
      trace(print),
      sabotage(sabotage_in),
      network(mix(seed, kNetworkFaults), counts, sabotage_in),
      broker(clock, timers, mix(seed, kBroker)),
      persistent_sessions(random.chance(3, 4)),
      crash_per_mille(random.below(12)) {
  broker.set_policy([this](const Leg& leg, Random& dice) { return network.judge(leg, dice); });
}

void SimEnvironment::record(std::string_view sender, const Message& message) const {
  if (messages != nullptr) messages->take(sender, message);
}

void TraceLog::write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (event == "event") note_preempted(fields);
  if (event == "node passed over" || event == "node quarantined") ++world_.counts.faults[std::string(event)];
  if (event.starts_with("another gateway has served") && name_ == "gateway") world_.witness.gateway_follows();
  if (event == "node passed over") {
    world_.witness.note_passed_over(fields.begin()->value, fields.begin()[1].value, world_.clock.now());
  }
  if (!world_.trace.prints() || level == Level::debug) return;
  std::string line = "   (" + std::string(event);
  for (const Field& field : fields) line += ", " + std::string(field.key) + ": " + field.value;
  world_.trace.remark(world_.clock.now(), name_, line + ")");
}

// Taken from the log, not from messages: an event that repeats a pod's last one is only counted and not sent.
void TraceLog::note_preempted(std::initializer_list<Field> fields) {
  std::string pod, reason;
  for (const Field& field : fields) {
    if (field.key == "pod") pod = field.value;
    if (field.key == "reason") reason = field.value;
  }
  if (reason == "Preempted") world_.witness.gateway_preempted(pod);
}

Process::Run::Run(Process& process, std::string id)
    : client(process.world_.broker, std::move(id), process.world_.persistent_sessions),
      transport(client, point, process),
      store(process.flash_, point, process.world_.sabotage,
            process.name_ == "gateway" ? process.world_.mutant : Mutant::none,
            [&process](const RecordIds& touched) { process.read_flash(&touched); }) {
  const std::size_t window = process.name_ == "gateway" ? process.world_.gateway_send_window : 0;
  if (window > 0) client.set_send_window(window, window + kOtherMessages);
}

Process::Process(SimEnvironment& world, std::string name, const std::string& client_id)
    : world_(world),
      name_(std::move(name)),
      client_id_(client_id.empty() ? name_ : client_id),
      clock_(world.clock),
      log_(world, name_) {}

Process::~Process() = default;

void Process::boot() {
  if (run_ != nullptr) return;
  ++generation_;
  flash_.crash();
  if (world_.mutant != Mutant::none && !corrupted_) forget_at_start();
  run_ = std::make_unique<Run>(*this, client_id_);
  run_->client.set_on_turn([this] { turn_over(); });
  world_.note(name_, "boots");
  arm();
  const Status started = start_program(run_->store, run_->transport, run_->timers);
  if (run_->store.has_failed()) return crash("at a failed commit");
  if (!started.is_success() && std::exchange(corrupted_, false)) {
    kill("store corrupt");
    wipe_flash();
    return boot();
  }
  if (!started.is_success() && !run_->point.is_reached()) {
    return world_.misuse(name_ + " does not start: " + started.message());
  }
  if (!run_->point.is_reached()) run_->client.set_will(will());
  const std::uint64_t mine = generation_;
  end_turn();
  if (run_ != nullptr && generation_ == mine) connect_later(world_.network.is_storm() ? world_.pick(0, 2000) : 10);
}

// Decides whether and where this turn dies.
void Process::arm() {
  run_->point.disarm();
  if (refusing_) return run_->store.set_next_commit(CutStore::Commit::fails_lost);
  if (!world_.network.is_storm() || !world_.random.chance(world_.crash_per_mille, 1000)) return;
  if (world_.random.chance(1, 3)) {
    const bool kept = world_.random.chance(1, 2);
    run_->store.set_next_commit(kept ? CutStore::Commit::fails_kept : CutStore::Commit::fails_lost);
    return;
  }
  run_->point.arm(static_cast<int>(world_.random.below(5)));
}

void Process::kill(std::string_view why) {
  ++generation_;  // nor does it boot again by itself
  if (run_ == nullptr) return;
  world_.note(name_, "dies: " + std::string(why));
  ++world_.counts.crashes[(name_ == "gateway" ? "gateway " : "device ") + std::string(why)];
  world_.witness.forget_message();
  drop_program();
  run_.reset();
  flash_.crash();
  link_lost_ = false;
}

void Process::crash(std::string_view why) {
  if (run_ == nullptr) return;
  kill(why);
  const Millis away = world_.network.is_storm() ? world_.pick(10, world_.random.chance(1, 4) ? 20'000 : 2'000) : 100;
  world_.timers.at(world_.clock.now() + away, [this, mine = generation_] {
    if (mine == generation_) boot();
  });
}

void Process::wipe_flash() {
  flash_.wipe();
  read_flash();
}

void Process::copy_flash_of(const Process& other) {
  flash_ = other.flash_;
  flash_.crash();  // what is not committed yet
  flash_.set_full(false);
  read_flash();
}

void Process::corrupt() {
  kill("store corrupt");
  const Contents& durable = flash_.durable();
  if (!durable.empty()) {
    const auto record = std::next(durable.begin(), static_cast<std::ptrdiff_t>(world_.random.below(durable.size())));
    const std::pair<Table, std::string> id = record->first;
    const std::string half = record->second.value.substr(0, record->second.value.size() / 2);
    flash_.put(id.first, id.second, half);
    (void)flash_.commit();
    corrupted_ = true;
  }
  boot();
}

void Process::forge(const Message& message) {
  if (run_ != nullptr && run_->client.is_up()) run_->client.send(message);
}

void Process::lose_link(Millis away) {
  if (run_ == nullptr || !run_->client.is_up()) return;
  world_.note(name_, "loses its link");
  ++world_.counts.faults["link lost"];
  link_lost_ = true;
  away_ = away;
  run_->client.drop();
}

void Process::connect_later(Millis delay) {
  world_.timers.at(world_.clock.now() + delay, [this, mine = generation_] {
    if (mine != generation_ || run_ == nullptr || run_->client.is_up()) return;
    if (!may_connect()) return connect_later(kCutOffMs);
    run_->client.set_will(will());
    run_->client.connect();
  });
}

std::optional<Millis> Process::next_due() const {
  if (run_ == nullptr) return std::nullopt;
  const std::optional<Millis> local = run_->timers.next();
  if (!local) return std::nullopt;
  return clock_.to_world(*local);
}

void Process::run_due() {
  if (run_ == nullptr) return;
  if (run_->timers.run_due(clock_.now()) > 0) end_turn();
}

bool Process::on_send(Message& message) {
  // The broker may ignore an expiry, or have delivered the message before it takes effect.
  if (message.expiry_s > 0 && world_.chance(50)) message.expiry_s = 0;
  if (!on_send_watched(message)) return false;
  world_.record(name_, message);
  return true;
}

bool Process::on_arrival(Message& message) {
  if (world_.network.is_storm() && world_.random.chance(world_.crash_per_mille, 4000)) {
    run_->dies_before_message = true;
    return false;
  }
  // In a turn with several messages, effects cannot be attributed to one of them.
  before_message(message, !run_->deferred);
  return true;
}

void Process::on_link_change(bool up) {
  world_.note(name_, up ? "is connected" : "is disconnected");
  if (up) return;
  const Millis soon = contended_ ? world_.pick(300, 3000) : 50;
  connect_later(link_lost_ ? away_ : soon);
  link_lost_ = false;
}

void Process::turn_over() {
  if (run_ == nullptr) return;
  if (run_->dies_before_message) return crash("before a message");
  if (run_->deferred) return;
  if (world_.chance(15)) {
    run_->deferred = true;
    world_.witness.forget_message();
    world_.timers.at(world_.clock.now() + world_.pick(0, 30), [this, mine = generation_] {
      if (mine == generation_ && run_ != nullptr) end_turn();
    });
    return;
  }
  end_turn();
}

void Process::end_turn() {
  if (run_ == nullptr) return;
  run_->deferred = false;
  arm();
  const Status finished = finish_program();
  const bool cut = run_->point.is_reached();
  if (!cut && finished.is_success() && !run_->store.has_failed()) after_message();
  run_->point.disarm();
  if (cut) {
    crash("inside its turn");
  } else if (!finished.is_success() || run_->store.has_failed()) {
    crash("at a failed commit");
  }
  world_.check();
}

}  // namespace berth::sim
