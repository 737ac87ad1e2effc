// The MQTT transport against a real broker. Every wait is for an event; the limit only ends a test that has failed.
#include "transports/mqtt.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/transports/mosquitto_child.h"
#include "transports/read_rest.h"

namespace berth {
namespace {

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

Message message(std::string topic, std::string payload, bool retain = false, int qos = 1) {
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
  bool run_until(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    loop_.restart();
    while (!done()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      loop_.run_one_until(limit);
      if (loop_.stopped()) loop_.restart();
    }
    return true;
  }
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
  asio::io_context loop_;
};

TEST_F(MqttTest, CarriesMessagesWithTheirProperties) {
  start_broker();
  auto a = join(options("a"), "x/#");
  Message sent = message("x/1", "{}");
  sent.response_topic = "clients/a";
  sent.correlation = std::string("\0\1\2", 3);
  sent.expiry_s = 60;
  settle(*a);
  a->transport.send(sent);
  ASSERT_TRUE(run_until([&] { return a->receiver.messages.size() == 1; }));
  const Message& got = a->receiver.messages[0];
  EXPECT_EQ(got.topic, "x/1");
  EXPECT_EQ(got.payload, "{}");
  EXPECT_EQ(got.qos, 1);
  EXPECT_FALSE(got.retain);
  EXPECT_EQ(got.response_topic, "clients/a");
  EXPECT_EQ(got.correlation, sent.correlation);
  EXPECT_EQ(got.expiry_s, 60);
}

TEST_F(MqttTest, DoesNotEchoToANoLocalSubscriptionButRetainsTheMessage) {
  start_broker();
  auto a = join(options("a"));
  auto b = join(options("b"));
  a->transport.subscribe("s/#", 0, {.no_local = true});
  settle(*a);
  a->transport.send(message("s/1", "own", true));
  settle(*a);
  EXPECT_TRUE(a->receiver.messages.empty()) << a->receiver.messages.front().topic;
  b->transport.send(message("s/2", "other"));
  ASSERT_TRUE(run_until([&] { return a->receiver.messages.size() == 1; }));
  EXPECT_EQ(a->receiver.messages[0].topic, "s/2");
  a->transport.subscribe("s/#", 0, {.no_local = true});
  ASSERT_TRUE(run_until([&] { return a->receiver.messages.size() == 2; }));
  EXPECT_EQ(a->receiver.messages[1].topic, "s/1");
  EXPECT_TRUE(a->receiver.messages[1].retain);
}

// The rest is longer than anything here takes; that what is sent meanwhile arrives together shows that it was kept.
TEST_F(MqttTest, GathersDenseMessagesOfQos0) {
  start_broker();
  MqttOptions resting = options("a");
  resting.read_rest = 1'000;
  auto a = join(resting, "beat/#", 0);
  auto b = join(options("b"));
  const auto beat = [&](int number) { b->transport.send(message("beat/" + std::to_string(number), "x", false, 0)); };
  const auto arrived = [&](int number) {
    const auto is_it = [topic = "beat/" + std::to_string(number)](const Message& each) { return each.topic == topic; };
    return run_until([&] { return std::any_of(a->receiver.messages.begin(), a->receiver.messages.end(), is_it); });
  };
  settle(*a);
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_until([&] { return std::chrono::steady_clock::now() - begun > ReadRest::kAwake; }));
  beat(1);
  ASSERT_TRUE(arrived(1));
  beat(2);
  ASSERT_TRUE(arrived(2)) << "dense from here on";
  const int turns = a->turns;
  beat(3);
  settle(*b);
  beat(4);
  settle(*b);
  ASSERT_TRUE(arrived(4));
  EXPECT_EQ(a->turns, turns + 1) << "with the third";
}

TEST_F(MqttTest, GathersNothingThatSomebodyWaitsForWhateverItsQos) {
  start_broker();
  MqttOptions resting = options("a");
  resting.read_rest = 60'000;  // longer than the test waits for anything
  resting.awaited_below = "answers/";
  auto a = join(resting, "answers/#", 0);
  auto b = join(options("b"));
  settle(*a);
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_until([&] { return std::chrono::steady_clock::now() - begun > ReadRest::kAwake; }));
  for (std::size_t count = 1; count <= 4; ++count) {
    b->transport.send(message("answers/1", "x", false, 0));
    ASSERT_TRUE(run_until([&] { return a->receiver.messages.size() == count; })) << count;
  }
}

