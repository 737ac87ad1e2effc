// berthctl against a fake gateway, over an in-memory broker.
#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <sstream>

#include "firmware-host/ctl/commands.h"
#include "tests/unit/parsed_json.h"
#include "transports/loopback.h"

namespace berth {
namespace {

class VirtualClock final : public Clock {
 public:
  Millis now() const override { return time; }
  Millis wall() const override { return time; }
  Millis time = 1000;
};

// Answers each request with the next prepared answer; without one, or with an empty one, it does not answer.
class FakeGateway final : public Transport::Handler {
 public:
  explicit FakeGateway(LoopbackBroker& broker) : client_(broker, "gw") {
    client_.set_handler(this);
    client_.connect();
  }
  void on_link(bool up) override {
    if (up) client_.subscribe("berth/v1/f/gateways/gw/api", 1);
  }
  void on_message(const Message& message) override {
    requests.push_back(message);
    if (answers.empty()) return;
    Message answer;
    answer.topic = message.response_topic;
    answer.correlation = message.correlation;
    answer.payload = answers.front();
    answers.pop_front();
    if (answer.payload.empty()) return;
    client_.send(answer);
    for (const Message& each : std::exchange(then, {})) client_.send(each);
  }
  Json request(std::size_t i) const { return i < requests.size() ? parsed_json(requests[i].payload) : Json(); }
  std::string ops() const {
    std::string text;
    for (std::size_t i = 0; i < requests.size(); ++i) text += (i == 0 ? "" : " ") + request(i).find("op")->as_string();
    return text;
  }

  std::deque<std::string> answers;
  std::vector<Message> then;  // sent after the next answer
  std::vector<Message> requests;

 private:
  LoopbackClient client_;
};

class CtlClient : public testing::Test {
 protected:
  CtlClient() { operator_.connect(); }

  // Advances time until the client stops; when no timer is left, it acts as if a signal had arrived.
  void run() {
    stopped_ = false;
    while (!stopped_ && timers_.next() && *timers_.next() < signal_at_) {
      clock_.time = std::max(clock_.time, *timers_.next());
      timers_.run_due(clock_.time);
    }
  }
  ApiClient::Engine engine() {
    return {operator_,
            clock_,
            timers_,
            [this] { run(); },
            [this] { stopped_ = true; },
            [] { return std::string("connection refused"); }};
  }

