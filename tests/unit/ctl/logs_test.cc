// berthctl logs against a device's server, over an in-memory broker and on a virtual clock.
#include <sstream>

#include "firmware-host/ctl/commands.h"
#include "tests/unit/streams/streams_fixture.h"

namespace berth {
namespace {

class CtlLogs : public StreamsFixture {
 protected:
  CtlLogs() {
    retainer_.connect();
    run(0);
    options_.command = CtlOptions::Command::logs;
    options_.name = "web";
    device_.texts.text.text = lines(0, 3);
    retain("nodes/n1/state", R"({"protocol":"1.14","streams":["logs"]})");
    retain("nodes/n1/presence", R"({"online":true})");
    operator_.connect();
  }
  void retain(const std::string& below, const std::string& payload) {
    Message message;
    message.topic = "berth/v1/f/" + below;
    message.payload = payload;
    message.retain = true;
    retainer_.send(message);
    run(0);
  }
  void retain_pod() { retain("status/pods/default/web", R"({"uid":"u1","phase":"Running","nodeName":"n1"})"); }

  Outcome<void> logs() {
    return run_logs({operator_, clock_, timers_, [this] { until_stopped(); }, [this] { stopped_ = true; },
                     [] { return std::string(); }},
                    {"f", "gw", "ann", "s1", "broker:1883", 10'000}, options_, Screen{out_, err_});
  }
  void at(Millis delay, std::function<void()> what) { timers_.at(clock_.now() + delay, std::move(what)); }
  // As if a signal came at the end of it.
  void until_stopped() {
    for (stopped_ = false; !stopped_ && timers_.next() && *timers_.next() < signal_at_;) {
      clock_.now_ms = std::max(clock_.now_ms, *timers_.next());
      timers_.run_due(clock_.now_ms);
      device_.server.end_turn();
    }
  }

  LoopbackClient retainer_{broker_, "retainer"};
  LoopbackClient operator_{broker_, "ctl"};
  CtlOptions options_;
  std::ostringstream out_, err_;
  bool stopped_ = false;
  Millis signal_at_ = 1'000'000;
};

TEST_F(CtlLogs, ShowsWhatTheDeviceOfThePodSends) {
  retain_pod();
  const Outcome<void> done = logs();
  EXPECT_TRUE(done) << done.error().text;
  EXPECT_EQ(out_.str(), lines(0, 3));
  EXPECT_EQ(err_.str(), "Defaulted container \"main\" out of: main, other\n");
  ASSERT_EQ(device_.texts.queries.size(), 1u);
  EXPECT_EQ(device_.texts.queries[0].uid, "u1");
  EXPECT_EQ(device_.texts.queries[0].pod, "default/web");
}

TEST_F(CtlLogs, AnyDeviceThatTellsOfThePodIsAskedIfNoGatewayDoes) {
  retain("nodes/n1/pods/default/web", R"({"uid":"u7","phase":"Running"})");
  EXPECT_TRUE(logs());
  EXPECT_EQ(device_.texts.queries.at(0).uid, "u7");
}

TEST_F(CtlLogs, APodThatNobodyTellsOfIsNotWaitedForWhereAGatewayHasServed) {
  retain("leader", R"({"gateway":"gw"})");
  const Millis began = clock_.now();
  const Outcome<void> done = logs();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().exit, Exit::refused);
  EXPECT_TRUE(done.error().text.starts_with("pod default/web not found")) << done.error().text;
  EXPECT_EQ(clock_.now(), began);
}

TEST_F(CtlLogs, WithoutAnAnswerItGivesUpInTime) {
  retain_pod();
  device_.client.disconnect();
  const Millis began = clock_.now();
  const Outcome<void> done = logs();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().exit, Exit::no_answer);
  EXPECT_EQ(clock_.now(), began + 10'000);
}

TEST_F(CtlLogs, AFollowerGoesOnOverLostLinksOfBothSides) {
  retain_pod();
  options_.logs.follow = true;
  device_.texts.text.is_over = false;
  int written = 3;
  for (Millis second = 1; second < 120; ++second) {
    at(second * 1000, [this, &written] {
      write(lines(written, written + 10));
      written += 10;
    });
  }
  at(10'500, [this] { operator_.drop(); });
  at(14'500, [this] { operator_.connect(); });
  at(30'500, [this] { device_.client.drop(); });
  at(70'500, [this] { device_.client.connect(); });  // longer than its silence is borne
  at(90'500, [this] { broker_.restart(3'000); });
  at(130'000, [this] {
    device_.texts.text.is_over = true;
    write("");
  });
  const Outcome<void> done = logs();
  EXPECT_TRUE(done) << done.error().text;
  EXPECT_EQ(out_.str(), lines(0, written));
  EXPECT_EQ(device_.server.size(), 0u);
}

TEST_F(CtlLogs, AFollowerWhosePlaceWasTakenWaitsForAnother) {
  retain_pod();
  options_.logs.follow = true;
  device_.texts.text.is_over = false;
  std::vector<std::unique_ptr<FakeReader>> others;
  at(5'000, [&] {
    device_.client.drop();  // ends its stream
    device_.client.connect();
  });
  at(5'001, [&] {
    for (std::size_t i = 0; i < StreamServer::kStreamsMax; ++i) {
      others.push_back(std::make_unique<FakeReader>(broker_, clock_, timers_, "o" + std::to_string(i), true));
      others.back()->opened = 1;  // it opens once it is connected
    }
  });
  at(30'000, [&] { others.clear(); });
  at(60'000, [&] {
    write(lines(3, 5));
    device_.texts.text.is_over = true;
    write("");
  });
  const Outcome<void> done = logs();
  EXPECT_TRUE(done) << done.error().text;
  EXPECT_EQ(out_.str(), lines(0, 5));
}

TEST_F(CtlLogs, ASignalEndsAFollower) {
  retain_pod();
  options_.logs.follow = true;
  device_.texts.text.is_over = false;
  signal_at_ = clock_.now() + 50'000;
  const Outcome<void> done = logs();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().exit, Exit::interrupted);
  run(0);
  EXPECT_EQ(device_.server.size(), 0u) << "the device is told at once";
}

TEST_F(CtlLogs, OutputThatCannotBeWrittenEndsIt) {
  retain_pod();
  options_.logs.follow = true;
  device_.texts.text.is_over = false;
  out_.setstate(std::ios::badbit);
  const Outcome<void> done = logs();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().exit, Exit::system);
}

}  // namespace
}  // namespace berth
