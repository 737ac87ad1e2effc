#include "tests/sim/sim_gateway.h"

#include <utility>

#include "core/check.h"
#include "core/handshake/gateway_presence.h"
#include "core/objects/reserved_labels.h"
#include "plugins/registry.h"
#include "tests/sim/hostile.h"
#include "tests/sim/sim_device.h"

namespace berth::sim {

const Registry& registry() {
  static const Registry kRegistry = in_tree_registry();
  return kRegistry;
}

namespace {

constexpr std::size_t kMaxCopies = 4;
constexpr Millis kTakeoverMs = 3'000;

// All timeouts are shorter than the longest network delay, except the five minutes after which the queue retries an
// unschedulable pod anyway: a lost wake-up must be detected.
GatewayOptions make_options(std::uint64_t seed, Mutant mutant) {
  GatewayOptions options;
  options.fleet = kFleet;
  options.gateway = kGateway;
  options.profiles.push_back(default_profile());
  options.queue.initial_backoff_ms = 500;
  options.queue.max_backoff_ms = 4000;
  options.promise_ms = 5000;
  options.pass_over_ms = 1000;
  options.pass_over_ms_max = 4000;
  options.refusal_ms = 1000;
  options.refusal_ms_max = 4000;
  // Honest devices stay below; those that lie do not.
  options.node_limits.cpu = Quantity(kMaxCpu);
  options.node_limits.slots = kMaxSlots;
  options.node_limits.incarnations_per_hour = options.node_limits.takeovers_per_hour = 40;
  if (mutant == Mutant::d3) {
    options.node_limits.cpu = Quantity(1'000'000);
    options.node_limits.slots = options.node_limits.incarnations_per_hour = 1'000'000;
  }
  // A device that lies is a twin of itself (D5) most of the time, and is offered nothing then.
  options.node_limits.twin_quiet_ms = mutant == Mutant::d1 ? 0 : 8000;
  // Otherwise D5 would stop most of what P3 lets pass.
  options.node_limits.twin_return_ms = mutant == Mutant::d5 || mutant == Mutant::p3 ? 0 : 6000;
  options.resend_ms = 500;
  options.resend_ms_max = 3000;
  options.seed = seed;
  options.identity_seed = seed + 1;
  return options;
}

// What follows `key` up to the next quote, without parsing, since statuses are the most frequent messages.
std::string find_text(const std::string& payload, std::string_view key) {
  const std::size_t at = payload.find(key);
  if (at == std::string::npos) return {};
  const std::size_t from = at + key.size();
  return payload.substr(from, payload.find('"', from) - from);
}

// What the file of a gateway's key does is not the simulator's.
class OpenSealer final : public Sealer {
 public:
  Result<std::string> seal(std::string_view, std::string_view bytes) override { return std::string(bytes); }
  Result<std::string> open(std::string_view, std::string_view sealed) override { return std::string(sealed); }
};
OpenSealer open_sealer;

}  // namespace

SimGateway::SimGateway(SimEnvironment& world, std::vector<std::string> nodes)
    : Process(world, "gateway"), nodes_(std::move(nodes)), known_nodes_(nodes_), marks_(world, Mutant::p11) {
  world.witness.set_gateway_clock(clock());
  make_key(key_);
}

void SimGateway::make_key(ProofKey& key) {
  for (std::uint8_t& byte : key) byte = static_cast<std::uint8_t>(world().random.below(256));
}

Status SimGateway::start_program(Store& store, Transport& transport, Timers& timers) {
  const Copy copy{flash(), marks_.kept(), key_};
  GatewayOptions options = make_options(world().random.next(), world().mutant);
  options.sealer = &open_sealer;
  set_wall_clock(Random(options.seed));
  if (!copy.flash.durable().empty()) note_installed();
  options.known_nodes = known_nodes_;
  options.enrolled_nodes = enrolled_nodes_;
  options.first_boot = world().mutant == Mutant::p15 ? FirstBoot::is_new : first_boot_;
  options.same_name = world().mutant == Mutant::p14_name ? SameName::ask : world().witness.names().same_name();
  options.marks = &marks_;
  options.proof_key = key_;
  LeadershipOptions leading{kFleet, kGateway, machine_code(key_), Random(options.seed).hex_id(), kTakeoverMs};
  leadership_ = std::make_unique<Leadership>(std::move(leading), clock(), timers, log(), transport);
  gateway_ = std::make_unique<Gateway>(std::move(options), registry(), clock(), *leadership_, store, timers, log());
  const Status started = gateway_->start();
  leadership_->set_gateway(*gateway_);
  world().witness.set_gateway(gateway_.get());
  if (started.is_success()) {
    copies_.push_back(copy);
    if (copies_.size() > kMaxCopies) copies_.pop_front();
    check_mark_noticed();
    check_queue_restored();
    set_memory_full(memory_full_);
    gateway_->save_writes(++starts_ % 2 == 0);  // in every other run its write budget is used up
  }
  return started;
}

// Half of its starts it is right, otherwise not set, or years ahead. By whole seconds, which nothing else depends on.
void SimGateway::set_wall_clock(Random random) {
  constexpr Millis kHundredYears = Millis{100 * 365 * 24} * 3600 * 1000;
  Millis wanted = kBuilt + kYearsAhead / 2;
  if (random.chance(1, 4)) {
    wanted = 0;
  } else if (random.chance(1, 3)) {
    wanted = kBuilt + kYearsAhead + static_cast<Millis>(random.below(kHundredYears));
  }
  clock().jump_wall((wanted - clock().wall()) / 1000 * 1000);
}

void SimGateway::check_mark_noticed() {
  const std::string older = std::exchange(older_store_, {});
  if (!older.empty() && gateway_->identity().id.store_id == older) world().witness.gateway_ignored_mark();
}

// Every queued pod has at least the number of attempts stored on flash.
void SimGateway::check_queue_restored() {
  for (const auto& [key, content] : flash().durable()) {
    const QueuedPod* queued = key.first == Table::queue ? gateway_->scheduler().queue().find(key.second) : nullptr;
    if (queued == nullptr) continue;
    const Result<Json> entry = Json::parse(content.value);
    const Json* attempts = entry ? entry->find("attempts") : nullptr;
    if (attempts == nullptr || queued->attempts < attempts->as_int()) {
      world().misuse("pod " + key.second + " is queued with " + std::to_string(queued->attempts) +
                     " attempts, but flash has " + content.value);
    }
    ++world().counts.restored;
  }
}

void SimGateway::set_memory_full(bool full) {
  memory_full_ = full;
  pods_known_.clear();
  if (gateway_ == nullptr) return;
  gateway_->refuse_new(full ? "memory is full: fault injection" : "");
  for (const auto& [key, entry] : gateway_->objects().pods().all()) pods_known_.insert(key);
}

void SimGateway::check_memory() {
  if (!memory_full_) return;
  std::set<std::string> pods;
  for (const auto& [key, entry] : gateway_->objects().pods().all()) {
    if (!pods_known_.contains(key)) world().misuse("pod " + key + " was accepted while memory is full");
    pods.insert(key);
  }
  pods_known_ = std::move(pods);
}

void SimGateway::drop_program() {
  world().witness.names().turn_lost();
  world().witness.set_gateway(nullptr);
  gateway_.reset();
  leadership_.reset();
}

void SimGateway::forget_at_start() {
  forget_at_start_of_gateway(flash(), world().mutant);
  read_flash();
}

Answer SimGateway::misread_answer(const Answer& answer) {
  if (answer.type == AnswerType::slots) return misread(answer, nullptr, key_, world().mutant);
  const auto row = world().witness.gateway().rows.find(answer.uid);
  const bool has_row = row != world().witness.gateway().rows.end();
  return misread(answer, has_row ? &row->second : nullptr, key_, world().mutant);
}

void SimGateway::wipe() {
  kill("wipe");
  wipe_flash();
  note_installed();
  world().witness.store_lost();
  if (world().random.chance(1, 2)) make_key(key_);  // the machine is another one
  boot();
}

void SimGateway::replace_machine(bool is_marked_new, bool has_list, Millis away) {
  kill("machine lost");
  wipe_flash();
  make_key(key_);
  other_ = {};
  marks_.put_back({});
  copies_.clear();
  const bool is_configured = has_list && world().random.chance(1, 2);
  known_nodes_ = is_configured ? nodes_ : std::vector<std::string>();
  enrolled_nodes_ = has_list && !is_configured ? nodes_ : std::vector<std::string>();
  first_boot_ = is_marked_new ? FirstBoot::is_new : FirstBoot::lost;
  world().witness.machine_lost(is_marked_new);
  world().timers.at(world().clock.now() + away, [this] { boot(); });
}

// From its first commit on the machine is no new one, and the devices that it serves have accounts there.
void SimGateway::note_installed() {
  first_boot_ = FirstBoot::lost;
  if (known_nodes_.empty()) enrolled_nodes_ = nodes_;
}

void SimGateway::roll_back() {
  if (copies_.empty()) return;
  kill("store rolled back");
  const Copy& copy = copies_[world().random.below(copies_.size())];
  flash() = copy.flash;
  flash().set_full(false);
  note_installed();
  world().witness.gateway_rolled_back(flash().durable());
  older_store_ = copy.mark == marks_.kept() ? std::string() : world().witness.gateway().copied_from;
  boot();
}

void SimGateway::put_back_card(Random& random) {
  kill("card put back");
  older_store_.clear();
  const Copy& copy = copies_[random.below(copies_.size())];
  flash() = copy.flash;
  flash().set_full(false);
  marks_.put_back(copy.mark);
  key_ = copy.key;
  note_installed();
  world().witness.gateway_put_back(flash().durable());
  boot();
}

void SimGateway::hand_over(Millis away) {
  kill("machine changed");
  if (other_.key == ProofKey{}) {
    make_key(other_.key);
    other_.first_boot = world().random.chance(1, 2) ? FirstBoot::is_new : FirstBoot::lost;
  }
  change_machine();
  world().witness.handed_over(flash().durable());
  world().timers.at(world().clock.now() + away, [this] { boot(); });
}

void SimGateway::change_machine() {
  older_store_.clear();
  const std::optional<StoreMark> mark = marks_.kept();
  marks_.put_back(std::exchange(other_.mark, mark));
  std::swap(key_, other_.key);
  std::swap(flash(), other_.flash);
  std::swap(copies_, other_.copies);
  std::swap(first_boot_, other_.first_boot);
  flash().set_full(false);
}

void SimGateway::copy_machine(Random& random) {
  if (other_.key != ProofKey{}) return;
  std::deque<Copy> copies = copies_;
  copies.resize(1 + random.below(copies.size()));  // of its own past
  const Copy copy = copies.back();
  other_ = {copy.flash, copy.mark, copy.key, std::move(copies), FirstBoot::lost};
}

void SimGateway::switch_to_copy(Millis away, bool has_leader) {
  kill("machine changed");
  change_machine();
  if (has_leader) {
    world().witness.handed_over(flash().durable(), true);
  } else {
    world().witness.gateway_put_back(flash().durable());
  }
  world().timers.at(world().clock.now() + away, [this] { boot(); });
}

bool SimGateway::leads() const {
  const auto retained = world().broker.retained_set().find(Topics(kFleet).leader());
  if (gateway_ == nullptr || retained == world().broker.retained_set().end()) return false;
  const Result<Leader> leader = decode_leader(retained->second.message.payload);
  const Identity& own = gateway_->identity();
  // Of a term that a copy of its store has had this one was not (P13).
  return leader && leader->id.store_id == own.id.store_id && leader->id.term >= own.terms.last() &&
         (leader->id.term == own.id.term || own.terms.contains(leader->id.term));
}

bool SimGateway::on_send_watched(Message& message) {
  if (message.topic.ends_with("/requests")) {
    const std::string prefix = Topics(kFleet).root() + "nodes/";
    const std::string node =
        message.topic.substr(prefix.size(), message.topic.find('/', prefix.size()) - prefix.size());
    for (const Result<Request>& request : world().decoded.requests(message.payload)) {
      CHECK(request.has_value());
      watch_request(node, world().witness.with_uid(*request));
    }
  } else if (message.topic.starts_with(Topics(kFleet).root() + "clients/")) {
    world().witness.gateway_answered_client(message.payload);
  } else if (message.topic.contains("/pods/") && message.topic.starts_with(Topics(kFleet).root() + "nodes/")) {
    ++world().counts.faults["status swept"];
    // D4 clears what the device of mutant N6 leaves, beside what lying devices leave.
    const bool is_junk = message.topic.contains(kJunk);
    return world().mutant != Mutant::d4 && (world().mutant != Mutant::n6 || is_junk);
  }
  return true;
}

void SimGateway::watch_request(const std::string& node, const Request& request) {
  if (request.type != RequestType::heartbeat) {
    world().note(name(), "asks " + node + " " + std::string(to_string(request.type)) + " " + request.uid + "@" +
                             berth::to_text(request.epoch) + " floor " + berth::to_text(request.floor));
  }
  world().witness.gateway_sent(node, request, world().clock.now());
  if (world().mutant == Mutant::p7 && request.type == RequestType::release) take_as_released(node, request);
  if (world().sabotage == Sabotage::s3 && request.type == RequestType::pre_bind) {
    Request forged = request;
    forged.type = RequestType::bind;
    world().witness.gateway_sent(node, forged, world().clock.now());
  }
}

void SimGateway::on_answers(Message& message, const std::string& sender, bool alone) {
  const std::vector<Result<Answer>>& answers = world().decoded.answers(message.payload, sender);
  if (answers.size() > 1) ++world().counts.faults["list of answers"];
  alone = alone && answers.size() == 1;
  if (!alone) world().witness.forget_message();
  std::vector<Answer> misread;
  for (const Result<Answer>& received : answers) {
    if (!received || received->incarnation.empty()) continue;
    const Result<Answer> answer = world().witness.with_uid(*received);
    world().note(name(), "hears " + std::string(to_string(answer->type)) + " " + answer->uid + "@" +
                             berth::to_text(answer->epoch) + " from " + sender);
    world().witness.gateway_received(*answer);
    if (answer->page > 0 && !world().witness.device(sender)->hostile) ++world().counts.faults["further page"];
    if (alone) world().witness.before_gateway_message(sender, *answer, {});
    misread.push_back(misread_answer(*answer));
    misread.back().via.clear();
    if (world().sabotage == Sabotage::s12) impersonate(message, *answer);
  }
  if (world().mutant != Mutant::none && !misread.empty()) message.payload = encode_all(misread).front();
}

// Mutant D7: what devices say that they can do is not heard.
void SimGateway::unsay_features(Message& message) {
  static constexpr std::string_view kMember = R"("features":)";
  const std::size_t at = message.payload.find(kMember);
  if (at != std::string::npos) message.payload.replace(at, kMember.size(), R"("unheard":)");
}

void SimGateway::before_message(Message& message, bool alone) {
  if (alone) world().witness.turn_ended();
  if (message.topic == Topics(kFleet).leader()) misread_leader(message);
  const std::vector<std::string_view> levels = Topics(kFleet).split(message.topic);
  if (levels.size() < 3) return;
  if (levels[0] == "gateways" && levels[2] == "answers" && levels.size() == 4) {
    on_answers(message, std::string(levels[3]), alone);
  } else if (levels[0] == "nodes" && levels[2] == "heartbeat") {
    world().witness.note_heard(std::string(levels[1]), find_text(message.payload, R"("incarnation":")"));
  } else if (levels[0] == "nodes" && levels[2] == "presence") {
    if (!message.retain && message.payload.contains(R"("online":true)")) {
      world().witness.note_heard(std::string(levels[1]), find_text(message.payload, R"("incarnation":")"));
    }
    world().witness.note_incarnation(std::string(levels[1]), find_text(message.payload, R"("incarnation":")"));
  } else if (levels[0] == "nodes" && levels[2] == "state") {
    if (world().mutant == Mutant::d7) unsay_features(message);
    world().witness.note_facts(std::string(levels[1]));
    world().witness.note_incarnation(std::string(levels[1]), find_text(message.payload, R"("incarnation":")"));
  } else if (levels[0] == "nodes" && levels[2] == "pods" && alone) {
    // The uid in a made-up status of a lying device does not matter.
    const std::string uid = find_text(message.payload, R"("uid":")");
    if (!uid.empty()) world().witness.before_gateway_message(std::string(levels[1]), std::nullopt, uid);
  } else if (levels[0] == "gateways" && levels[2] == "api") {
    const Result<Json> json = Json::parse(message.payload);
    const Json* object = json ? json->find("object") : nullptr;
    const Json* metadata = object == nullptr ? nullptr : object->find("metadata");
    const Json* pod = metadata == nullptr && json ? json->find("name") : metadata->find("name");
    if (pod != nullptr) world().witness.note_message_about_pod("default/" + pod->as_string());
    if (message.payload.contains("PersistentVolume")) world().witness.note_volumes();
  } else if (levels[0] == "desired") {
    if (levels[1].starts_with("persistentvolume")) world().witness.note_volumes();
    if (levels.size() == 4)
      world().witness.note_message_about_pod(std::string(levels[2]) + "/" + std::string(levels[3]));
    const std::size_t at = message.payload.find("\"uid\"");
    world().note(name(), "hears " + message.topic.substr(Topics(kFleet).root().size()) + " " +
                             (at == std::string::npos ? "" : message.payload.substr(at, 14)) +
                             (message.payload.find("\"deleted\":true") == std::string::npos ? "" : " deleted"));
  }
}

// Mutant P13f: nobody is known to have served. Mutant P13t: whoever led with this store was this gateway.
void SimGateway::misread_leader(Message& message) const {
  if (world().mutant == Mutant::p13_follow) return message.payload.clear();
  Result<Leader> leader = world().mutant == Mutant::p13_term ? decode_leader(message.payload) : Status::error("");
  if (!leader || leader->id.store_id != gateway_->identity().id.store_id) return;
  leader->id = gateway_->identity().id;
  message.payload = encode(*leader);
}

// Mutant P7: does not wait for the node's answer.
void SimGateway::take_as_released(const std::string& node, const Request& request) {
  Answer answer(AnswerType::released);
  answer.incarnation = request.incarnation;
  answer.gateway_id = request.gateway_id;
  answer.uid = request.uid;
  answer.epoch = request.epoch;
  Message message;
  message.topic = Topics(kFleet).answers(kGateway, node);
  message.payload = encode(answer);
  forge(message);
}

// Sabotage S12: takes the sender from the row instead of the topic.
void SimGateway::impersonate(Message& message, const Answer& answer) {
  const auto row = world().witness.gateway().rows.find(answer.uid);
  if (row != world().witness.gateway().rows.end()) message.topic = Topics(kFleet).answers(kGateway, row->second.node);
}

void SimGateway::after_message() {
  check_memory();
  world().witness.after_gateway_message();
  world().witness.note_believed_incarnations();
  world().witness.names().turn_ended();
  if (world().mutant == Mutant::p14_hold) free_names();
  if (world().mutant == Mutant::p15_word) const_cast<Identity&>(gateway_->identity()).is_new = false;
  if (world().mutant == Mutant::p16) const_cast<PastOrders&>(gateway_->mirror().past()).clear();
  if (world().mutant == Mutant::p17) forget_named_nodes();
  if (world().mutant == Mutant::d1) believe_hostnames();
  if (world().mutant == Mutant::d2) end_backoffs();
  if (world().mutant == Mutant::d6) forget_refusals();
  switch (world().sabotage) {
    case Sabotage::s7: {
      for (const auto& [id, content] : only(flash().durable(), Table::release))
        flash().erase(Table::release, id.second);
      (void)flash().commit();
      return read_flash();
    }
    case Sabotage::s9: {
      Resources amount;
      amount.milli_cpu = 1;
      return const_cast<Cache&>(gateway_->scheduler().cache()).charge("n0", "sabotage", amount);
    }
    case Sabotage::s10: return sabotage_queue();
    case Sabotage::volumes: return misbind_claim();
    default: return;
  }
}

// Mutant D1: nodes have the host names that their devices say.
void SimGateway::believe_hostnames() {
  auto& cache = const_cast<Cache&>(gateway_->scheduler().cache());
  for (const auto& [name, device] : gateway_->nodes().all()) {
    const Json facts = device.facts.json();
    const Json* labels = facts.find("labels");
    const Json* said = labels == nullptr ? nullptr : labels->find(kHostnameLabel);
    const NodeInfo* info = cache.find(name);
    if (said == nullptr || !said->is_string() || info == nullptr || info->node == nullptr) continue;
    auto node = std::make_shared<Node>(*info->node);
    std::string& host = node->metadata.labels.edit()[std::string(kHostnameLabel)];
    if (host == said->as_string()) continue;
    host = said->as_string();
    cache.set_node(std::move(node));
  }
}

// Mutant P14h: workloads that were found hold no names.
void SimGateway::free_names() {
  for (auto& [key, release] : const_cast<Releases&>(gateway_->releases())) release.entry.holds_name = false;
}

// Mutant P17: a pod that has to wait goes anywhere.
void SimGateway::forget_named_nodes() {
  for (const auto& [key, entry] : gateway_->objects().pods().all()) {
    if (!entry.pod->node_name.empty()) const_cast<Pod&>(*entry.pod).node_name = {};
  }
}

// Mutant D2: whom the gateway passes over, it asks again at once.
void SimGateway::end_backoffs() {
  auto& nodes = const_cast<Nodes&>(gateway_->nodes());
  for (const auto& [name, device] : gateway_->nodes().all()) {
    if (!nodes.set_hold(name, Hold::passed_over, "") || device.node == nullptr) continue;
    auto node = std::make_shared<Node>(*device.node);
    std::erase_if(node->taints.edit(),
                  [](const Taint& taint) { return taint.key == describe(Hold::passed_over).taint; });
    const_cast<Cache&>(gateway_->scheduler().cache()).set_node(std::move(node));
  }
}

// Mutant D6: what a device has refused, it is asked again at once.
void SimGateway::forget_refusals() {
  Refusals& refusals = const_cast<Scheduler&>(gateway_->scheduler()).refusals();
  for (const auto& [name, device] : gateway_->nodes().all()) refusals.forget(name);
}

void SimGateway::misbind_claim() {
  const GatewayView& view = world().witness.gateway();
  for (const auto& [key, claim] : view.claims) {
    if (claim.phase != "Bound" || view.volumes.size() < 2) continue;
    const std::string record = "persistentvolumeclaims/" + key;
    Json manifest = *Json::parse(flash().durable().at({Table::object, record}).value);
    const std::string& first = view.volumes.begin()->first;
    const std::string& other = first == claim.bound_to ? view.volumes.rbegin()->first : first;
    manifest.find("spec")->set("volumeName", other);
    flash().put(Table::object, record, manifest.dump());
    (void)flash().commit();
    return read_flash();
  }
}

void SimGateway::sabotage_queue() {
  for (const auto& [key, entry] : gateway_->objects().pods().all()) {
    const Queue::Where where = gateway_->scheduler().queue().where(entry.pod->uid());
    if (where == Queue::Where::none || where == Queue::Where::in_flight) continue;
    return const_cast<Queue&>(gateway_->scheduler().queue()).remove(entry.pod->uid());
  }
}

}  // namespace berth::sim
