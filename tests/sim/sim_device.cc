#include "tests/sim/sim_device.h"

#include <utility>

#include "core/check.h"
#include "tests/sim/hostile.h"

namespace berth::sim {

namespace {
constexpr std::size_t kAnswersKept = 64;
constexpr std::size_t kMaxDeviceCopies = 4;
constexpr std::uint64_t kFloodPercent = 90;
constexpr std::uint64_t kDataPutPercent = 15;
}  // namespace

SimDevice::SimDevice(SimEnvironment& world, AgentConfig config, std::string name)
    : Process(world, name.empty() ? config.node : std::move(name), config.node),
      config_(std::move(config)),
      pool_({[this](std::string_view what) {
               this->world().note(this->name(), what);
               ++this->world().counts.faults[std::string(what.substr(0, what.rfind(' ')))];
             },
             [this](const std::string& why) { this->world().misuse(this->name() + ": " + why); }}),
      runtime_(world.clock, world.timers, world.random.next(),
               {[this](std::string_view what) { this->world().note(this->name(), what); },
                [this](const std::string& uid) { this->world().witness.touch_workload(uid); }, [this] { end_turn(); },
                [this](const std::string& why) { this->world().misuse(this->name() + ": " + why); },
                [this](const std::string& uid) { this->world().on_ended(uid); },
                [this] { return this->world().witness.device(this->name())->older_copy.has_value(); },
                [this] { ++this->world().counts.faults["eviction"]; }}),
      images_(world.clock),
      marks_(world, Mutant::n8) {
  config_.marks = &marks_;
  config_.output = &output_;
  if (!config_.volume_pools.empty()) runtime_.set_pool(config_.volume_pools.front().root, pool_);
  runtime_.set_features(config_.features);
  world.witness.add_device(this->name(), config_.node, to_resources(config_.capacity), runtime_).features =
      config_.features;
}

std::map<std::string, MadeVolume> SimDevice::made_volumes() const {
  AgentRecords read;
  for (const auto& [id, content] : flash().durable()) {
    const bool is_one = id.first == Table::meta && id.second.starts_with(kVolumeKeys);
    if (is_one) CHECK(decode_record({id.first, id.second, content.value, 0}, read).is_success());
  }
  return read.volumes;
}

SimDevice::~SimDevice() { drop_program(); }

Status SimDevice::start_program(Store& store, Transport& transport, Timers& timers) {
  started_at_ = clock().now();
  time_floor_ = std::make_unique<TimeFloor>(kBuilt, time_, clock(), timers);
  floor_at_start_ = time_floor_->floor();
  config_.time_floor = time_floor_.get();
  config_.boot_id = "boot-" + name() + "-" + std::to_string(boots_);  // no two machines boot under one id
  cut_runtime_ = std::make_unique<CutRuntime>(runtime_, point(), world().mutant == Mutant::n0);
  puller_ = make_puller(timers);
  cut_pool_ = std::make_unique<CutPool>(pool_, point(), world().mutant);
  config_.pool_directories = cut_pool_.get();
  agent_ = std::make_unique<Agent>(config_, clock(), transport, store, *puller_, timers, log(), world().random.next());
  Copy copy{flash(), marks_.kept(), rolled_back_};
  Status started = agent_->start();
  if (!started.is_success()) return started;
  copies_.push_back(std::move(copy));
  if (copies_.size() > kMaxDeviceCopies) copies_.pop_front();
  return started;
}

std::unique_ptr<SimPuller> SimDevice::make_puller(Timers& timers) {
  SimPuller::Hooks hooks;
  hooks.note = [this](std::string_view what, const Tag& tag) {
    world().note(name(), "images: " + std::string(what) + " " + to_text(tag));
    ++world().counts.faults[std::string(what)];
  };
  hooks.fetches = [this](const Tag& tag) { check_fetch(tag); };
  return std::make_unique<SimPuller>(*cut_runtime_, images_, clock(), timers, world().mutant, std::move(hooks));
}

// N3: nothing is fetched for a pod before the commit of its Bind, nor after that of its Release.
void SimDevice::check_fetch(const Tag& tag) {
  const DeviceView& view = *world().witness.device(name());
  if (view.hostile || view.older_copy) return;
  const auto slot = view.durable.state.slots.find(tag.uid);
  const bool is_bound = slot != view.durable.state.slots.end() && slot->second.epoch == tag.epoch &&
                        slot->second.state == SlotState::running;
  if (!is_bound) world().misuse(name() + ": an image is fetched for " + to_text(tag) + ", which is not bound");
}

void SimDevice::forget_at_start() {
  forget_at_start_of_device(flash(), world().mutant, identity());
  read_flash();
}

Request SimDevice::misread_request(const Request& request) {
  const std::string incarnation = agent_->state().incarnation;
  if (const std::optional<Answer> rash = answer_rashly(request, incarnation, world().mutant)) {
    Message premature;
    premature.topic = Topics(kFleet).answers(kGateway, config_.node);
    premature.payload = encode(*rash);
    forge(premature);
  }
  if (world().mutant == Mutant::n9) time_floor_->raise(request.time);
  Request taken = misread(request, incarnation, world().mutant);
  if (!std::exchange(taken.via, {}).empty() && world().mutant == Mutant::n12) {
    taken.gateway_id = agent_->state().gateway;
    taken.incarnation = incarnation;
  }
  return taken;
}

void SimDevice::drop_program() {
  is_told_ = false;
  agent_.reset();
  time_floor_.reset();
  puller_.reset();
  cut_runtime_.reset();
  cut_pool_.reset();
  runtime_.agent_died();
}

void SimDevice::reboot() {
  kill("reboot");
  runtime_.reboot();
  pool_.lose_limits();
  ++boots_;
  clock().reboot(world().pick(0, 1'000'000'000));
  boot();
}

void SimDevice::switch_off() {
  kill("switched off");
  runtime_.reboot();
  ++boots_;
}

void SimDevice::retire() {
  switch_off();
  wipe_flash();
}

void SimDevice::wipe() {
  kill("wipe");
  wipe_flash();
  boot();
}

void SimDevice::roll_back(bool keep_mark) {
  if (copies_.empty()) return;
  has_lost_store_ = true;
  kill(keep_mark ? "store rolled back" : "store and mark rolled back");
  const Copy& copy = copies_[world().random.below(copies_.size())];
  flash() = copy.flash;
  const std::optional<AgentRecords> stored = stored_incarnation(flash().durable());
  if (!keep_mark) {
    runtime_.reboot();
    ++boots_;
    marks_.put_back(copy.mark);
    // With the mark that it was found with, the agent notices it only if it did so then.
    rolled_back_ = copy.rolled_back;
    if (stored && stored->lost.empty() && !rolled_back_)
      world().witness.device_rolled_back(name(), *stored, flash().next_position());
  } else if (stored && world().mutant != Mutant::n8) {
    rolled_back_ = stored->state.incarnation;
  }
  read_flash();
  boot();
}

void SimDevice::clone(const SimDevice& other) {
  kill("store cloned");
  copy_flash_of(other);
  // With the mark beside the store, N8 tells nothing.
  if (world().mutant == Mutant::n7) marks_.put_back(other.marks_.kept());
  boot();
}

bool SimDevice::on_send_watched(Message& message) {
  if (message.topic.find("/answers/") == std::string::npos) return true;
  bool made_up = false;
  for (const Result<Answer>& sent : world().decoded.answers(message.payload, name())) {
    CHECK(sent.has_value());
    const Answer answer = world().witness.with_uid(*sent);
    world().note(name(), "answers " + std::string(to_string(answer.type)) + " " + answer.uid + "@" +
                             berth::to_text(answer.epoch) + (answer.reason.empty() ? "" : ": " + answer.reason));
    world().witness.device_sent(answer);
    made_up = made_up || answer.uid.starts_with(kMadeUp);
  }
  // It says nothing of the slots that it has made up.
  if (made_up && world().network.is_storm()) return false;
  if (world().answers.size() < kAnswersKept) {
    world().answers.push_back(message.payload);
  } else {
    world().answers[world().random.below(kAnswersKept)] = message.payload;
  }
  return true;
}

void SimDevice::before_message(Message& message, bool alone) {
  repeated_.reset();
  if (message.topic != Topics(kFleet).node_requests(config_.node)) {
    world().witness.forget_message();
    if (world().mutant == Mutant::n6) message.payload.clear();
    return;
  }
  const std::vector<Result<Request>>& requests = world().decoded.requests(message.payload);
  if (requests.size() > 1) ++world().counts.faults["list of requests"];
  alone = alone && requests.size() == 1;
  if (!alone) world().witness.forget_message();
  std::vector<Request> misread;
  for (const Result<Request>& request : requests) {
    if (!request) return;
    const Request whole = world().witness.with_uid(*request);
    on_request(whole, alone);
    if (world().mutant != Mutant::none) misread.push_back(misread_request(whole));
  }
  if (world().mutant != Mutant::none) message.payload = encode_all(misread).front();
}

void SimDevice::on_request(const Request& request, bool alone) {
  if (request.type != RequestType::heartbeat) {
    world().note(name(), "hears " + std::string(to_string(request.type)) + " " + request.uid + "@" +
                             berth::to_text(request.epoch));
  }
  if (request.type == RequestType::list) {
    flood_listing(request);
    // While it sweeps it drops requests.
    const bool hears = agent_->is_ready();
    if (request.time > 0)
      ++world().counts.faults[request.time > kBuilt + kYearsAhead ? "wrong time told" : "time told"];
    if (hears && world().witness.device_told(name(), request, flash().next_position())) is_told_ = true;
  }
  if (request.type == RequestType::delete_volume && !request.path.empty()) pool_.order_removal(request.volume);
  if (request.type == RequestType::pre_bind) put_data(request);
  if (!alone) return;
  world().witness.before_device_message(name(), request, agent_->is_ready());
  if (world().sabotage == Sabotage::s6 && request.type == RequestType::release) repeated_ = request;
}

void SimDevice::put_data(const Request& pre_bind) {
  for (const BoundVolume& each : pre_bind.volumes) {
    if (!each.make || pool_.has(each.volume) || !world().chance(kDataPutPercent)) continue;
    pool_.put(each.volume);
    put_in_.insert(each.volume);
  }
}

void SimDevice::take_data_away() {
  const auto& volumes = world().witness.gateway().volumes;
  const std::map<std::string, MadeVolume> records = made_volumes();
  for (const std::string& volume : put_in_) {
    if (!volumes.contains(volume) && !records.contains(volume)) pool_.take_away(volume);
  }
}

void SimDevice::flood_listing(const Request& list) {
  if (!world().witness.device(name())->hostile || !world().chance(kFloodPercent)) return;
  ++world().counts.faults["flood of slots"];
  const std::string incarnation = floods_ == 0 ? agent_->state().incarnation : flood_incarnation(floods_);
  for (const Message& message : flood(world(), name(), list, incarnation, floods_)) forge(message);
  ++floods_;
}

void SimDevice::after_message() {
  if (std::exchange(is_told_, false)) world().witness.device_ignored_that(name());
  // Promises that expired while it was down end in its first turns.
  if (clock().now() - started_at_ > 1000) world().witness.device_turned(name(), clock().now(), boots_);
  check_time_floor();
  if (agent_->is_ready()) world().witness.check_holdings(name());
  if (repeated_) {
    flash().put(Table::high, "u-sabotage", encode(repeated_->epoch));
    (void)flash().commit();
    read_flash();
  }
  repeated_.reset();
  world().witness.after_device_message(name());
  sabotage_flash();
}

// N9: whatever a gateway said, in less than a day the floor rises by one step.
void SimDevice::check_time_floor() {
  const Millis floor = time_floor_->floor();
  if (floor < floor_at_start_ || floor > floor_at_start_ + TimeFloor::kStepMax) {
    world().witness.time_floor_leapt(name(), floor_at_start_, floor);
  }
}

// While the flash is another device's, or an older copy that is to be noticed, this one has no state: what it holds is
// no promise of this one.
void SimDevice::read_flash(const RecordIds* touched) {
  const std::optional<AgentRecords> stored = stored_incarnation(flash().durable());
  if (!stored || stored->state.incarnation != rolled_back_) rolled_back_.reset();
  if (stored && !stored->state.incarnation.empty()) {
    const std::string before = std::exchange(incarnation_, stored->state.incarnation);
    has_lost_store_ = has_lost_store_ || (!before.empty() && before != incarnation_);
  }
  const bool is_own = !stored || !stored->identity || *stored->identity == identity();
  const bool is_lost = (stored && !stored->lost.empty()) || rolled_back_;
  if (is_own && !is_lost) {
    world().witness.read_device(name(), flash().durable(), touched);
  } else {
    world().witness.read_device(name(), {}, nullptr);
  }
}

void SimDevice::sabotage_flash() {
  const Sabotage sabotage = world().sabotage;
  if (sabotage == Sabotage::ports || sabotage == Sabotage::devices) return double_a_slot();
  if (sabotage != Sabotage::s5 && sabotage != Sabotage::s8 && sabotage != Sabotage::final_) return;
  const Contents slots = only(flash().durable(), Table::slot);
  // In a new store the earlier slots belong to another incarnation.
  if (!flash().durable().contains({Table::meta, "incarnation"})) last_slots_.clear();
  if (sabotage == Sabotage::final_) {
    for (const auto& [uid, record] : last_slots_) {
      if (!slots.contains({Table::slot, uid})) flash().put(Table::slot, uid, record);
    }
  }
  for (const auto& [id, content] : slots) {
    const Slot& slot = world().witness.device(name())->durable.state.slots.at(id.second);
    if (slot.state != SlotState::running) continue;
    last_slots_[id.second] = content.value;
    if (sabotage == Sabotage::s5) flash().erase(Table::slot, id.second);
    if (sabotage != Sabotage::s8) continue;
    for (int copy = 0; copy < 20; ++copy)
      flash().put(Table::slot, id.second + "-" + std::to_string(copy), content.value);
  }
  (void)flash().commit();
  read_flash();
}

// Duplicates one slot that has the host port or extended resource.
void SimDevice::double_a_slot() {
  const DeviceView& view = *world().witness.device(name());
  for (const auto& [uid, demand] : view.demands) {
    const bool has_it = world().sabotage == Sabotage::ports ? !demand.second.host_ports.empty()
                                                            : demand.second.requests.scalar.contains(kCamera);
    const std::string twin = uid + "-twin";
    if (!has_it || view.demands.contains(twin) || !view.durable.state.slots.at(uid).is_charged()) continue;
    flash().put(Table::slot, twin, flash().durable().at({Table::slot, uid}).value);
    (void)flash().commit();
    return read_flash();
  }
}

}  // namespace berth::sim
