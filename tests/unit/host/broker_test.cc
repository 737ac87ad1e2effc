// berthd's embedded broker, with a real mosquitto: access rules, and that it runs exactly as long as berthd does.
#include "firmware-host/gateway/broker.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "firmware-host/gateway/authority.h"
#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/loop.h"
#include "firmware-host/real_clock.h"
#include "tests/unit/hand_clock.h"
#include "tests/unit/transports/mosquitto_child.h"
#include "transports/mqtt.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using Role = BrokerIdentity::Role;

class Notes final : public Log {
 public:
  void write(Level, std::string_view event, std::initializer_list<Field> fields) override {
    text.append(event);
    for (const Field& field : fields) text.append(" ").append(field.key).append("=").append(field.value);
    text += "\n";
  }
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
  std::string text;
};

struct Client final : Transport::Handler {
  Client(EventLoop& loop, MqttOptions options, std::string filter)
      : transport(loop.context(), log, std::move(options)), filter_(std::move(filter)) {
    transport.set_handler(this);
    transport.start();
  }
  void on_message(const Message& message) override {
    received += message.topic.substr(message.topic.find("/f/") + 3) + "=" + message.payload + " ";
  }
  void on_link(bool up) override {
    links += up ? "up " : "down ";
    if (up) transport.subscribe(filter_, 1);
  }
  void publish(const std::string& topic, const std::string& payload, bool retain = false) {
    Message message;
    message.topic = "berth/v1/f/" + topic;
    message.payload = payload;
    message.retain = retain;
    transport.send(message);
  }
  Notes log;
  MqttTransport transport;
  std::string filter_, received, links;
};

class BrokerTest : public testing::Test {
 protected:
  BrokerOptions options() const {
    BrokerOptions o;
    o.state_dir = directory_.path();
    o.fleet = "f";
    o.identities = {{"gw", Role::gateway, ""},
                    {"edge-a", Role::node, ""},
                    {"edge-b", Role::node, "chosen"},
                    {"ann", Role::operator_, ""},
                    {"bob", Role::operator_, ""}};
    return o;
  }
  std::unique_ptr<Broker> make(BrokerOptions o) {
    return std::make_unique<Broker>(loop_.context(), clock_, timers_, log_, std::move(o));
  }
  std::unique_ptr<Broker> started() {
    auto broker = make(options());
    const Status status = broker->start();
    EXPECT_TRUE(status.is_success()) << status.message();
    return broker;
  }
  // An empty identity makes an anonymous client.
  std::unique_ptr<Client> client(const Broker& broker, const std::string& identity, const std::string& filter = "#") {
    MqttOptions o;
    o.port = identity.starts_with("edge-") || identity.empty() ? broker.port() : broker.local_port();
    o.client_id = "test-" + identity;
    o.username = identity;
    if (!identity.empty()) o.password = broker.password(identity);
    o.backoff_min = 20;
    o.backoff_max = 100;
    return std::make_unique<Client>(loop_, std::move(o), filter);
  }
  bool run_until(const std::function<bool()>& done) {
    bool late = false;
    Timers::Id limit = timers_.at(clock_.now() + 30'000, [&] {
      late = true;
      loop_.stop();
    });
    loop_.set_end_turn([&] {
      if (done()) loop_.stop();
      return Status::ok();
    });
    EXPECT_TRUE(done() || loop_.run().is_success());
    timers_.cancel(limit);
    return !late;
  }
  std::string line_of(const std::string& file) { return read_line(directory_.file("broker/" + file)); }

  TempDir directory_;
  RealClock clock_;
  Timers timers_;
  Notes log_;
  EventLoop loop_{clock_, timers_};
};

TEST_F(BrokerTest, AcceptsConfiguredIdentitiesOnly) {
  auto broker = started();
  auto node = client(*broker, "edge-a");
  auto gateway = client(*broker, "gw");
  ASSERT_TRUE(run_until([&] { return node->transport.is_up() && gateway->transport.is_up(); })) << log_.text;
  auto nobody = client(*broker, "");
  ASSERT_TRUE(run_until([&] { return nobody->log.has("check username and password"); })) << nobody->log.text;
  EXPECT_EQ(nobody->links, "");
}

