// Events: what is counted, limited, kept and forgotten, what of them is on flash, and how they are asked for.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class Events : public GatewayTest {
 protected:
  Events() {
    transport.up = true;
    begin();
  }
  void begin() {
    turn_of = std::make_unique<Turn>(store, transport);
    events = std::make_unique<EventRecorder>(*turn_of, topics, clock, store);
  }
  // As after a power cut.
  void begin_again() {
    events.reset();
    turn_of.reset();
    store.crash();
    begin();
    const Result<std::vector<Record>> records = store.load();
    for (const Record& record : *records) {
      ASSERT_TRUE(events->load({record.table, record.key, record.value, record.phase}).is_success()) << record.key;
    }
  }
  // The payload published; "nothing".
  std::string say(const std::string& pod, const std::string& type, const std::string& reason,
                  const std::string& message = "why", const std::string& source = {}) {
    transport.sent.clear();
    events->record({Kind::pod, pod, type, reason, message, source});
    finish();
    return transport.sent.empty() ? std::string("nothing") : transport.sent.back().payload;
  }
  void finish() { EXPECT_TRUE(turn_of->finish().is_success()); }
  std::vector<int> counts(const std::string& pod) const {
    std::vector<int> all;
    for (const EventRecord* record : events->of(Kind::pod, pod)) all.push_back(record->count);
    return all;
  }
  std::size_t stored() const { return store.durable().size(); }

  std::unique_ptr<Turn> turn_of;
  std::unique_ptr<EventRecorder> events;
};

using Counts = std::vector<int>;

TEST_F(Events, AreTheNewsOfTheirObjectAndSayNoMoreThanThat) {
  EXPECT_EQ(say("d/a", "Normal", "Scheduled").find("type"), std::string::npos);
  EXPECT_NE(say("d/b", "Warning", "FailedScheduling").find(R"("type":"Warning")"), std::string::npos);
  EXPECT_EQ(say("d/a", "Normal", "Scheduled"), "nothing") << "counted";
  EXPECT_EQ(counts("d/a"), Counts{2});
  EXPECT_NE(say("d/a", "Warning", "Preempted"), "nothing");
  EXPECT_NE(say("d/a", "Normal", "Scheduled"), "nothing") << "only neighbours are not said again";
  EXPECT_EQ(counts("d/a"), (Counts{1, 3})) << "and all are counted";
}

TEST_F(Events, OfOneTurnArePublishedWithOneTime) {
  events->record({Kind::pod, "d/a", "Normal", "Scheduled", "why", {}});
  ++clock.now_ms;
  events->record({Kind::pod, "d/b", "Normal", "Scheduled", "why", {}});
  transport.on_wire.clear();
  finish();
  ASSERT_EQ(transport.on_wire.size(), 1u);
  const std::string& payload = transport.on_wire.front().payload;
  const std::size_t at = payload.find(R"("time")");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(payload.find(R"("time")", at + 1), std::string::npos) << payload;
}