  VirtualClock clock_;
  Timers timers_;
  bool stopped_ = false;
  Millis signal_at_ = 1'000'000;
  LoopbackBroker broker_{clock_, timers_, 7};
  LoopbackClient operator_{broker_, "ctl"};
  FakeGateway gateway_{broker_};
  ApiClient client_{engine(), {"f", "gw", "operator", "s1", "broker:1883", 10'000}};
  std::ostringstream out_, err_;
  Screen screen_{out_, err_};
  CtlOptions options_;
};

TEST_F(CtlClient, SendsItsOwnResponseTopicAndReturnsTheAnswer) {
  gateway_.answers = {R"({"ok":true,"result":"x"})"};
  const Outcome<Json> answer = client_.ask(parsed_json(R"({"op":"status"})"), true);
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(*answer->find("result"), Json("x"));
  ASSERT_EQ(gateway_.requests.size(), 1u);
  EXPECT_EQ(gateway_.requests[0].response_topic, "berth/v1/f/clients/operator/s1");
  EXPECT_FALSE(gateway_.requests[0].correlation.empty());
}

TEST_F(CtlClient, AppliesAndGetsInPartsWhatIsLargerThanAMessage) {
  const std::string value(100'000, 'v');
  Json object = parsed_json(R"({"kind":"ConfigMap","data":{}})");
  object.find("data")->set("k", value);
  for (int i = 0; i < 4; ++i) gateway_.answers.emplace_back(R"({"ok":true,"result":"received"})");
  ASSERT_TRUE(client_.apply(Json::object(), object, true));
  std::string sent;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < gateway_.requests.size(); ++i) {
    const Json request = gateway_.request(i);
    const Json& upload = *request.find("upload");
    EXPECT_EQ(*upload.find("part"), Json(static_cast<std::int64_t>(i)));
    EXPECT_EQ(*upload.find("parts"), Json(std::int64_t{4}));
    ids.insert(upload.string_at("id"));
    EXPECT_LE(gateway_.requests[i].payload.size(), 64u * 1024);
    sent += upload.string_at("text");
  }
  EXPECT_EQ(sent, object.dump());
  EXPECT_EQ(ids.size(), 1u);

  // The object changes after the first part was read: it is read again.
  const auto part = [](std::string_view text, const char* whole) {
    return Json(Json::Object{
                    {"ok", Json(true)}, {"text", Json(text)}, {"parts", Json(2)}, {"whole", Json(std::string(whole))}})
        .dump();
  };
  const std::string text = object.dump();
  const std::string_view view(text);
  gateway_.answers = {R"({"ok":true,"object":{"omitted":["data"]}})", part("{}", "1"), part(view.substr(50'000), "2"),
                      part(view.substr(0, 50'000), "2"), part(view.substr(50'000), "2")};
  const Outcome<Json> got = client_.get(describe(Kind::config_map), "default", "c", ApiClient::Values::whole);
  ASSERT_TRUE(got) << got.error().text;
  EXPECT_EQ(*got, object);
}

TEST_F(CtlClient, ReturnsTheGatewaysReasonWhenItRefuses) {
  gateway_.answers = {R"({"ok":false,"error":"Pod \"default/x\" not found"})"};
  const Outcome<Json> answer = client_.ask(parsed_json(R"({"op":"get"})"), true);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().exit, Exit::refused);
  EXPECT_EQ(answer.error().text, "Pod \"default/x\" not found");
}

TEST_F(CtlClient, ResendsAReadUntilItIsAnswered) {
  int lost = 2;
  broker_.set_policy([&](const Leg& leg, Random&) {
    Fate fate;
    if (leg.from == "ctl" && lost > 0) fate.copies = lost-- > 0 ? 0 : 1;
    return fate;
  });
  gateway_.answers = {R"({"ok":true})"};
  EXPECT_TRUE(client_.ask(parsed_json(R"({"op":"status"})"), true));
}

TEST_F(CtlClient, NeverSendsTwiceWhatIsNotIdempotentEvenIfTheLinkReturns) {
  options_.kind = "node";
  options_.name = "n1";
  timers_.at(2'000, [this] { operator_.disconnect(); });
  timers_.at(3'000, [this] { operator_.connect(); });
  const Outcome<void> done = run_forget(client_, options_, screen_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().exit, Exit::no_answer);
  EXPECT_EQ(gateway_.ops(), "forget");
  EXPECT_NE(done.error().text.find("10 s"), std::string::npos) << done.error().text;
  EXPECT_NE(done.error().text.find("not known whether"), std::string::npos) << done.error().text;
}

TEST_F(CtlClient, SendsOnceTheLinkIsUpWhatCouldNotBeSentBefore) {
  options_.kind = "node";
  options_.name = "n1";
  operator_.disconnect();
  timers_.at(3'000, [this] { operator_.connect(); });
  gateway_.answers = {R"({"ok":true,"result":"forgotten"})"};
  EXPECT_TRUE(run_forget(client_, options_, screen_));
  EXPECT_EQ(gateway_.ops(), "forget");
}

class CtlDelete : public CtlClient {
 protected:
  CtlDelete() {
    options_.kind = "pod";
    options_.name = "web";
  }
  static std::string found(const std::string& uid, const std::string& status = "{}") {
    return R"({"ok":true,"object":{"metadata":{"name":"web","uid":")" + uid + R"("},"status":)" + status + "}}";
  }
  static constexpr char kNotFound[] = R"({"ok":false,"error":"Pod \"default/web\" not found"})";
  Outcome<void> run_it() { return run_delete(client_, options_, {}, screen_); }
};

TEST_F(CtlDelete, IsSentAgainIfTheGatewayHasNotSeenIt) {
  gateway_.answers = {found("u1"), "", found("u1"), "", found("u1"), R"({"ok":true,"result":"deleting"})"};
  ASSERT_TRUE(run_it());
  EXPECT_EQ(gateway_.ops(), "get delete get delete get delete");
  EXPECT_EQ(gateway_.request(5).find("uid"), nullptr) << "of a pod all of its name is meant, its successor too";
  EXPECT_EQ(out_.str(), "pod/default/web deleting\n");
}

TEST_F(CtlDelete, IsNotSentAgainIfOnlyItsAnswerWasLost) {
  gateway_.answers = {found("u1"), "", kNotFound};
  ASSERT_TRUE(run_it());
  gateway_.answers = {found("u1"), "", found("u2")};
  ASSERT_TRUE(run_it()) << "what is there now is another pod";
  gateway_.answers = {found("u1"), "", found("u1", R"({"deleting":true})")};
  ASSERT_TRUE(run_it());
  EXPECT_EQ(gateway_.ops(), "get delete get get delete get get delete get");
  EXPECT_EQ(out_.str(), "pod/default/web deleted\npod/default/web deleted\npod/default/web deleting\n");
}

TEST_F(CtlDelete, IsSentOnceIfWhatIsThereWouldNotShowThatItWasDone) {
  for (const std::string& before : {found("u1", R"({"deleting":true})"), found(""), std::string(kNotFound)}) {
    gateway_.requests.clear();
    gateway_.answers = {before};
    const Outcome<void> done = run_it();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().exit, Exit::no_answer);
    EXPECT_EQ(gateway_.ops(), "get delete") << before;
  }
}

TEST_F(CtlDelete, IsNotTakenForDoneWhenTheGatewayDoesNotSay) {
  gateway_.answers = {found("u1"), "", R"({"ok":false,"error":"the gateway is not ready: x"})"};
  const Outcome<void> done = run_it();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text.find("not ready"), std::string::npos) << done.error().text;
  gateway_.requests.clear();
  gateway_.answers = {found("u1")};
  EXPECT_EQ(run_it().error().exit, Exit::no_answer);
}

TEST_F(CtlDelete, OfAnotherKindIsOfTheUidThatWasSeen) {
  options_.kind = "pvc";
  gateway_.answers = {found("u1"), R"({"ok":true,"result":"deleted"})"};
  ASSERT_TRUE(run_it());
  EXPECT_EQ(*gateway_.request(1).find("uid"), Json("u1"));
}

class CtlCreate : public CtlClient {
 protected:
  CtlCreate() {
    pod_.kind = find_kind("pod");
    pod_.name_space = "default";
    pod_.name = "web";
    pod_.object = parsed_json(R"({"kind":"Pod","metadata":{"name":"web"}})");
  }
  Outcome<void> run_it() { return run_apply(client_, options_, {{pod_}, {}, {}}, screen_); }
  ManifestDocument pod_;
};

TEST_F(CtlCreate, OfAGeneratedNameIsSentAgainAndFindsWhatItMade) {
  options_.command = CtlOptions::Command::create;
  pod_.has_generated_name = true;
  gateway_.answers = {"", R"({"ok":false,"error":"Pod \"default/web\" already exists"})"};
  ASSERT_TRUE(run_it());
  EXPECT_EQ(out_.str(), "pod/default/web created\n");
  gateway_.answers = {R"({"ok":false,"error":"Pod \"default/web\" already exists"})"};
  EXPECT_FALSE(run_it()) << "somebody else's: it was sent once";
}

TEST_F(CtlCreate, OfAGivenNameIsSentOnce) {
  options_.command = CtlOptions::Command::create;
  EXPECT_EQ(run_it().error().exit, Exit::no_answer);
  EXPECT_EQ(gateway_.requests.size(), 1u);
}

TEST_F(CtlCreate, OfAnExistingPodIsSentAgainWithTheSameUid) {
  options_.recreate = true;
  gateway_.answers = {"", R"({"ok":true,"result":"waiting"})"};
  ASSERT_TRUE(run_it());
  ASSERT_EQ(gateway_.requests.size(), 2u);
  EXPECT_EQ(gateway_.requests[0].payload, gateway_.requests[1].payload);
  EXPECT_EQ(gateway_.request(0).find("recreate"), nullptr);
  EXPECT_EQ(gateway_.request(0).find("object")->find("metadata")->find("uid")->as_string().size(), 32u);
}

TEST_F(CtlClient, DistinguishesAnUnreachableBrokerFromASilentGateway) {
  operator_.disconnect();
  const Outcome<Json> answer = client_.ask(parsed_json(R"({"op":"status"})"), true);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().exit, Exit::unreachable);
  EXPECT_NE(answer.error().text.find("broker:1883"), std::string::npos);
  EXPECT_NE(answer.error().text.find("connection refused"), std::string::npos);
}

