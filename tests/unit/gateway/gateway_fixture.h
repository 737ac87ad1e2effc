// A gateway on a virtual clock with one device that the test plays by hand, message by message.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/gateway/gateway.h"
#include "core/handshake/messages.h"
#include "plugins/registry.h"
#include "storage/memory_store.h"
#include "tests/one_message.h"
#include "tests/unit/hand_clock.h"

namespace berth {

class QuietLog final : public Log {
 public:
  void write(Level level, std::string_view event, std::initializer_list<Field> fields) override {
    if (level < Level::warn) return;
    std::string line(event);
    for (const Field& field : fields) line.append(" ").append(field.key).append("=").append(field.value);
    warnings.push_back(std::move(line));
  }
  std::vector<std::string> warnings;
};

class RecordingTransport final : public Transport {
 public:
  void set_handler(Handler* wanted) override { handler = wanted; }
  bool is_up() const override { return up; }
  void gather(bool on) override { gathering = on; }
  void send(const Message& message) override {
    if (!gathering) ++ungathered;
    if (places && message.retain) places > 0 ? --*places : ++beyond_room;
    on_wire.push_back(message);
    for (Message& each : taken_apart(message)) sent.push_back(std::move(each));
  }
  void subscribe(const std::string& filter, int, SubscribeOptions asked = {}) override {
    filters.push_back(filter);
    if (asked.no_local) no_local.insert(filter);
  }
  std::size_t send_window() const override { return places.value_or(Transport::send_window()); }
  bool up = false;
  std::optional<std::size_t> places;  // what is left of the link's room
  int beyond_room = 0;                // retained ones sent when nothing was left
  bool gathering = false;
  int ungathered = 0;         // sent while not gathering
  std::vector<Message> sent;  // those of a list each alone
  std::vector<Message> on_wire;
  std::vector<std::string> filters;
  std::set<std::string> no_local;  // of the filters
  Handler* handler = nullptr;
};

class GatewayTest : public ::testing::Test {
 protected:
  GatewayTest() {
    options.profiles.push_back(default_profile());
    options.proof_key = ProofKey{1, 2, 3};
  }