TEST_F(Events, CountAnEqualOneAndKeepWhenItWasFirstAndLast) {
  say("d/a", "Warning", "FailedScheduling");
  clock.now_ms += 5'000;
  say("d/a", "Warning", "FailedScheduling");
  const EventRecord* record = events->of(Kind::pod, "d/a").at(0);
  EXPECT_EQ(record->last - record->first, 5'000);
}

TEST_F(Events, OfADeviceAreLimitedToTenAboutAnObjectAndThenOneInFiveMinutes) {
  const auto said = [&](int from, int to) {
    int published = 0;
    for (int i = from; i < to; ++i) {
      if (say("d/a", "Warning", "BackOff", "word " + std::to_string(i), "n1") != "nothing") ++published;
    }
    return published;
  };
  EXPECT_EQ(said(0, 1000), 10);
  EXPECT_EQ(counts("d/a").size(), 10u);
  EXPECT_NE(say("d/b", "Warning", "BackOff", "why", "n1"), "nothing") << "another object";
  clock.now_ms += 299'999;
  EXPECT_EQ(said(1000, 1010), 0);
  clock.now_ms += 2;
  EXPECT_EQ(said(1010, 1020), 1);
}

TEST_F(Events, OfOneDevicePushOutItsOwnAndNobodyElses) {
  say("d/mine", "Warning", "FailedScheduling");
  for (int i = 0; i < 5000; ++i) say("d/x" + std::to_string(i), "Warning", "BackOff", "why", "n1");
  EXPECT_EQ(counts("d/mine"), Counts{1});
  EXPECT_EQ(events->all().size(), 1 + EventRecorder::kMaxOfSource);
  EXPECT_EQ(counts("d/x4999"), Counts{1});
  EXPECT_EQ(counts("d/x0"), Counts{});
}

TEST_F(Events, AreBoundedForEachObjectAndInAll) {
  for (std::size_t i = 0; i < 100; ++i) say("d/a", "Warning", "FailedScheduling", "word " + std::to_string(i));
  EXPECT_EQ(events->of(Kind::pod, "d/a").size(), EventRecorder::kMaxOfObject);
  EXPECT_EQ(events->of(Kind::pod, "d/a").back()->event.message, "word 99");
  for (std::size_t i = 0; i < EventRecorder::kMaxEvents; ++i) say("d/x" + std::to_string(i), "Normal", "Scheduled");
  EXPECT_EQ(counts("d/a"), Counts{});
  EXPECT_EQ(events->all().size(), EventRecorder::kMaxEvents);
  EXPECT_NE(say("d/a", "Normal", "Scheduled"), "nothing") << "forgotten by now";
  EXPECT_EQ(say("d/x999", "Normal", "Scheduled"), "nothing");
}

TEST_F(Events, HaveAMessageOfBoundedLengthThatIsStillUtf8) {
  std::string text = "x";
  while (text.size() < 5000) text += "ü";
  say("d/a", "Warning", "BackOff", text, "n1");
  const std::string& kept = events->of(Kind::pod, "d/a").at(0)->event.message;
  EXPECT_EQ(kept.size(), 1023u);
  EXPECT_EQ(kept, text.substr(0, 1023));
}

TEST_F(Events, GoAnHourAfterTheLast) {
  say("d/a", "Warning", "FailedScheduling");
  say("d/b", "Warning", "FailedScheduling");
  clock.now_ms += EventRecorder::kKeptMs - 1;
  events->expire();
  say("d/b", "Warning", "FailedScheduling");
  clock.now_ms += 1;
  events->expire();
  EXPECT_EQ(counts("d/a"), Counts{});
  EXPECT_EQ(counts("d/b"), Counts{2});
}

TEST_F(Events, AreWrittenBesideSomethingElseAtMostOnceAMinute) {
  const auto save = [this](bool beside) {
    events->save(beside);
    finish();
    return stored();
  };
  say("d/a", "Warning", "FailedScheduling");
  EXPECT_EQ(save(true), 1u);
  say("d/b", "Warning", "FailedScheduling");
  clock.now_ms += EventRecorder::kBesideMs - 1;
  EXPECT_EQ(save(true), 1u);
  clock.now_ms += 1;
  EXPECT_EQ(save(false), 2u) << "something was written in that minute";
  say("d/c", "Warning", "FailedScheduling");
  clock.now_ms += 10 * EventRecorder::kBesideMs;
  EXPECT_EQ(save(false), 2u) << "alone they cause no write";
  EXPECT_EQ(save(true), 3u);
}

TEST_F(Events, ThatAreOnlyCountedCauseNoWriteAndAreWrittenAtACleanEnd) {
  say("d/a", "Warning", "FailedScheduling");
  events->save(true);
  finish();
  const std::uint64_t commits = store.commits();
  for (int hour = 0; hour < 24; ++hour) {
    clock.now_ms += EventRecorder::kKeptMs - 1000;
    say("d/a", "Warning", "FailedScheduling");
    events->expire();
    events->save(true);
    finish();
  }
  EXPECT_EQ(store.commits(), commits) << "a pod that fits nowhere costs nothing";
  events->save_all();
  finish();
  begin_again();
  EXPECT_EQ(counts("d/a"), Counts{25});
}

TEST_F(Events, SurviveARestartForTheRestOfTheirHour) {
  say("d/a", "Warning", "BackOff", "why \"quoted\"", "n1");
  say("d/a", "Warning", "BackOff", "why \"quoted\"", "n1");
  clock.now_ms += 1'800'000;
  say("d/b", "Normal", "Scheduled");
  events->save_all();
  finish();
  begin_again();
  ASSERT_EQ(counts("d/a"), Counts{2});
  const EventRecord* record = events->of(Kind::pod, "d/a").at(0);
  EXPECT_EQ(record->event.message, "why \"quoted\"");
  EXPECT_EQ(record->event.source, "n1");
  clock.now_ms += 1'800'000;
  events->expire();
  EXPECT_EQ(counts("d/a"), Counts{});
  EXPECT_EQ(counts("d/b"), Counts{1});
  say("d/c", "Normal", "Scheduled");
  events->save_all();
  finish();
  EXPECT_EQ(stored(), 2u) << "what has gone is erased";
}

TEST_F(Events, OnFlashAreBounded) {
  const std::string escapes(1024, '\x01');
  for (std::size_t i = 0; i < EventRecorder::kMaxEvents; ++i) {
    say("d/x" + std::to_string(i), "Warning", "FailedScheduling", escapes);
  }
  for (int save = 0; save < 3; ++save) events->save_all();
  finish();
  EXPECT_EQ(stored(), EventRecorder::kMaxSaved);
  for (const auto& [key, value] : store.durable()) EXPECT_LE(value.value.size(), 4096u);
  begin_again();
  EXPECT_EQ(events->all().size(), EventRecorder::kMaxSaved);
}

TEST_F(Events, ThatAreNotSavedGoFirst) {
  say("d/old", "Warning", "FailedScheduling", "why");
  for (std::size_t i = 0; i < 2 * EventRecorder::kMaxEvents; ++i) {
    ObjectEvent started{Kind::pod, Text("d/x" + std::to_string(i)), "Normal",
                        "Started", "Started container c",           Text("n" + std::to_string(i % 50))};
    started.is_saved = false;
    events->record(std::move(started));
  }
  EXPECT_EQ(events->all().size(), EventRecorder::kMaxEvents);
  EXPECT_EQ(counts("d/old"), Counts{1});
  events->save_all();
  finish();
  EXPECT_EQ(stored(), 1u);
}

class GatewayEvents : public GatewayTest {
 protected:
  std::vector<std::string> lines(const std::string& request = R"({"op":"events"})") {
    std::vector<std::string> all;
    const Json reply = api(request);
    for (const Json& item :
         reply.find(request.find("describe") == std::string::npos ? "items" : "events")->as_array()) {
      all.push_back(item.string_at("kind") + " " + item.string_at("name") + " " + item.string_at("reason") + ": " +
                    item.string_at("message") + " x" + std::to_string(item.find("count")->as_int()));
    }
    return all;
  }
  void presence(bool online, const std::string& boot, int session) {
    receive(topics.node_presence("n1"), R"({"incarnation":"i1","bootId":")" + boot + R"(","session":")" +
                                            std::to_string(session) + R"(","online":)" + (online ? "true" : "false") +
                                            "}");
  }
  // Of the pod's container c.
  void report(const std::string& pod, const std::string& uid, const std::string& state, const std::string& more = {}) {
    const std::string epoch = to_text(gateway->bindings().at(uid).row.epoch);
    receive(topics.node_pod("n1", "default/" + pod),
            R"({"uid":")" + uid + R"(","epoch":")" + epoch +
                R"(","phase":"Running","containerStatuses":[{"name":"c","state":)" + state + more + "}]}",
            true);
  }
  std::int64_t counts_of(const std::string& reason) {
    std::int64_t count = 0;
    const Json reply = api(R"({"op":"events"})");
    for (const Json& item : reply.find("items")->as_array()) {
      if (item.string_at("reason") == reason) count += item.find("count")->as_int();
    }
    return count;
  }
  void crash(const std::string& pod, const std::string& uid, int restarts, const char* statuses = "containerStatuses") {
    const std::string epoch = to_text(gateway->bindings().at(uid).row.epoch);
    receive(topics.node_pod("n1", "default/" + pod),
            R"({"uid":")" + uid + R"(","epoch":")" + epoch + R"(","phase":"Running",")" + statuses +
                R"(":[{"name":"c","restartCount":)" + std::to_string(restarts) + "}]}",
            true);
  }
};