TEST_F(BrokerTest, WhatWasMadeWhileTheClockWasAheadIsMadeAgainOnceItIsSet) {
  BrokerOptions secured = options();
  secured.listen = "0.0.0.0";
  HandClock clock;
  Timers timers;
  Broker broker(loop_.context(), clock, timers, log_, secured);
  const Status started = broker.start();
  ASSERT_TRUE(started.is_success()) << started.message();
  const std::string tls = directory_.file("broker/tls");
  ASSERT_TRUE(run_program({*find_program("openssl"), "ca", "-config", tls + "/ca.cnf", "-gencrl", "-crl_lastupdate",
                           "20990101000000Z", "-crl_nextupdate", "21000101000000Z", "-out", tls + "/ca.crl"})
                  .is_success());
  clock.now_ms += 30'000;
  timers.run_due(clock.now_ms);
  EXPECT_NE(*not_valid_until(tls + "/ca.crl"), "") << "nobody has set the clock";
  clock.booted_ms -= 3'600'000;
  clock.now_ms += 30'000;
  timers.run_due(clock.now_ms);
  EXPECT_EQ(*not_valid_until(tls + "/ca.crl"), "");
  EXPECT_TRUE(log_.has("the list of revoked certificates was made while the clock was ahead")) << log_.text;
}

TEST_F(BrokerTest, NoDeviceEndsASessionByItsClientId) {
  auto broker = started();
  auto gateway = client(*broker, "gw");
  auto other = client(*broker, "edge-b");
  auto ann = client(*broker, "ann");
  ASSERT_TRUE(
      run_until([&] { return gateway->transport.is_up() && other->transport.is_up() && ann->transport.is_up(); }));
  for (const char* taken : {"test-gw", "test-edge-b", "edge-b", "test-ann"}) {
    MqttOptions o;
    o.port = broker->port();
    o.client_id = taken;
    o.username = "edge-a";
    o.password = broker->password("edge-a");
    Client intruder(loop_, o, "#");
    ASSERT_TRUE(run_until([&] { return intruder.transport.is_up(); })) << taken;
    gateway->publish("nodes/edge-b/requests", std::string("after ") + taken);
    ASSERT_TRUE(run_until([&] { return other->received.contains(std::string("after ") + taken); })) << taken;
  }
  EXPECT_EQ(gateway->links + other->links + ann->links, "up up up ");
}

TEST_F(BrokerTest, TheOperatorsListenerAdmitsNoDevice) {
  auto broker = started();
  MqttOptions o;
  o.port = broker->local_port();
  o.client_id = "x";
  o.username = "edge-a";
  o.password = broker->password("edge-a");
  Client intruder(loop_, o, "#");
  ASSERT_TRUE(run_until([&] { return intruder.log.has("check username and password"); })) << intruder.log.text;
  EXPECT_EQ(intruder.links, "");
}

TEST_F(BrokerTest, ADeviceAnswersItsGatewayOnlyAndHasNoTopicsWithoutEnd) {
  auto broker = started();
  auto gateway = client(*broker, "gw", "berth/v1/f/#");
  auto a = client(*broker, "edge-a");
  ASSERT_TRUE(run_until([&] { return gateway->transport.is_up() && a->transport.is_up(); }));
  a->publish("gateways/other/answers/edge-a", "x", true);
  a->publish("nodes/edge-a/pods/default", "x", true);
  a->publish("nodes/edge-a/pods/default/x/y", "x", true);
  a->publish("nodes/edge-a/heartbeat", "last");
  ASSERT_TRUE(run_until([&] { return gateway->received.contains("last"); }));
  EXPECT_EQ(gateway->received, "nodes/edge-a/heartbeat=last ");
}

