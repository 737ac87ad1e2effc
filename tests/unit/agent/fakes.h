// In-memory fakes of an agent's environment: a manual clock, a transport that records messages, and a runtime that
// records calls and answers when the test tells it to. The store is the real MemoryStore.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/agent.h"
#include "core/agent/records.h"
#include "storage/memory_store.h"
#include "tests/one_message.h"

namespace berth {

class ManualClock final : public Clock {
 public:
  Millis now() const override { return now_ms; }
  Millis wall() const override { return 0; }
  Millis now_ms = 1000;
};

class RecordingTransport final : public Transport {
 public:
  void set_handler(Handler* handler) override { handler_ = handler; }
  bool is_up() const override { return up; }
  std::string local_address() const override { return "10.0.0.7"; }
  void send(const Message& message) override {
    packets.push_back(message);
    for (Message& each : taken_apart(message)) {
      if (on_send) on_send(each);
      sent.push_back(std::move(each));
    }
  }
  void subscribe(const std::string& filter, int qos, SubscribeOptions = {}) override {
    subscriptions.push_back(filter + " " + std::to_string(qos));
  }
  void set_link(bool now_up) {
    up = now_up;
    if (!up) subscriptions.clear();
    handler_->on_link(up);
  }
  bool up = false;
  std::vector<Message> sent;     // items of lists separately
  std::vector<Message> packets;  // as sent
  std::vector<std::string> subscriptions;
  std::function<void(const Message&)> on_send;

 private:
  Handler* handler_ = nullptr;
};

// Survives restarts of the agent, as the device does. `calls` records the calls in order: "prepare u1/1.5".
class FakeRuntime final : public Runtime {
 public:
  void set_handler(Handler* handler) override { handler_ = handler; }
  Result<std::vector<Tag>> list() override {
    if (!list_error.empty()) return Status::error(list_error);
    return std::vector<Tag>(tags.begin(), tags.end());
  }
  Result<std::vector<std::string>> list_others(const std::string& fleet, const std::string& node) override {
    return others[fleet + "/" + node];
  }
  void prepare(const Tag& tag, const std::string&, const std::vector<BoundVolume>&) override {
    call("prepare", tag);
    tags.insert(tag);
    if (prepares_at_once) handler_->on_prepared(tag, *prepares_at_once);
  }
  Status check(const std::string& pod, const std::vector<BoundVolume>&) override {
    const auto refused = refuses.find(pod);
    return refused == refuses.end() ? Status::pending("only prepare() can tell") : refused->second;
  }
  void undo(const Tag& tag) override {
    call("undo", tag);
    tags.erase(tag);
  }
  Result<std::string> start(const Tag& tag, const std::string&, const std::vector<BoundVolume>&) override {
    call("start", tag);
    if (!start_error.empty()) return Status::error(start_error);
    tags.insert(tag);
    if (start_handle) return *start_handle;
    return handles.emplace(tag, "100:" + std::to_string(handles.size())).first->second;
  }
  void go(const Tag& tag) override { call("go", tag); }
  void set_objects(const PodObjects* of_pods) override { objects = of_pods; }
  void objects_changed(const Tag& tag) override { call("changed", tag); }
  void stop(const Tag& tag, Millis grace) override { call("stop", tag, " " + std::to_string(grace)); }

  void finish_prepare(const Tag& tag, Status status = Status::ok()) { handler_->on_prepared(tag, std::move(status)); }
  void finish_stop(const Tag& tag) {
    tags.erase(tag);
    handles.erase(tag);
    handler_->on_stopped(tag);
  }
  void observe(const Tag& tag, const std::string& status, bool finished) { handler_->on_status(tag, status, finished); }
  void reboot() { handles.clear(); }

  const PodObjects* objects = nullptr;
  std::vector<std::string> calls;
  std::set<Tag> tags;                     // everything alive or prepared
  std::map<Tag, std::string> handles;     // of live workloads
  std::map<std::string, Status> refuses;  // what check() says, by manifest
  std::string list_error;
  std::map<std::string, std::vector<std::string>> others;  // by name
  std::optional<Status> prepares_at_once;                  // the answer, before prepare() returns
  std::string start_error;
  std::optional<std::string> start_handle;  // instead of a new one
  std::function<void(const std::string&)> on_call;