using Lines = std::vector<std::string>;

TEST_F(GatewayEvents, TellOfANodeAsKubernetesDoes) {
  start_connected();
  device("n1");
  presence(true, "b1", 2);
  presence(false, "b1", 2);
  presence(true, "b2", 3);
  api(R"({"op":"apply","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"spec":{"unschedulable":true}}})");
  EXPECT_EQ(lines(R"({"op":"describe","kind":"node","name":"n1"})"),
            (Lines{"Node n1 RegisteredNode: Node n1 event: Registered Node n1 in Controller x1",
                   "Node n1 NodeNotReady: Node n1 status is now: NodeNotReady x1",
                   "Node n1 NodeReady: Node n1 status is now: NodeReady x1",
                   "Node n1 Rebooted: Node n1 has been rebooted, boot id: b2 x1",
                   "Node n1 NodeNotSchedulable: Node n1 status is now: NodeNotSchedulable x1"}));
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  EXPECT_EQ(lines().back(), "Node n1 RemovingNode: Node n1 event: Removing Node n1 from Controller x1");
}

TEST_F(GatewayEvents, SayNothingOfANodeThatTheStoreKnowsAndThatComesBackAfterARestart) {
  start_connected();
  device("n1");
  gateway->say_goodbye();
  turn();
  restart();
  device("n1");
  EXPECT_EQ(lines(), Lines{"Node n1 RegisteredNode: Node n1 event: Registered Node n1 in Controller x1"});
}