TEST_F(CtlClient, DropsAnAnswerToAnEarlierRequest) {
  gateway_.answers = {R"({"ok":true,"n":1})", R"({"ok":true,"n":2})"};
  Message late;
  late.topic = "berth/v1/f/clients/operator/s1";
  late.correlation = "s1-1";
  late.payload = R"({"ok":true,"n":1})";
  ASSERT_TRUE(client_.ask(parsed_json(R"({"op":"status"})"), true));
  client_.on_message(late);
  const Outcome<Json> second = client_.ask(parsed_json(R"({"op":"status"})"), true);
  ASSERT_TRUE(second);
  EXPECT_EQ(*second->find("n"), Json(2));
}

TEST_F(CtlClient, ReadsEveryPageOfAListing) {
  gateway_.answers = {R"({"ok":true,"items":[{"metadata":{"name":"a"}}],"continue":"default/b"})",
                      R"({"ok":true,"items":[{"metadata":{"name":"b"}}]})"};
  const Outcome<std::vector<Json>> all = client_.list(*find_kind("pods"), "");
  ASSERT_TRUE(all) << all.error().text;
  EXPECT_EQ(all->size(), 2u);
  EXPECT_EQ(*gateway_.request(1).find("continue"), Json("default/b"));
}

TEST_F(CtlClient, DoesNotLoopOnAPageThatPointsBack) {
  gateway_.answers = {R"({"ok":true,"items":[],"continue":"b"})", R"({"ok":true,"items":[],"continue":"b"})"};
  EXPECT_FALSE(client_.list(*find_kind("pods"), ""));
}