TEST_F(BrokerTest, BeyondTheMemoryLimitOnlyWhoeverPublishesMoreIsDisconnected) {
  BrokerOptions o = options();
  o.memory_limit = 4 << 20;
  auto broker = make(o);
  ASSERT_TRUE(broker->start().is_success());
  auto a = client(*broker, "edge-a");
  auto gateway = client(*broker, "gw", "berth/v1/f/nodes/+/heartbeat");
  ASSERT_TRUE(run_until([&] { return gateway->transport.is_up() && a->transport.is_up(); }));
  const std::string junk(60'000, 'x');
  for (int i = 0; i < 100; ++i) a->publish("nodes/edge-a/pods/default/x" + std::to_string(i), junk, true);
  ASSERT_TRUE(run_until([&] { return a->links.contains("down"); }));
  auto b = client(*broker, "edge-b");
  ASSERT_TRUE(run_until([&] { return b->transport.is_up(); }));
  b->publish("nodes/edge-b/heartbeat", "alive");
  ASSERT_TRUE(run_until([&] { return gateway->received.contains("alive"); }));
  EXPECT_EQ(gateway->links, "up ");
}

TEST_F(BrokerTest, ANodeWritesAndReadsOnlyItsOwnTopics) {
  auto broker = started();
  auto gateway = client(*broker, "gw", "berth/v1/f/#");
  auto a = client(*broker, "edge-a");
  auto b = client(*broker, "edge-b");
  ASSERT_TRUE(run_until([&] { return gateway->transport.is_up() && a->transport.is_up() && b->transport.is_up(); }));
  for (const char* topic :
       {"nodes/edge-b/state", "nodes/edge-b/requests", "nodes/edge-a/requests", "gateways/gw/answers/edge-b",
        "gateways/gw/api", "desired/pods/default/x", "status/x", "clients/ann/x", "gateways/gw/presence/run"}) {
    a->publish(topic, "forged");
  }
  for (const char* topic : {"nodes/edge-a/state", "nodes/edge-a/presence", "nodes/edge-a/heartbeat",
                            "nodes/edge-a/pods/default/x", "gateways/gw/answers/edge-a"}) {
    a->publish(topic, "own");
  }
  ASSERT_TRUE(run_until([&] { return gateway->received.find("answers/edge-a=own") != std::string::npos; }));
  EXPECT_EQ(gateway->received,
            "nodes/edge-a/state=own nodes/edge-a/presence=own nodes/edge-a/heartbeat=own "
            "nodes/edge-a/pods/default/x=own gateways/gw/answers/edge-a=own ");
  gateway->publish("nodes/edge-a/requests", "for a");
  gateway->publish("nodes/edge-b/requests", "for b");
  ASSERT_TRUE(run_until([&] { return !b->received.empty() && a->received.find("for a") != std::string::npos; }));
  EXPECT_EQ(b->received, "nodes/edge-b/requests=for b ");
}

TEST_F(BrokerTest, AnOperatorSendsRequestsAndReadsOnlyItsOwnAnswers) {
  auto broker = started();
  auto gateway = client(*broker, "gw", "berth/v1/f/+/gw/api");
  auto ann = client(*broker, "ann", "berth/v1/f/#");
  auto bob = client(*broker, "bob", "berth/v1/f/#");
  ASSERT_TRUE(
      run_until([&] { return gateway->transport.is_up() && ann->transport.is_up() && bob->transport.is_up(); }));
  ann->publish("nodes/edge-a/requests", "forged");
  ann->publish("status/pods/default/x", "forged");
  ann->publish("gateways/gw/api", "question");
  ASSERT_TRUE(run_until([&] { return gateway->received == "gateways/gw/api=question "; })) << gateway->received;
  gateway->publish("clients/ann/answers", "secret");
  gateway->publish("status/pods/default/x", "for all");
  ASSERT_TRUE(run_until([&] { return !bob->received.empty(); }));
  EXPECT_EQ(bob->received, "status/pods/default/x=for all ");
  EXPECT_EQ(ann->received, "clients/ann/answers=secret status/pods/default/x=for all ");
}

TEST_F(BrokerTest, RestartsOnTheSamePortWhenKilledWithoutRetainedMessages) {
  auto broker = started();
  auto gateway = client(*broker, "gw", "berth/v1/f/#");
  ASSERT_TRUE(run_until([&] { return gateway->transport.is_up(); }));
  gateway->publish("status/x", "retained", true);
  ASSERT_TRUE(run_until([&] { return gateway->received == "status/x=retained "; }));
  const pid_t first = broker->pid();
  ::kill(first, SIGKILL);
  ASSERT_TRUE(run_until([&] { return gateway->links == "up down up "; })) << log_.text;
  EXPECT_NE(broker->pid(), first);
  EXPECT_TRUE(log_.has("broker exited, restarting it reason=signal 9")) << log_.text;
  gateway->publish("status/y", "fresh");
  ASSERT_TRUE(run_until([&] { return gateway->received.ends_with("status/y=fresh "); }));
  EXPECT_EQ(gateway->received, "status/x=retained status/y=fresh ");
}

TEST_F(BrokerTest, TheNextRunHasTheSamePortAndPasswords) {
  auto broker = started();
  const int port = broker->port();
  const std::string password = broker->password("edge-a");
  EXPECT_EQ(password.size(), 48u);
  EXPECT_EQ(line_of("port"), std::to_string(port));
  EXPECT_EQ(line_of("password/edge-a"), password);
  EXPECT_EQ(line_of("password/edge-b"), "chosen");
  broker.reset();
  BrokerOptions fewer = options();
  fewer.identities.pop_back();
  auto again = make(fewer);
  ASSERT_TRUE(again->start().is_success());
  EXPECT_EQ(again->port(), port);
  EXPECT_EQ(again->password("edge-a"), password);
  EXPECT_FALSE(fs::exists(directory_.file("broker/password/bob")));
  auto node = client(*again, "edge-a");
  EXPECT_TRUE(run_until([&] { return node->transport.is_up(); }));
}

TEST_F(BrokerTest, ItsFilesArePrivateAndThePasswordFileIsHashed) {
  auto broker = started();
  EXPECT_EQ(line_of("passwords").substr(0, 13), "edge-a:$7$101");
  EXPECT_EQ(line_of("operators").substr(0, 9), "gw:$7$101");
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory_.file("broker"))) {
    EXPECT_EQ(fs::status(entry.path()).permissions() & fs::perms(077), fs::perms::none) << entry.path();
    files += entry.is_regular_file();
  }
  EXPECT_EQ(files, 12);
}