TEST_F(GatewayEvents, TellOfContainersThatCrashAndAreOfTheDeviceThatSaysSo) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  crash("web", "u1", 0);
  crash("web", "u1", 1);
  crash("web", "u1", 2);
  crash("web", "u1", 2, "initContainerStatuses");
  const std::string want = "Pod web BackOff: Back-off restarting failed container c in pod web_default(u1) x2";
  EXPECT_EQ(lines().back(), want);
  for (int restarts = 3; restarts < 100; ++restarts) crash("web", "u1", restarts);
  EXPECT_EQ(lines().size(), 3u) << "registered, scheduled, crashed";
}

TEST_F(GatewayEvents, TellOfContainersThatAreStartedAndStopped) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  report("web", "u1", R"({"waiting":{"reason":"ContainerCreating"}})");
  report("web", "u1", R"({"running":{}})");
  report("web", "u1", R"({"running":{}})", R"(,"ready":true)");
  EXPECT_EQ(lines().back(), "Pod web Started: Started container c x1");
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":1)");
  EXPECT_EQ(counts_of("Started"), 2) << "it was between the two reports that it ended";
  EXPECT_EQ(counts_of("BackOff"), 1);
  report("web", "u1", R"({"waiting":{"reason":"CrashLoopBackOff"}})",
         R"(,"restartCount":2,"lastState":{"terminated":{"reason":"Error"}})");
  EXPECT_EQ(counts_of("Started"), 2);
  report("web", "u1", R"({"waiting":{"reason":"CrashLoopBackOff"}})",
         R"(,"restartCount":3,"lastState":{"terminated":{"reason":"Error"}})");
  EXPECT_EQ(counts_of("Started"), 3) << "it ran for less than a report";
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":3)");
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
  EXPECT_EQ(lines().back(), "Pod web Killing: Stopping container c x1");
}

