#include "tests/bench/workload_site.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "core/api/timestamp.h"
#include "core/handshake/messages.h"
#include "core/json/members.h"
#include "plugins/registry.h"

namespace berth::bench {
namespace {

constexpr const char* kHeartbeatMs = "3600000";  // no run is as long
constexpr std::size_t kMessagesOfTurn = 100;     // about what one read of the broker's socket brings

double processor_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::string node_number(int number) { return "node-" + std::to_string(10'000 + number); }

Json node_state(const std::string& incarnation) {
  return Json::object()
      .set("incarnation", incarnation)
      .set("bootId", "b")
      .set("session", "1")
      .set("sequence", "1")
      .set("heartbeatMs", kHeartbeatMs)
      .set("labels", Json::object())
      .set("taints", Json::array())
      .set("volumes", Json::array())
      .set("allocatable", Json::object().set("cpu", "64").set("memory", "64Gi").set("pods", "2000"));
}

// As a device reports a pod without probes.
Json running_report(const Answer& bound, const Text& uid, Millis wall) {
  Json status = Json::object();
  status.set("uid", uid.get()).set("epoch", to_text(bound.epoch)).set("incarnation", bound.incarnation);
  status.set("slot", "running").set("phase", "Running").set("startTime", to_timestamp(wall));
  return status;
}

}  // namespace

std::int64_t SkippingClock::now_us() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
             .count() +
         skipped_ms * 1000;
}

WorkloadSite::WorkloadSite(const std::string& path, int nodes) : registry_(in_tree_registry()) {
  options_.profiles.push_back(default_profile());
  options_.seed = 1;
  auto opened = SqliteStore::open(path, log_);
  if (!opened) cannot_measure(opened.error().message);
  store_ = std::move(*opened);
  gateway_ = std::make_unique<Gateway>(options_, registry_, clock_, transport_, *store_, timers_, log_);
  require(gateway_->start(), "start");
  connect(nodes);
  start_phase();
}

void WorkloadSite::connect(int nodes) {
  turn();
  for (int i = 0; i < nodes; ++i) {
    const std::string node = node_number(i);
    receive(topics_.node_state(node), node_state(incarnation_of(node)).dump());
    receive(topics_.node_presence(node),
            Json::object().set("incarnation", incarnation_of(node)).set("session", "1").set("online", true).dump());
  }
  while (!arriving_.empty()) turn();
  transport_.up = true;
  gateway_->on_link(true);
  turn();
  for (const Message& message : std::exchange(transport_.sent, {})) {
    if (message.topic == topics_.gateway_fence("gateway")) arriving_.push_back(message);
  }
  do turn();
  while (answer_all() || !arriving_.empty());
}

void WorkloadSite::apply(Kind kind, const std::string& name, const std::string& manifest) {
  receive(topics_.desired(kind, "default/" + name), manifest);
}

void WorkloadSite::receive(std::string topic, std::string payload) {
  Message message;
  message.topic = std::move(topic);
  message.payload = std::move(payload);
  arriving_.push_back(std::move(message));
}

void WorkloadSite::turn() {
  const std::size_t count = std::min(arriving_.size(), kMessagesOfTurn);
  const double began = processor_s();
  timers_.run_due(clock_.now());
  for (std::size_t i = 0; i < count; ++i) gateway_->on_message(arriving_[i]);
  require(gateway_->finish_turn(), "turn");
  const double took = processor_s() - began;
  arriving_.erase(arriving_.begin(), arriving_.begin() + static_cast<std::ptrdiff_t>(count));
  cost_.cpu_s += took;
  cost_.longest_turn_ms = std::max(cost_.longest_turn_ms, took * 1000);
  ++cost_.turns;
}

bool WorkloadSite::answer_all() {
  bool is_asked = false;
  for (const Message& message : std::exchange(transport_.sent, {})) {
    const auto levels = topics_.split(message.topic);
    if (levels.size() != 3 || levels[0] != "nodes" || levels[2] != "requests") continue;
    is_asked = answer(std::string(levels[1]), message.payload) || is_asked;
  }
  return is_asked;
}

std::vector<SlotReport> WorkloadSite::slots_of(const std::string& node) const {
  std::vector<SlotReport> slots;
  for (const auto& [epoch, pod] : taken_) {
    if (pod.node != node) continue;
    const Json manifest = gateway_->objects().manifest(Kind::pod, std::string(pod.key));
    slots.push_back({.uid = std::string(pod.uid),
                     .epoch = epoch,
                     .state = pod.runs ? SlotState::running : SlotState::prepared,
                     .pod = manifest.dump()});
  }
  return slots;
}

bool WorkloadSite::answer(const std::string& node, const std::string& payload) {
  std::vector<Answer> answers = ready_answers(node, payload, vias_);
  for (Answer& each : answers) {
    if (each.type == AnswerType::slots) each.slots = slots_of(node);
  }
  for (const std::string& each : encode_all(answers)) receive(topics_.answers("gateway", node), each);
  for (const Answer& each : answers) {
    if (each.type == AnswerType::pre_bound) {
      if (const PodEntry* entry = gateway_->objects().pods().find_by_uid(each.uid))
        taken_.insert({each.epoch, {node, entry->key, entry->pod->uid(), false}});
    }
    const auto pod = taken_.find(each.epoch);
    if (pod == taken_.end()) continue;
    const std::string topic = topics_.node_pod(node, pod->second.key.get());
    if (each.type == AnswerType::bound) {
      receive(topic, running_report(each, pod->second.uid, clock_.wall()).dump());
      if (!std::exchange(pod->second.runs, true)) ++running_;
    } else if (each.type == AnswerType::released) {
      receive(topic, "");
      if (pod->second.runs) --running_;
      taken_.erase(pod);
    }
  }
  return !answers.empty();
}

void WorkloadSite::run_until(const std::function<bool()>& is_done, const char* what) {
  const Millis deadline = clock_.now() + kPatienceMs;
  for (turn(); !is_done(); turn()) {
    answer_all();
    if (clock_.now() > deadline) cannot_measure(what);
    // Nothing is under way: the next thing is that a time comes.
    if (arriving_.empty() && timers_.next()) {
      clock_.skipped_ms += std::max<Millis>(*timers_.next() - clock_.now(), 0);
    }
  }
}

void WorkloadSite::pass(Millis ms) {
  const Millis end = clock_.now() + ms;
  while (timers_.next() && *timers_.next() <= end) {
    clock_.skipped_ms += std::max<Millis>(*timers_.next() - clock_.now(), 0);
    answer_all();
    turn();
  }
  clock_.skipped_ms += std::max<Millis>(end - clock_.now(), 0);
}

void WorkloadSite::start_phase() {
  cost_ = {};
  disk_before_ = disk_use();
}

PhaseCost WorkloadSite::cost() const {
  PhaseCost cost = cost_;
  cost.disk = disk_use() - disk_before_;
  return cost;
}

std::int64_t WorkloadSite::count_of(Kind kind, const std::string& name, std::string_view field) const {
  const Workloads::Entry* entry = gateway_->objects().workloads().find(kind, "default/" + name);
  const Json* count = entry == nullptr ? nullptr : entry->status.find(field);
  return count == nullptr ? 0 : count->as_int();
}

}  // namespace berth::bench