TEST_F(CtlClient, UsesTheDefaultNamespaceUnlessOneIsGiven) {
  options_.kind = "pods";
  gateway_.answers = {R"({"ok":true,"items":[]})", R"({"ok":true,"items":[]})"};
  ASSERT_TRUE(run_get(client_, options_, screen_));
  EXPECT_EQ(*gateway_.request(0).find("namespace"), Json("default"));
  EXPECT_EQ(err_.str(), "no pods in namespace default\n");
  options_.all_namespaces = true;
  ASSERT_TRUE(run_get(client_, options_, screen_));
  EXPECT_EQ(*gateway_.request(1).find("namespace"), Json(""));
}

TEST_F(CtlClient, WatchesEveryChangeOfAPodUntilInterrupted) {
  options_.kind = "pods";
  options_.watch = true;
  gateway_.answers = {R"({"ok":true,"items":[]})"};
  const auto step = [](const char* status) {
    Message message;
    message.topic = "berth/v1/f/status/pods/default/web";
    message.payload = status;
    return message;
  };
  gateway_.then = {
      step(R"({"phase":"Pending"})"), step(R"({"phase":"Pending"})"),
      step(R"({"phase":"Pending","nodeName":"n1","conditions":[{"type":"PodScheduled","status":"True"}]})"),
      step(R"({"phase":"Running","nodeName":"n1"})")};
  ASSERT_TRUE(run_get(client_, options_, screen_));
  EXPECT_EQ(out_.str(),
            "NAME          READY         STATUS        NODE          MESSAGE\n"
            "web           -             Pending       -             -\n"
            "web           -             Scheduled     n1            -\n"
            "web           -             Running       n1            -\n");
}

