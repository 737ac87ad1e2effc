// The MQTT transport against a real broker.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/transports/mqtt_fixture.h"
#include "transports/read_rest.h"

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
