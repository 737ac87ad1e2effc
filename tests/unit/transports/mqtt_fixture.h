// MqttTest: clients of a real broker. Every wait is for an event; the limit only ends a test that has failed.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/transports/mosquitto_child.h"
#include "transports/mqtt.h"

namespace berth {

class Notes final : public Log {
 public:
  void write(Level, std::string_view event, std::initializer_list<Field> fields) override {
    text.append(event);
    for (const Field& field : fields) text.append(" ").append(field.key).append("=").append(field.value);
    text += "\n";
  }
  int count(const std::string& part) const {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
  std::string text;
};

class Receiver final : public Transport::Handler {
 public:
  void on_message(const Message& message) override {
    messages.push_back(message);
    if (on_each) on_each();
  }
  void on_link(bool up) override {
    links += up ? "up " : "down ";
    if (up && on_up) on_up();
  }
  void on_send_window() override { ++reopened; }
  std::vector<Message> messages;
  std::string links;
  int reopened = 0;
  std::function<void()> on_up;
  std::function<void()> on_each;  // message
};

inline Message message(std::string topic, std::string payload, bool retain = false, int qos = 1) {
  Message m;
  m.topic = std::move(topic);
  m.payload = std::move(payload);
  m.retain = retain;
  m.qos = qos;
  return m;
}

// One client with its handler and log.
struct Client {
  Client(asio::io_context& loop, MqttOptions options) : transport(loop, log, std::move(options)) {
    transport.set_handler(&receiver);
    transport.set_on_turn([this] { ++turns; });
  }
  Notes log;
  Receiver receiver;
  int turns = 0;
  MqttTransport transport;
};

class MqttTest : public testing::Test {
 protected:
  MqttTest();
  ~MqttTest() override;
  MqttOptions options(const std::string& id) const {
    MqttOptions o;
    o.port = port_;
    o.client_id = id;
    o.backoff_min = 20;
    o.backoff_max = 100;
    return o;
  }
  void start_broker(const std::string& settings = "allow_anonymous true\n") {
    broker_ = std::make_unique<MosquittoChild>(directory_, port_, settings);
  }
  std::unique_ptr<Client> client(const MqttOptions& o) { return std::make_unique<Client>(loop_, o); }
  // A client that is connected and has subscribed to `filter`.
  std::unique_ptr<Client> join(const MqttOptions& o, const std::string& filter = {}, int qos = 1) {
    auto made = client(o);
    MqttTransport& transport = made->transport;
    if (!filter.empty()) made->receiver.on_up = [&transport, filter, qos] { transport.subscribe(filter, qos); };
    transport.start();
    EXPECT_TRUE(run_until([&] { return transport.is_up(); })) << made->log.text;
    return made;
  }
  bool run_until(const std::function<bool()>& done);
  // Returns once everything sent so far has passed through the broker.
  void settle(Client& client) {
    const std::size_t before = client.receiver.messages.size();
    client.transport.subscribe("barrier", 1);
    client.transport.send(message("barrier", "x"));
    ASSERT_TRUE(run_until([&] {
      return client.receiver.messages.size() > before && client.receiver.messages.back().topic == "barrier";
    }));
    client.receiver.messages.pop_back();
  }

  TempDir directory_;
  int port_ = free_port();
  std::unique_ptr<MosquittoChild> broker_;
  const std::unique_ptr<asio::io_context> context_;
  asio::io_context& loop_ = *context_;
};

}  // namespace berth