TEST_F(CtlClient, AppliesEachManifestAndContinuesAfterARefusal) {
  ManifestDocument pod;
  pod.kind = find_kind("pod");
  pod.name_space = "default";
  pod.object = Json::object();
  pod.name = "a";
  ManifestDocument other = pod;
  other.name = "b";
  gateway_.answers = {R"({"ok":false,"error":"immutable"})",
                      R"({"ok":true,"result":"created","warnings":["spec.x: odd"]})"};
  const Outcome<void> done = run_apply(client_, options_, {{pod, other}, {"x.yaml:1:1: kind: missing"}, {}}, screen_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().exit, Exit::refused);
  EXPECT_EQ(done.error().text, "x.yaml:1:1: kind: missing\npod/default/a: immutable");
  EXPECT_EQ(out_.str(), "pod/default/b created\n");
  EXPECT_EQ(err_.str(), "warning: pod/default/b: spec.x: odd\n");
}

TEST_F(CtlClient, DeletesManifestsInReverseOrder) {
  ManifestDocument first;
  first.kind = find_kind("storageclass");
  first.name = "local";
  ManifestDocument second;
  second.kind = find_kind("pod");
  second.name_space = "default";
  second.name = "a";
  options_.files = {"x.yaml"};
  const std::string seen = R"({"ok":true,"object":{"metadata":{"uid":"u1"}}})";
  gateway_.answers = {seen, R"({"ok":true,"result":"deleting"})", seen, R"({"ok":true,"result":"deleted"})"};
  ASSERT_TRUE(run_delete(client_, options_, {{first, second}, {}, {}}, screen_));
  EXPECT_EQ(out_.str(), "pod/default/a deleting\nstorageclass/local deleted\n");
}

TEST_F(CtlClient, DescribesAPodWithItsEvents) {
  options_.kind = "pod";
  options_.name = "web";
  gateway_.answers = {R"({"ok":true,"object":{"metadata":{"name":"web","namespace":"default"},
    "spec":{"nodeSelector":{"hardware":"camera"},"containers":[{"name":"c","command":["sh","-c","x"]}]},
    "status":{"phase":"Pending","message":"no node fits"}},
    "events":[{"type":"Warning","reason":"FailedScheduling","message":"no node fits","time":"1000","count":3}]})"};
  ASSERT_TRUE(run_describe(client_, options_, screen_));
  for (const char* text :
       {"Name:           web\n", "Node selector:  hardware=camera\n", "Message:        no node fits\n",
        "  Warning   FailedScheduling   ", "(x3)   berthd   no node fits\n"}) {
    EXPECT_NE(out_.str().find(text), std::string::npos) << text << "in\n" << out_.str();
  }
}

TEST_F(CtlClient, ShowsWhyTheGatewayIsNotReady) {
  gateway_.answers = {
      R"({"ok":true,"ready":false,"reason":"synchronising with the broker","nodes":2,"queue":{"active":1}})"};
  ASSERT_TRUE(run_status(client_, options_, screen_));
  EXPECT_NE(out_.str().find("no: synchronising with the broker"), std::string::npos) << out_.str();
}

}  // namespace
}  // namespace berth