TEST_F(MqttTest, KeepsTheRetainFlagForRetainAsPublished) {
  start_broker();
  auto a = join(options("a"));
  a->transport.subscribe("s/#", 0, {.retain_as_published = true});
  settle(*a);
  a->transport.send(message("s/1", "kept", true));
  a->transport.send(message("s/2", "passing"));
  ASSERT_TRUE(run_until([&] { return a->receiver.messages.size() == 2; }));
  EXPECT_TRUE(a->receiver.messages[0].retain);
  EXPECT_FALSE(a->receiver.messages[1].retain);
}

TEST_F(MqttTest, Gets5000RetainedMessagesInFewTurnsBeforeTheBarrier) {
  start_broker("allow_anonymous true\nmax_queued_messages 20000\n");
  auto a = join(options("a"));
  for (int i = 0; i < 5000; ++i) {
    a->transport.send(message("s/" + std::to_string(i), std::string(300, 'x'), true, 0));
  }
  settle(*a);
  auto b = join(options("b"), "s/#", 0);
  b->transport.subscribe("barrier", 0);
  b->transport.send(message("barrier", "x", false, 0));
  ASSERT_TRUE(
      run_until([&] { return !b->receiver.messages.empty() && b->receiver.messages.back().topic == "barrier"; }));
  EXPECT_EQ(b->receiver.messages.size(), 5001u);
  EXPECT_TRUE(b->receiver.messages[0].retain);
  EXPECT_LT(b->turns, 1000) << "each turn is a commit";
}

TEST_F(MqttTest, TheBrokerSendsTheWillOnlyWithoutADisconnect) {
  start_broker();
  auto a = join(options("a"), "will/#");
  settle(*a);
  MqttOptions with_will = options("b");
  with_will.will = message("will/b", "offline");
  auto b = join(with_will);
  b->transport.disconnect();
  EXPECT_EQ(b->receiver.links, "up down ");
  EXPECT_FALSE(b->transport.is_up());
  settle(*a);
  EXPECT_TRUE(a->receiver.messages.empty());
  b->transport.start();
  ASSERT_TRUE(run_until([&] { return b->transport.is_up(); }));
  b.reset();
  ASSERT_TRUE(run_until([&] { return !a->receiver.messages.empty(); }));
  EXPECT_EQ(a->receiver.messages[0].payload, "offline");
}

TEST_F(MqttTest, AMessageSentJustBeforeDisconnectArrives) {
  start_broker();
  auto a = join(options("a"), "x");
  settle(*a);
  auto b = join(options("b"));
  b->transport.send(message("x", "last"));
  b->transport.disconnect();
  ASSERT_TRUE(run_until([&] { return !a->receiver.messages.empty(); }));
}

TEST_F(MqttTest, ReconnectsAfterABrokerRestartAndDropsMessagesSentMeanwhile) {
  start_broker();
  auto a = join(options("a"), "x");
  broker_->stop(SIGKILL);
  ASSERT_TRUE(run_until([&] { return !a->transport.is_up(); }));
  EXPECT_EQ(a->receiver.links, "up down ");
  a->transport.send(message("x", "dropped"));
  broker_->start();
  ASSERT_TRUE(run_until([&] { return a->transport.is_up(); }));
  settle(*a);
  EXPECT_TRUE(a->receiver.messages.empty());
  a->transport.send(message("x", "received"));
  ASSERT_TRUE(run_until([&] { return !a->receiver.messages.empty(); }));
  EXPECT_EQ(a->receiver.messages[0].payload, "received");
  EXPECT_EQ(a->log.count("mqtt link lost"), 1) << a->log.text;
}