  void start() {
    gateway = std::make_unique<Gateway>(options, registry, clock, transport, store, timers, log);
    const Status started = gateway->start();
    ASSERT_TRUE(started.is_success()) << started.message();
    turn();
  }
  void turn() {
    const Status finished = gateway->finish_turn();
    ASSERT_TRUE(finished.is_success()) << finished.message();
  }
  void connect() {
    transport.up = true;
    transport.sent.clear();
    gateway->on_link(true);
    turn();
    return_fences();
  }
  // The gateway's barriers come back, as they do on one connection after what was sent before them.
  void return_fences() {
    for (const Message& message : std::vector<Message>(transport.sent)) {
      if (message.topic == topics.gateway_fence("gateway")) gateway->on_message(message);
    }
    turn();
  }
  void settle() {
    advance(1000);
    return_fences();
  }
  void start_connected() {
    start();
    connect();
  }
  // As a power cut: what was not committed is gone, and the broker's connection with it.
  void restart() {
    gateway.reset();
    store.crash();
    transport.up = false;
    start_connected();
  }
  void advance(Millis ms) {
    const Millis end = clock.now_ms + ms;
    while (timers.next() && *timers.next() <= end) {
      clock.now_ms = std::max(clock.now_ms, *timers.next());
      timers.run_due(clock.now_ms);
      turn();
    }
    clock.now_ms = end;
  }
  // Its turn does not end with it.
  void hear(const std::string& topic, const std::string& payload, bool retain = false) {
    Message message;
    message.topic = topic;
    message.payload = payload;
    message.retain = retain;
    gateway->on_message(message);
  }
  void receive(const std::string& topic, const std::string& payload, bool retain = false) {
    hear(topic, payload, retain);
    turn();
  }
  void device(const std::string& name, const std::string& incarnation = "i1",
              const std::string& allocatable = R"({"cpu":"2","memory":"1Gi","pods":"10"})",
              const std::string& more = "") {
    receive(topics.node_state(name), R"({"incarnation":")" + incarnation +
                                         R"(","session":"1","sequence":"1","allocatable":)" + allocatable + more + "}");
    receive(topics.node_presence(name), R"({"incarnation":")" + incarnation + R"(","session":"1","online":true})");
  }
  // A request of a client; the reply is returned.
  Json api(const std::string& payload, const std::string& response = "berth/v1/default/clients/op/answers") {
    Message message;
    message.topic = topics.gateway_api("gateway");
    message.payload = payload;
    message.response_topic = response;
    gateway->on_message(message);
    turn();
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic == response) return *Json::parse(it->payload);
    }
    return {};
  }
  static std::string pod(const std::string& name, const std::string& uid, const std::string& memory = "64Mi",
                         const std::string& more_spec = "", const std::string& labels = "{}") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default","uid":")" +
           uid + R"(","labels":)" + labels +
           R"(},"spec":{"containers":[{"name":"c","image":"/bin/app","resources":{"requests":{"memory":")" + memory +
           R"("}}}])" + more_spec + "}}";
  }
  Json apply(const std::string& object) { return api(R"({"op":"apply","object":)" + object + "}"); }

  // The last request sent to the node, of any type but List and Heartbeat.
  std::optional<Request> request(const std::string& node) {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic != topics.node_requests(node)) continue;
      Result<Request> decoded = decode_request(it->payload);
      EXPECT_TRUE(decoded.has_value()) << it->payload;
      if (decoded->type == RequestType::list || decoded->type == RequestType::heartbeat) continue;
      return *decoded;
    }
    return std::nullopt;
  }
  Answer answer_to(const Request& request, AnswerType type, const std::string& incarnation = "i1") {
    Answer answer(type);
    answer.incarnation = incarnation;
    answer.gateway_id = request.gateway_id;
    answer.uid = request.uid;
    answer.epoch = request.epoch;
    if (type == AnswerType::stale) answer.high = request.epoch;
    if (type == AnswerType::hello) answer.to_incarnation = request.incarnation;
    if (type == AnswerType::rejected) answer.reason = "insufficient memory: 64Mi asked, 40Mi free";
    return answer;
  }
  void answer(const std::string& node, const Answer& answer) {
    receive(topics.answers("gateway", node), encode(answer));
  }
  static Answer superseded(const GatewayId& obeyed, const std::string& proof = {}) {
    Answer answer(AnswerType::superseded);
    answer.incarnation = "i1";
    answer.gateway_id = obeyed;
    answer.proof = proof;
    return answer;
  }
  // With the proof that the gateway of that store would have given the node.
  Answer proven_superseded(const std::string& node, const GatewayId& obeyed) {
    return superseded(obeyed, make_proof(*options.proof_key, obeyed, node));
  }
  // Answers the node's last request.
  void answer(const std::string& node, AnswerType type, const std::string& incarnation = "i1") {
    const std::optional<Request> last = request(node);
    ASSERT_TRUE(last.has_value());
    answer(node, answer_to(*last, type, incarnation));
  }
  // Answers the node's last List with these slots.
  void slots(const std::string& node, std::vector<SlotReport> reports, const std::string& incarnation = "i1",
             std::vector<ObeyedGateway> obeyed_before = {}) {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic != topics.node_requests(node)) continue;
      Result<Request> decoded = decode_request(it->payload);
      if (decoded->type != RequestType::list) continue;
      Answer listing(AnswerType::slots);
      listing.incarnation = incarnation;
      listing.gateway_id = decoded->gateway_id;
      listing.list_id = decoded->list_id;
      listing.pages = 1;
      listing.slots = std::move(reports);
      listing.obeyed_before = std::move(obeyed_before);
      return answer(node, listing);
    }
    FAIL() << "no List was sent to " << node;
  }
  Phase phase(const std::string& uid) const {
    auto found = gateway->bindings().find(uid);
    return found == gateway->bindings().end() ? Phase::none : found->second.row.phase;
  }
  Json describe_pod(const std::string& name) {
    return api(R"({"op":"describe","kind":"pod","namespace":"default","name":")" + name + R"("})");
  }
  std::string why(const std::string& name) {
    const Json reply = describe_pod(name);
    const Json* object = reply.find("object");
    const Json* status = object == nullptr ? nullptr : object->find("status");
    const Json* message = status == nullptr ? nullptr : status->find("message");
    return message == nullptr ? std::string() : message->as_string();
  }
  void bind_pod(const std::string& name, const std::string& uid, const std::string& node) {
    apply(pod(name, uid));
    answer(node, AnswerType::pre_bound);
    answer(node, AnswerType::bound);
    ASSERT_EQ(phase(uid), Phase::bound);
  }

  GatewayOptions options;
  Registry registry = in_tree_registry();
  HandClock clock;
  RecordingTransport transport;
  MemoryStore store;
  Timers timers;
  QuietLog log;
  Topics topics{"default"};
  std::unique_ptr<Gateway> gateway;
};

}  // namespace berth