TEST_F(GatewayEvents, TellWhatADeviceSaysOfAPodOnceForEachId) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  const auto told = [this](const std::string& events) {
    const std::string epoch = to_text(gateway->bindings().at("u1").row.epoch);
    receive(topics.node_pod("n1", "default/web"),
            R"({"uid":"u1","epoch":")" + epoch + R"(","phase":"Pending","events":[)" + events + "]}", true);
  };
  const std::string pulling = R"({"id":"1p","reason":"Pulling","message":"Pulling image \"i\""})";
  const std::string failed = R"({"id":"2p","type":"Warning","reason":"Failed","message":"no route"})";
  told(pulling);
  EXPECT_EQ(lines().back(), "Pod web Pulling: Pulling image \"i\" x1");
  told(pulling + "," + failed);
  EXPECT_EQ(lines().back(), "Pod web Failed: no route x1");
  EXPECT_EQ(counts_of("Pulling"), 1) << "it is in both reports";
  told(failed + "," + R"({"id":"3p","reason":"Pulling","message":"Pulling image \"i\""})");
  EXPECT_EQ(counts_of("Pulling"), 2);
  EXPECT_EQ(counts_of("Failed"), 1);
  told(R"({"id":"4p","reason":"not a reason","message":"m"},{"reason":"NoId","message":"m"},7,)" + failed);
  EXPECT_EQ(counts_of("Failed"), 1);
  EXPECT_EQ(counts_of("NoId") + counts_of("not a reason"), 0);
}

TEST_F(GatewayEvents, TellNothingTwiceWhenAnAgentStartsAndHasNotReadItsContainersYet) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":2)");
  ASSERT_EQ(counts_of("Started"), 1);
  const std::string epoch = to_text(gateway->bindings().at("u1").row.epoch);
  receive(topics.node_pod("n1", "default/web"),
          R"({"uid":"u1","epoch":")" + epoch + R"(","phase":"Pending","slot":"running"})", true);
  EXPECT_NE(
      api(R"({"op":"describe","kind":"pod","namespace":"default","name":"web"})").dump().find("containerStatuses"),
      std::string::npos)
      << "what is known of them stays";
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":2)");
  EXPECT_EQ(counts_of("Started"), 1);
  EXPECT_EQ(counts_of("BackOff"), 1);
}

TEST_F(GatewayEvents, TellOfAContainerThatCannotBeStarted) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  const auto fails = [this](int restarts) {
    report("web", "u1", R"({"waiting":{"reason":"CrashLoopBackOff"}})",
           R"(,"restartCount":)" + std::to_string(restarts) +
               R"(,"lastState":{"terminated":{"reason":"StartError","message":"no such file: /bin/web"}})");
  };
  fails(1);
  fails(2);
  EXPECT_EQ(counts_of("Failed"), 2);
  EXPECT_EQ(lines().back(), "Pod web Failed: Error: container c: no such file: /bin/web x2");
  report("web", "u1", R"({"waiting":{"reason":"ErrImagePull"}})", R"(,"restartCount":2)");
  EXPECT_EQ(lines().back(), "Pod web Failed: Error: container c: ErrImagePull x1");
  EXPECT_EQ(counts_of("Started"), 0);
}