TEST_F(MqttTest, RetainedMessagesWithinTheSendWindowSurviveAnOverflowAndTheReopenedWindowIsReported) {
  start_broker("allow_anonymous true\nmax_queued_messages 0\n");
  auto a = client(options("a"));
  EXPECT_EQ(a->transport.send_window(), 0u) << "down";
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return a->transport.is_up(); }));
  const std::size_t window = a->transport.send_window();
  ASSERT_EQ(window, static_cast<std::size_t>(MqttTransport::kSendWindow));
  const int turns = a->turns;
  // The loop does not run here, so nothing is acknowledged.
  for (int i = 0; i < 2 * MqttTransport::kOutstandingMax; ++i) a->transport.send(message("flood", "x"));
  EXPECT_EQ(a->transport.send_window(), 0u);
  EXPECT_EQ(a->log.count("the broker cannot keep up"), 1) << a->log.text;
  for (std::size_t i = 0; i < window; ++i) a->transport.send(message("kept/" + std::to_string(i), "x", true));
  ASSERT_TRUE(run_until([&] { return a->receiver.reopened > 0; }));
  EXPECT_GT(a->turns, turns);
  EXPECT_GE(a->transport.send_window(), window / 2);
  settle(*a);
  EXPECT_EQ(a->receiver.reopened, 1);
  EXPECT_EQ(a->transport.send_window(), window);
  auto b = join(options("b"), "kept/#", 0);
  settle(*b);
  EXPECT_EQ(b->receiver.messages.size(), window);
}

TEST_F(MqttTest, ASenderThatStaysWithinTheSendWindowLosesNothing) {
  start_broker();
  auto a = join(options("a"));
  int sent = 0;
  const auto send_what_fits = [&] {
    while (sent < 3'000 && a->transport.send_window() > 0) {
      a->transport.send(message("kept/" + std::to_string(sent), "x", true, sent % 2));
      ++sent;
    }
  };
  a->transport.set_on_turn(send_what_fits);
  send_what_fits();
  ASSERT_TRUE(run_until([&] { return sent == 3'000; }));
  settle(*a);
  auto b = join(options("b"), "kept/#", 0);
  settle(*b);
  EXPECT_EQ(b->receiver.messages.size(), 3'000u);
}

TEST_F(MqttTest, ReconnectsLeakNoFileDescriptors) {
  start_broker();
  auto a = join(options("a"));
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) {
    a->transport.disconnect();
    a->transport.start();
    ASSERT_TRUE(run_until([&] { return a->transport.is_up(); }));
  }
  EXPECT_EQ(descriptors(), before);
}

TEST_F(MqttTest, APersistentSessionGetsMessagesSentMeanwhile) {
  start_broker();
  MqttOptions durable = options("node");
  durable.session_expiry_s = 3600;
  auto node = join(durable, "x");
  settle(*node);
  node.reset();
  auto a = join(options("a"));
  a->transport.send(message("x", "kept"));
  settle(*a);
  node = join(durable);
  ASSERT_TRUE(run_until([&] { return !node->receiver.messages.empty(); }));
  EXPECT_EQ(node->receiver.messages[0].payload, "kept");
}

TEST_F(MqttTest, DropsAndLogsOversizedMessages) {
  start_broker();
  auto a = join(options("a"), "x/#");
  settle(*a);
  a->transport.send(message("x/largest", std::string(MqttTransport::kPayloadMax, 'x')));
  a->transport.send(message("x/out", std::string(MqttTransport::kPayloadMax + 1, 'x')));
  a->transport.send(message("x/+", "wildcard"));
  const std::string publish =
      "head -c 65600 /dev/zero | tr '\\0' x | mosquitto_pub -V 5 -p " + std::to_string(port_) + " -t x/in -s -q 1";
  ASSERT_EQ(std::system(publish.c_str()), 0);
  settle(*a);
  ASSERT_EQ(a->receiver.messages.size(), 1u);
  EXPECT_EQ(a->receiver.messages[0].topic, "x/largest");
  EXPECT_EQ(a->log.count("message not sent topic=x/out reason=larger than 64 KiB"), 1) << a->log.text;
  EXPECT_EQ(a->log.count("message not sent topic=x/+"), 1) << a->log.text;
  EXPECT_EQ(a->log.count("message too large, dropped topic=x/in bytes=65600"), 1) << a->log.text;
}

// Sockets of this process that hold back what does not fill a packet.
int count_corked() {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int corked = 0;
    socklen_t size = sizeof corked;
    const int fd = std::stoi(entry.path().filename().string());
    found += getsockopt(fd, IPPROTO_TCP, TCP_CORK, &corked, &size) == 0 && corked != 0 ? 1 : 0;
  }
  return found;
}

TEST_F(MqttTest, WhatAcknowledgesASingleMessageLeavesWithTheEndOfTheTurn) {
  start_broker();
  MqttOptions gathering = options("a");
  gathering.gather_acks = true;
  auto a = join(gathering, "x");
  auto b = join(options("b"));
  for (int i = 0; i < 3; ++i) {
    b->transport.send(message("x", "1"));
    const std::size_t before = a->receiver.messages.size();
    ASSERT_TRUE(run_until([&] {
      a->transport.gather(false);
      return a->receiver.messages.size() > before;
    }));
    a->transport.gather(false);
    EXPECT_EQ(count_corked(), 0);
  }
  int corked = 0;
  a->receiver.on_each = [&] { corked = count_corked(); };
  b->transport.send(message("x", "1"));
  ASSERT_TRUE(run_until([&] { return a->receiver.messages.size() == 4; }));
  EXPECT_EQ(corked, 1);
  a->transport.gather(false);
  EXPECT_EQ(count_corked(), 0);
}

TEST_F(MqttTest, WhereManyMessagesComeTheirAcknowledgementsDoNotWaitForTheTurn) {
  start_broker();
  MqttOptions gathering = options("a");
  gathering.gather_acks = true;
  auto a = join(gathering, "x");
  auto b = join(options("b"));
  std::vector<int> corked;
  a->receiver.on_each = [&] { corked.push_back(count_corked()); };
  b->transport.gather(true);
  for (int i = 0; i < 50; ++i) b->transport.send(message("x", "1"));
  b->transport.gather(false);
  ASSERT_TRUE(run_until([&] { return corked.size() == 50; }));
  EXPECT_EQ(corked.back(), 0) << "no turn has ended since the first";
}

TEST_F(MqttTest, MayBeDestroyedInItsOwnTurn) {
  start_broker();
  auto a = join(options("a"), "x");
  settle(*a);
  a->transport.set_on_turn([&] { a.reset(); });
  a->transport.send(message("x", "end"));
  ASSERT_TRUE(run_until([&] { return a == nullptr; }));
}

TEST_F(MqttTest, LogsAWrongPasswordAndRetries) {
  const std::string file = directory_.file("passwords");
  ASSERT_EQ(std::system(("mosquitto_passwd -b -c " + file + " berth right 2>/dev/null").c_str()), 0);
  start_broker("allow_anonymous false\npassword_file " + file + "\n");
  MqttOptions o = options("a");
  o.username = "berth";
  o.password = "right";
  join(o);
  o.password = "wrong";
  auto a = client(o);
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return a->log.count("check username and password") >= 2; })) << a->log.text;
  EXPECT_EQ(a->receiver.links, "");
}