 private:
  void call(const std::string& what, const Tag& tag, const std::string& more = {}) {
    calls.push_back(what + " " + tag.uid + "/" + to_text(tag.epoch) + more);
    if (on_call) on_call(calls.back());
  }
  Handler* handler_ = nullptr;
};

class RecordingLog final : public Log {
 public:
  void write(Level, std::string_view event, std::initializer_list<Field>) override { events.emplace_back(event); }
  std::vector<std::string> events;
};

inline std::string manifest(const std::string& uid, const std::string& memory = "64Mi", const std::string& more = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-)" + uid + R"(","namespace":"default","uid":")" +
         uid + R"("},"spec":{"terminationGracePeriodSeconds":7,"containers":[{"name":"c","image":"i",)" + more +
         R"("resources":{"requests":{"memory":")" + memory + R"("}}}]}})";
}

// Survives what happens to the store, as a file of its own does.
class FakeMarks final : public StoreMarks {
 public:
  std::optional<StoreMark> read() override { return mark; }
  bool write(const StoreMark& written) override {
    if (fails) return false;
    mark = written;
    ++writes;
    return true;
  }
  std::optional<StoreMark> mark;
  bool fails = false;
  int writes = 0;
};

// One device with its agent; restart() crashes the agent and starts another one on the same store.
class AgentTest : public testing::Test {
 protected:
  static constexpr char kRequests[] = "berth/v1/f/nodes/n1/requests";
  static constexpr char kAnswers[] = "berth/v1/f/gateways/gw/answers/n1";

  AgentTest() {
    config.fleet = "f";
    config.node = "n1";
    config.gateway = "gw";
    config.machine_id = "machine";
    config.boot_id = "boot-1";
    config.capacity = {
        {"cpu", *Quantity::parse("2")}, {"memory", *Quantity::parse("128Mi")}, {"pods", *Quantity::parse("600")}};
    config.volumes = {{"data", "/srv/data", "1Gi", "local"}, {"fast", "/srv/fast", "1Gi", "local"}};
  }

  // Starts the agent and brings its link up.
  void boot() {
    start();
    set_link(true);
  }
  void start() {
    agent = std::make_unique<Agent>(config, clock, transport, store, runtime, timers, log, ++seed);
    ASSERT_TRUE(agent->start().is_success());
  }
  void crash() {
    agent.reset();
    store.crash();
    transport.up = false;
    transport.sent.clear();
    runtime.calls.clear();
  }
  void restart() {
    crash();
    boot();
  }
  void reboot() {
    crash();
    runtime.reboot();
    config.boot_id += "+";
    boot();
  }
  void set_link(bool up) {
    transport.set_link(up);
    finish();
  }
  void finish() { ASSERT_TRUE(agent->finish_turn().is_success()); }
  void pass(Millis span) {
    clock.now_ms += span;
    timers.run_due(clock.now_ms);
    finish();
  }

  Request request_of(RequestType type, const std::string& uid = "u1", std::uint64_t counter = 5) {
    Request request(type);
    request.gateway = "gw";
    request.gateway_id = {2, "store"};
    request.incarnation = agent->state().incarnation;
    request.uid = uid;
    request.epoch = {1, counter};
    request.pod = manifest(uid);
    request.promise_ms = 30'000;
    return request;
  }
  void deliver(const Request& request) {
    uid_of_[request.epoch] = request.uid;
    deliver_text(encode(request));
  }
  void deliver_text(const std::string& payload) {
    Message message;
    message.topic = kRequests;
    message.payload = payload;
    agent->on_message(message);
    finish();
  }
  void deliver(RequestType type, const std::string& uid = "u1", std::uint64_t counter = 5) {
    deliver(request_of(type, uid, counter));
  }
  void run_pod(const std::string& uid = "u1", std::uint64_t counter = 5) {
    deliver(RequestType::pre_bind, uid, counter);
    prepared({uid, {1, counter}});
    deliver(RequestType::bind, uid, counter);
  }
  void prepared(const Tag& tag, Status status = Status::ok()) {
    runtime.finish_prepare(tag, std::move(status));
    finish();
  }
  void stopped(const Tag& tag) {
    runtime.finish_stop(tag);
    finish();
  }
  void observe(const Tag& tag, const std::string& status, bool finished) {
    runtime.observe(tag, status, finished);
    finish();
  }

  // The answers since the last call.
  std::vector<Answer> take_answers() {
    std::vector<Answer> answers;
    for (const Message& message : std::exchange(transport.sent, {})) {
      if (message.topic != kAnswers) continue;
      Result<Answer> answer = decode_answer(message.payload, "n1");
      EXPECT_TRUE(answer) << message.payload;
      EXPECT_LE(message.payload.size(), 60u * 1024);
      if (!answer) continue;
      if (answer->uid.empty()) answer->uid = uid_of_[answer->epoch];
      answers.push_back(*answer);
    }
    return answers;
  }
  // The same as text: "PreBound u1/1.5".
  std::vector<std::string> take_answer_texts() {
    std::vector<std::string> texts;
    for (const Answer& answer : take_answers()) {
      texts.push_back(std::string(to_string(answer.type)) + " " + answer.uid + "/" + to_text(answer.epoch));
    }
    return texts;
  }
  std::vector<std::string> take_calls() { return std::exchange(runtime.calls, {}); }
  // The last payload sent to a topic of the fleet, prefixed "retained " if it was; "none" if there is none.
  std::string last_payload(const std::string& topic) const {
    for (auto message = transport.sent.rbegin(); message != transport.sent.rend(); ++message) {
      if (message->topic == "berth/v1/f/" + topic) return (message->retain ? "retained " : "") + message->payload;
    }
    return "none";
  }
  std::string durable(Table table, const std::string& key) const {
    const auto found = store.durable().find({table, key});
    return found == store.durable().end() ? "" : found->second.value;
  }
  AgentRecords durable_incarnation() const {
    AgentRecords read;
    EXPECT_TRUE(decode_record({Table::meta, "incarnation", durable(Table::meta, "incarnation"), 0}, read).is_success());
    return read;
  }
  // The durable state of a pod's slot, or "none".
  std::string durable_slot(const std::string& uid = "u1") const {
    const std::string value = durable(Table::slot, uid);
    if (value.empty()) return "none";
    return Json::parse(value, {300000, 80})->find("state")->as_string();
  }

  using Texts = std::vector<std::string>;
  const Tag kTag{"u1", {1, 5}};
  AgentConfig config;
  ManualClock clock;
  RecordingTransport transport;
  MemoryStore store;
  FakeRuntime runtime;
  Timers timers;
  RecordingLog log;
  std::uint64_t seed = 0;
  std::map<Epoch, std::string> uid_of_;  // of delivered requests
  std::unique_ptr<Agent> agent;
};

}  // namespace berth