TEST_F(GatewayEvents, TellNothingNewOfWhatTheBrokerRetainedAndNothingOfItIsOnFlash) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":1)");
  ASSERT_EQ(counts_of("Started"), 1);
  gateway->say_goodbye();
  turn();
  gateway.reset();
  store.crash();
  start();
  transport.up = true;
  transport.sent.clear();
  gateway->on_link(true);
  turn();
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":1)");
  return_fences();
  EXPECT_EQ(counts_of("Started"), 0);
  EXPECT_EQ(counts_of("BackOff"), 1);
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":2)");
  EXPECT_EQ(counts_of("Started"), 1);
}

TEST_F(GatewayEvents, TellNothingAgainAfterARestartWhoseBrokerHasLostWhatItRetained) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":1)");
  ASSERT_EQ(counts_of("BackOff"), 1);
  gateway->say_goodbye();
  turn();
  restart();
  device("n1");
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":1)");
  EXPECT_EQ(counts_of("Started"), 0) << "it was started before";
  EXPECT_EQ(counts_of("BackOff"), 1) << "it has not crashed again";
  report("web", "u1", R"({"running":{}})", R"(,"restartCount":2)");
  EXPECT_EQ(counts_of("Started"), 1);
  EXPECT_EQ(counts_of("BackOff"), 2);
  bind_pod("new", "u2", "n1");
  report("new", "u2", R"({"running":{}})");
  EXPECT_EQ(counts_of("Started"), 2) << "placed since, it is news";
}

TEST_F(GatewayEvents, TellWhyADeviceRejectedAPod) {
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  answer("n1", AnswerType::rejected);
  const std::string line = lines(R"({"op":"describe","kind":"pod","namespace":"default","name":"web"})").at(0);
  EXPECT_NE(line.find("FailedScheduling"), std::string::npos) << line;
  EXPECT_NE(line.find("node n1 rejected the pod: insufficient memory: 64Mi asked, 40Mi free"), std::string::npos)
      << line;
}

TEST_F(GatewayEvents, TellOfAClaimThatWaitsForItsFirstPod) {
  start_connected();
  apply(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},"provisioner":"x",
            "volumeBindingMode":"WaitForFirstConsumer"})");
  apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":{
            "accessModes":["ReadWriteOnce"],"storageClassName":"local","resources":{"requests":{"storage":"1Gi"}}}})");
  EXPECT_EQ(lines(R"({"op":"describe","kind":"pvc","namespace":"default","name":"data"})"),
            Lines{"PersistentVolumeClaim data WaitForFirstConsumer: waiting for first consumer to be created before "
                  "binding x1"});
}

TEST_F(GatewayEvents, SurviveAPowerCutOnceSomethingWasWrittenBesideThem) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  crash("web", "u1", 1);
  const Lines before = lines();
  clock.now_ms += EventRecorder::kBesideMs;
  bind_pod("other", "u2", "n1");  // writes
  restart();
  const Lines after = lines();
  EXPECT_TRUE(std::ranges::includes(std::set<std::string>(after.begin(), after.end()),
                                    std::set<std::string>(before.begin(), before.end())))
      << after.size();
}

TEST_F(GatewayEvents, AreListedInPagesAndByNamespace) {
  start_connected();
  device("n1");
  for (int i = 0; i < 500; ++i) {
    apply(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p)" + std::to_string(i) +
          R"(","namespace":"other"},"spec":{"nodeSelector":{"x":"y"},"containers":[{"name":"c","image":"i"}]}})");
  }
  std::set<std::string> names;
  std::string from;
  int pages = 0;
  do {
    const Json reply = api(R"({"op":"events","namespace":"other","continue":")" + from + R"("})");
    EXPECT_LT(reply.dump().size(), 64u * 1024);
    for (const Json& item : reply.find("items")->as_array()) names.insert(item.string_at("name"));
    from = reply.string_at("continue");
    ++pages;
  } while (!from.empty());
  EXPECT_EQ(names.size(), 500u);
  EXPECT_GT(pages, 1);
  EXPECT_EQ(lines(R"({"op":"events","namespace":"default"})").size(), 1u) << "of the node";
}

}  // namespace
}  // namespace berth