TEST_F(MqttTest, TimesOutOnAServerThatNeverAnswersAndRetries) {
  asio::ip::tcp::acceptor server(loop_, {asio::ip::address_v4::loopback(), static_cast<unsigned short>(port_)});
  std::vector<asio::ip::tcp::socket> accepted;
  std::function<void()> accept = [&] {
    server.async_accept([&](const asio::error_code& error, asio::ip::tcp::socket socket) {
      if (error) return;
      accepted.push_back(std::move(socket));
      accept();
    });
  };
  accept();
  MqttOptions o = options("a");
  o.answer_timeout = 50;
  auto a = client(o);
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return accepted.size() >= 2; })) << a->log.text;
  EXPECT_GE(a->log.count("no answer within 50 ms"), 1) << a->log.text;
  EXPECT_EQ(a->receiver.links, "");
}

TEST_F(MqttTest, DisconnectsFromAServerThatDoesNotSpeakMqttAndRetries) {
  asio::ip::tcp::acceptor server(loop_, {asio::ip::address_v4::loopback(), static_cast<unsigned short>(port_)});
  int accepted = 0;
  std::function<void()> accept = [&] {
    server.async_accept([&](const asio::error_code& error, asio::ip::tcp::socket socket) {
      if (error) return;
      ++accepted;
      asio::error_code ignored;
      socket.write_some(asio::buffer(std::string("HTTP/1.1 400 Bad Request\r\n\r\n")), ignored);
      accept();
    });
  };
  accept();
  auto a = client(options("a"));
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return accepted >= 3; })) << a->log.text;
  EXPECT_EQ(a->receiver.links, "");
}

