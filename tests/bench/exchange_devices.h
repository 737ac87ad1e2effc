// The devices of bench_exchange: they answer the gateway, and plain requests, at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/handshake/topics.h"
#include "core/transport.h"
#include "tests/bench/ready_device.h"
#include "transports/mqtt.h"

namespace berth::bench {

// Devices that share one connection to the broker.
class Devices final : public Transport::Handler {
 public:
  // `bound`: counts all devices' Bound answers; a resent Bind counts again. Outlives them.
  Devices(std::unique_ptr<MqttTransport> link, std::string name, std::vector<std::string> nodes, std::size_t& bound)
      : link_(std::move(link)), name_(std::move(name)), nodes_(std::move(nodes)), bound_(bound) {
    link_->set_handler(this);
    link_->start();
  }

  bool is_up() const { return link_->is_up(); }
  // Of a plain request that these devices answer.
  std::string bare_topic() const { return "bare/request/" + name_; }
  void publish(const std::string& topic, const std::string& payload, bool retain, int qos = 1) {
    Message message;
    message.qos = qos;
    message.topic = topic;
    message.payload = payload;
    message.retain = retain;
    link_->send(message);
  }

 private:
  void on_link(bool up) override {
    if (!up) return;
    link_->subscribe(bare_topic(), 1);
    for (const std::string& node : nodes_) {
      link_->subscribe(topics_.node_requests(node), 1);
      const std::string who = R"({"incarnation":")" + incarnation_of(node) + R"(","session":"1",)";
      publish(
          topics_.node_state(node),
          who +
              R"("bootId":"b","sequence":"1","heartbeatMs":"3600000","allocatable":{"cpu":"64","memory":"64Gi","pods":"2000"}})",
          true);
      publish(topics_.node_presence(node), who + R"("online":true})", true);
    }
  }
  void on_message(const Message& message) override {
    if (message.topic == bare_topic()) return publish("bare/answer", message.payload, false);
    const std::string node(topics_.split(message.topic)[1]);
    const std::vector<Answer> answers = ready_answers(node, message.payload, vias_);
    for (const Answer& answer : answers) bound_ += answer.type == AnswerType::bound ? 1 : 0;
    // As core/agent/answers.cc: those that are asked for again are of QoS 0, and so are the requests.
    for (const std::string& payload : encode_all(answers)) {
      publish(topics_.answers("gateway", node), payload, false, message.qos);
    }
  }

  std::unique_ptr<MqttTransport> link_;
  std::string name_;
  std::vector<std::string> nodes_;
  std::size_t& bound_;
  Topics topics_{"default"};
  Vias vias_;
};

// Sends plain requests to all of them in turn, a constant number at a time.
class Pairs final : public Transport::Handler {
 public:
  static constexpr int kWindow = 64;

  // Both outlive it.
  Pairs(Transport& link, const std::vector<std::unique_ptr<Devices>>& devices) : link_(link), devices_(devices) {
    link.set_handler(this);
  }

  void ask_for(int pairs) {
    total_ += pairs;
    for (int asked = 0; asked < kWindow; ++asked) ask();
  }
  bool is_done() const { return got_ == sent_; }

 private:
  void on_link(bool up) override {
    if (up) link_.subscribe("bare/answer", 1);
  }
  void on_message(const Message& /*message*/) override {
    ++got_;
    if (sent_ < total_) ask();
  }
  void ask() {
    Message message;
    message.topic = devices_[static_cast<std::size_t>(sent_) % devices_.size()]->bare_topic();
    message.payload = std::string(300, 'x');
    ++sent_;
    link_.send(message);
  }

  Transport& link_;
  const std::vector<std::unique_ptr<Devices>>& devices_;
  int total_ = 0, sent_ = 0, got_ = 0;
};

}  // namespace berth::bench