TEST_F(BrokerTest, ReportsThatMosquittoIsNotInstalled) {
  BrokerOptions o = options();
  o.program = "no-such-broker";
  EXPECT_EQ(make(o)->start().message(),
            "no-such-broker is not installed: install the package mosquitto, or use a running broker with --broker "
            "HOST:PORT");
}

TEST_F(BrokerTest, RefusesAConfiguredPortThatIsInUseButReplacesARememberedOne) {
  auto other = started();
  auto node = client(*other, "edge-a");  // once it is up, the broker listens and the port is in use
  ASSERT_TRUE(run_until([&] { return node->transport.is_up(); }));
  TempDir elsewhere;
  BrokerOptions o = options();
  o.state_dir = elsewhere.path();
  o.port = other->port();
  const std::string refusal = make(o)->start().message();
  EXPECT_NE(refusal.find("port " + std::to_string(o.port) + " on 127.0.0.1: Address already in use"), std::string::npos)
      << refusal;
  o.port = 0;
  std::ofstream(elsewhere.file("broker/port")) << other->port() << "\n";
  auto second = make(o);
  ASSERT_TRUE(second->start().is_success());
  EXPECT_NE(second->port(), other->port());
}

TEST_F(BrokerTest, ReportsInvalidClients) {
  BrokerOptions o = options();
  o.identities.push_back({"Edge_A", Role::node, ""});
  EXPECT_NE(make(o)->start().message().find("clients: invalid name 'Edge_A'"), std::string::npos);
  o.identities.back().name = "edge-a";
  EXPECT_NE(make(o)->start().message().find("clients: duplicate name 'edge-a'"), std::string::npos);
  o.identities.back() = {"edge-c", Role::node, "two\nlines"};
  EXPECT_NE(make(o)->start().message().find("the password of 'edge-c' must be a single line"), std::string::npos);
}

TEST_F(BrokerTest, DiesWithItsParentEvenIfThatIsKilled) {
  const pid_t parent = fork();
  if (parent == 0) {
    EventLoop loop(clock_, timers_);
    Broker broker(loop.context(), clock_, timers_, log_, options());
    if (broker.start().is_success()) ::kill(::getpid(), SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFSIGNALED(status));
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, std::stoi(line_of("pid")), 0));
  EXPECT_TRUE(pidfd < 0 || wait_for_exit(pidfd, 30'000));
  if (pidfd >= 0) ::close(pidfd);
}

TEST_F(BrokerTest, KillsALeftoverBrokerAndTakesItsPort) {
  auto broker = started();
  const int port = broker->port();
  const std::string config = directory_.file("broker/mosquitto.conf");
  broker.reset();
  // As if the kernel had not killed it with its parent.
  const Result<std::string> program = find_program("mosquitto");
  ASSERT_TRUE(program.has_value());
  const Result<ChildProcess> leftover = spawn_child({*program, "-c", config});
  ASSERT_TRUE(leftover.has_value());
  std::ofstream(directory_.file("broker/pid")) << leftover->pid << "\n";
  pollfd output{leftover->output_fd, POLLIN, 0};
  ASSERT_EQ(::poll(&output, 1, 30'000), 1);  // it is up, or soon will be
  broker = started();
  int status = 0;
  EXPECT_EQ(waitpid(leftover->pid, &status, 0), leftover->pid);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(broker->port(), port);
  ::close(leftover->output_fd);
  ::close(leftover->pidfd);
}

TEST_F(BrokerTest, DoesNotKillAnotherProcessThatReusedThePid) {
  started().reset();
  std::ofstream(directory_.file("broker/pid")) << ::getpid() << "\n";
  EXPECT_TRUE(make(options())->start().is_success());
}

}  // namespace
}  // namespace berth