TEST_F(MqttTest, LogsAnUnknownHostNameAndRetries) {
  MqttOptions o = options("a");
  o.host = "no-such-broker.invalid";
  auto a = client(o);
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return a->log.count("name no-such-broker.invalid not found") >= 2; })) << a->log.text;
}

TEST_F(MqttTest, TriesEachAddressOfAHostName) {
  start_broker();  // on 127.0.0.1 only; localhost is often ::1 first
  MqttOptions o = options("a");
  o.host = "localhost";
  EXPECT_TRUE(join(o)->transport.is_up());
}

class MqttTlsTest : public MqttTest {
 protected:
  void shell(const std::string& command) {
    ASSERT_EQ(std::system(("cd " + directory_.path() + " && (" + command + ") >/dev/null 2>&1").c_str()), 0) << command;
  }
  void make_authority(const std::string& name) {
    shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" + name +
          " -keyout " + name + ".key -out " + name + ".crt");
  }
  void make_certificate(const std::string& name, const std::string& subject_alt_names) {
    shell("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=" + name + " -keyout " + name +
          ".key -out " + name + ".csr");
    shell("printf 'subjectAltName=" + subject_alt_names + "' > " + name + ".ext");
    shell("openssl x509 -req -in " + name + ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile " + name +
          ".ext -out " + name + ".crt");
  }
  void SetUp() override {
    make_authority("ca");
    make_authority("other");
    make_certificate("server", "DNS:localhost");
    make_certificate("client", "DNS:client");
    start_secured_broker();
  }
  void start_secured_broker() {
    start_broker("allow_anonymous true\nrequire_certificate true\ncafile " + directory_.file("ca.crt") + "\ncertfile " +
                 directory_.file("server.crt") + "\nkeyfile " + directory_.file("server.key") +
                 "\nmax_queued_messages 20000\n");
  }
  static Millis in_days(int days) { return (Millis{std::time(nullptr)} + days * 24 * 3600) * 1000; }
  MqttOptions tls(const std::string& id) {
    MqttOptions o = options(id);
    o.host = "localhost";
    o.tls = {directory_.file("ca.crt"), directory_.file("client.crt"), directory_.file("client.key")};
    return o;
  }
  void expect_refused(const MqttOptions& o, const std::string& reason) {
    auto a = client(o);
    a->transport.start();
    ASSERT_TRUE(run_until([&] { return a->log.count(reason) >= 2; })) << a->log.text;
    EXPECT_EQ(a->receiver.links, "");
  }
};

TEST_F(MqttTlsTest, CarriesManyMessagesWithCertificatesOnBothSides) {
  auto a = join(tls("a"));
  for (int i = 0; i < 2000; ++i) a->transport.send(message("s/" + std::to_string(i), "x", true, 0));
  settle(*a);
  auto b = join(tls("b"), "s/#", 0);
  ASSERT_TRUE(run_until([&] { return b->receiver.messages.size() == 2000; }));
  EXPECT_LT(b->turns, 500);
  for (int i = 0; i < 10; ++i) {
    b->transport.disconnect();
    b->transport.start();
    ASSERT_TRUE(run_until([&] { return b->transport.is_up(); }));
  }
}

TEST_F(MqttTlsTest, NoticesAtOnceThatNobodyListensOrThatTheServerHangsUp) {
  broker_.reset();
  MqttOptions o = tls("a");
  o.answer_timeout = 3'600'000;
  expect_refused(o, "connection refused or closed");
  asio::ip::tcp::acceptor server(loop_, {asio::ip::address_v4::loopback(), static_cast<unsigned short>(port_)});
  int accepted = 0;
  std::function<void()> accept = [&] {
    server.async_accept([&](const asio::error_code& error, const asio::ip::tcp::socket&) {
      if (error) return;
      ++accepted;
      accept();
    });
  };
  accept();
  auto a = client(o);
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return accepted >= 3; })) << a->log.text;
}

TEST_F(MqttTlsTest, StaysDownWhenAnotherAuthoritySignedTheBroker) {
  MqttOptions o = tls("a");
  o.tls.ca = directory_.file("other.crt");
  expect_refused(o, "certificate verify failed");
}

TEST_F(MqttTlsTest, StaysDownWhenTheCertificateIsForAnotherName) {
  MqttOptions o = tls("a");
  o.host = "127.0.0.1";  // the same broker, but its certificate names localhost only
  expect_refused(o, "certificate verify failed");
}

TEST_F(MqttTlsTest, AClockThatIsBehindDoesNotMakeAnExpiredCertificateValid) {
  MqttOptions o = tls("a");
  o.tls.time_floor = [] { return in_days(1); };
  EXPECT_TRUE(join(o)->transport.is_up());
  o = tls("b");
  o.tls.time_floor = [] { return in_days(3); };
  expect_refused(o, "certificate verify failed");
}

TEST_F(MqttTlsTest, AFloorThatRoseCountsAtTheNextConnection) {
  MqttOptions o = tls("a");
  Millis floor = in_days(1);
  o.tls.time_floor = [&floor] { return floor; };
  auto a = join(o);
  floor = in_days(3);
  a->transport.disconnect();
  a->transport.start();
  EXPECT_TRUE(run_until([&] { return a->log.text.find("certificate verify failed") != std::string::npos; }));
  EXPECT_FALSE(a->transport.is_up());
}

TEST_F(MqttTlsTest, AClockThatIsBehindAcceptsACertificateThatBeganLater) {
  broker_.reset();
  shell(
      "touch index && printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\n"
      "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' > ca.cnf");
  shell(
      "openssl ca -batch -config ca.cnf -cert ca.crt -keyfile ca.key -in server.csr -extfile server.ext -out "
      "server.crt "
      "-startdate $(date -u -d '+12 hours' +%Y%m%d%H%M%SZ) -enddate $(date -u -d '+36 hours' +%Y%m%d%H%M%SZ)");
  start_secured_broker();
  expect_refused(tls("a"), "certificate verify failed");
  MqttOptions o = tls("b");
  o.tls.time_floor = [] { return in_days(1) - Millis{23} * 3'600'000; };
  EXPECT_TRUE(join(o)->transport.is_up());
}

TEST_F(MqttTlsTest, StaysDownWithoutTheCertificateThatTheBrokerRequires) {
  MqttOptions o = tls("a");
  o.tls.cert = o.tls.key = "";
  expect_refused(o, "certificate required");
}

TEST_F(MqttTlsTest, TellsOfARefusedCertificateAndConnectsWithThePairThatItIsGivenThen) {
  MqttOptions o = tls("a");
  o.tls.cert = o.tls.key = "";
  int refused = 0;
  MqttTransport* transport = nullptr;
  o.tls.on_refused = [&] {
    if (++refused == 2) transport->set_client_certificate(directory_.file("client.crt"), directory_.file("client.key"));
  };
  auto a = client(o);
  transport = &a->transport;
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return a->transport.is_up(); })) << a->log.text;
  EXPECT_EQ(refused, 2);
  a->transport.disconnect();
  broker_.reset();
  a->transport.start();
  const int before = a->log.count("refused or closed");
  ASSERT_TRUE(run_until([&] { return a->log.count("refused or closed") >= before + 2; })) << a->log.text;
  EXPECT_EQ(refused, 2) << "nobody was there";
}

TEST_F(MqttTlsTest, ABrokerOfAnotherAuthorityRefusesNothing) {
  MqttOptions o = tls("a");
  o.tls.ca = directory_.file("other.crt");
  o.tls.on_refused = [] { FAIL(); };
  expect_refused(o, "certificate verify failed");
}

TEST_F(MqttTlsTest, NamesTheFileItCannotRead) {
  MqttOptions o = tls("a");
  o.tls.ca = directory_.file("missing.crt");
  expect_refused(o, "tls.ca: cannot read " + o.tls.ca);
  o = tls("a");
  o.tls.key = directory_.file("server.key");
  expect_refused(o, "does not match tls.cert: " + o.tls.key);
}

}  // namespace
}  // namespace berth
