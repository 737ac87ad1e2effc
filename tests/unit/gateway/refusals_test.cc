// A device's refusal is a fact: the pod goes elsewhere, and back only when something has changed (D6).
#include <algorithm>

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class RefusalsTest : public GatewayTest {
 protected:
  void start_with(const std::vector<std::string>& nodes) {
    start_connected();
    for (const std::string& node : nodes) {
      device(node);
      slots(node, {});
    }
  }
  static std::string preferring(const std::string& name, const std::string& uid, const std::string& node) {
    return pod(name, uid, "64Mi",
               R"(,"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,)"
               R"("preference":{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[")" +
                   node + R"("]}]}}]}})");
  }
  std::string node_of(const std::string& uid) const {
    const auto found = gateway->bindings().find(std::string_view(uid));
    return found == gateway->bindings().end() ? std::string() : std::string(found->second.row.node);
  }
  void refuse(const std::string& node, const std::string& reason = "volume data: no directory /srv/data") {
    const std::optional<Request> asked = request(node);
    ASSERT_TRUE(asked.has_value());
    ASSERT_EQ(asked->type, RequestType::pre_bind);
    Answer rejected = answer_to(*asked, AnswerType::rejected);
    rejected.reason = reason;
    answer(node, rejected);
  }
  // Refused until the device says so: `id` is that of its state.
  void refuse_lastingly(const std::string& node, const std::string& id,
                        const std::string& reason = "no directory /srv/data") {
    const std::optional<Request> asked = request(node);
    ASSERT_TRUE(asked.has_value());
    ASSERT_EQ(asked->type, RequestType::pre_bind);
    Answer rejected = answer_to(*asked, AnswerType::rejected);
    rejected.reason = reason;
    rejected.refusals = id;
    answer(node, rejected);
  }
  void say_refusals(const std::string& node, const std::string& id) {
    receive(topics.node_state(node), R"({"incarnation":"i1","session":"1","sequence":")" + std::to_string(++sequence_) +
                                         R"(","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"},"refusals":")" + id +
                                         R"("})");
  }
  // As a device does that is alive and has nothing new to say.
  void beat(const std::string& node, Millis ms) {
    for (Millis past = 0; past < ms; past += 5000) {
      receive(topics.node_heartbeat(node), R"({"incarnation":"i1","sequence":"1"})");
      advance(5000);
    }
  }
  int prebinds(const std::string& node) {
    int count = 0;
    for (const Message& message : transport.sent) {
      if (message.topic != topics.node_requests(node)) continue;
      const Result<Request> asked = decode_request(message.payload);
      count += asked && asked->type == RequestType::pre_bind;
    }
    return count;
  }
  int sequence_ = 1;
};

TEST_F(RefusalsTest, AnotherNodeIsTriedAtOnce) {
  start_with({"edge-a", "edge-b"});
  apply(preferring("web", "u1", "edge-a"));
  ASSERT_EQ(node_of("u1"), "edge-a");
  refuse("edge-a");
  EXPECT_EQ(node_of("u1"), "edge-b") << why("web");
}

TEST_F(RefusalsTest, APodThatEveryNodeRefusesIsPendingWithTheirReasonsAndAsksNobody) {
  start_with({"edge-a", "edge-b"});
  apply(preferring("web", "u1", "edge-a"));
  refuse("edge-a");
  refuse("edge-b", "no runtime for containers");
  EXPECT_EQ(phase("u1"), Phase::none);
  EXPECT_TRUE(
      why("web").starts_with("0/2 nodes are available: 1 node(s) refused the pod: no runtime for containers (edge-b), "
                             "1 node(s) refused the pod: volume data: no directory /srv/data (edge-a)."))
      << why("web");
  transport.sent.clear();
  advance(options.refusal_ms - 2000);
  EXPECT_EQ(prebinds("edge-a") + prebinds("edge-b"), 0);
}

TEST_F(RefusalsTest, ARefusalCountsForTwiceAsLongEachTime) {
  start_with({"edge-a"});
  apply(pod("web", "u1"));
  Millis pause = options.refusal_ms;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(node_of("u1"), "edge-a") << i;
    refuse("edge-a");
    advance(pause - 2000);
    EXPECT_EQ(phase("u1"), Phase::none) << i;
    advance(4000);
    pause = std::min(2 * pause, options.refusal_ms_max);
    device("edge-a");  // as it was: no news
  }
  EXPECT_EQ(pause, options.refusal_ms_max);
}

TEST_F(RefusalsTest, PodsOfOneWorkloadAreRefusedTogetherAndOthersAreNot) {
  start_with({"edge-a", "edge-b"});
  apply(preferring("web-1", "u1", "edge-a"));
  refuse("edge-a");
  apply(preferring("web-2", "u2", "edge-a"));
  EXPECT_EQ(node_of("u2"), "edge-b");
  apply(pod("other", "u3", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"edge-a"})"));
  EXPECT_EQ(node_of("u3"), "edge-a");
}

TEST_F(RefusalsTest, EndsWhenTheDeviceSaysSomethingElseOfItself) {
  start_with({"edge-a"});
  apply(pod("web", "u1"));
  refuse("edge-a");
  ASSERT_EQ(phase("u1"), Phase::none);
  receive(topics.node_state("edge-a"),
          R"({"incarnation":"i1","session":"1","sequence":"2","allocatable":{"cpu":"2","memory":"2Gi","pods":"10"}})");
  advance(1000);
  EXPECT_EQ(node_of("u1"), "edge-a");
}

TEST_F(RefusalsTest, EndsWithTheStoreOfTheDevice) {
  start_with({"edge-a"});
  apply(pod("web", "u1"));
  refuse("edge-a");
  device("edge-a", "i2");
  slots("edge-a", {}, "i2");
  advance(1000);
  EXPECT_EQ(node_of("u1"), "edge-a");
}

TEST_F(RefusalsTest, EndsWhenThePodIsChanged) {
  start_with({"edge-a"});
  apply(pod("web", "u1"));
  refuse("edge-a");
  apply(pod("web", "u1", "64Mi", "", R"({"tier":"front"})"));
  advance(20'000 - options.refusal_ms);  // the backoff of a failed attempt
  EXPECT_EQ(node_of("u1"), "edge-a");
}

TEST_F(RefusalsTest, OfAPodWithAVolumeEndsWhenAVolumeIsApplied) {
  start_with({"edge-a"});
  const std::string volume =
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"data"},"spec":{"capacity":{"storage":"1Gi"},)"
      R"("accessModes":["ReadWriteOnce"],"storageClassName":"local","local":{"path":"PATH"},"nodeAffinity":{"required":)"
      R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["edge-a"]}]}]}}}})";
  const auto at = [&](const std::string& path) {
    std::string text = volume;
    return text.replace(text.find("PATH"), 4, path);
  };
  apply(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"log","namespace":"default"},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Mi"}}}})");
  apply(at("/srv/data"));
  apply(pod("web", "u1", "64Mi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"log"}}])"));
  refuse("edge-a");
  ASSERT_EQ(phase("u1"), Phase::none);
  std::string second = at("/srv/other");
  apply(second.replace(second.find("\"data\""), 6, "\"more\""));
  advance(2000);
  EXPECT_EQ(node_of("u1"), "edge-a") << why("web");
}

TEST_F(RefusalsTest, OfAPodWithoutAClaimLastsWhateverVolumeIsApplied) {
  start_with({"edge-a"});
  say_refusals("edge-a", "r1");
  apply(pod("web", "u1", "64Mi", R"(,"volumes":[{"name":"v","hostPath":{"path":"/srv/data"}}])"));
  refuse_lastingly("edge-a", "r1");
  beat("edge-a", 20'000);
  transport.sent.clear();
  apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"log","namespace":"default"},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Mi"}}}})");
  beat("edge-a", 20'000);
  EXPECT_EQ(prebinds("edge-a"), 0) << "no claim is any of its business, and to ask costs both flashes a write";
}

TEST_F(RefusalsTest, OnlyAFewNodesAreTriedWithinASecond) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 12; ++i) nodes.push_back("n" + std::to_string(i));
  start_with(nodes);
  apply(pod("web", "u1"));
  int asked = 0;
  while (!node_of("u1").empty()) {
    refuse(node_of("u1"));
    ++asked;
  }
  EXPECT_EQ(asked, 4) << "then it backs off";
  advance(options.queue.max_backoff_ms + 1000);
  EXPECT_NE(node_of("u1"), "") << why("web");
}

TEST_F(RefusalsTest, APodWhoseProfileDoesNotFilterByThemBacksOff) {
  std::erase_if(options.profiles[0].multi_point.enabled,
                [](const ProfilePlugin& plugin) { return plugin.name == Refusals::kFilter; });
  start_with({"edge-a"});
  apply(pod("web", "u1"));
  int asked = 0;
  for (int tenths = 0; tenths < 600; ++tenths) {
    if (tenths % 50 == 0) receive(topics.node_heartbeat("edge-a"), R"({"incarnation":"i1","sequence":"1"})");
    for (; asked < 100 && node_of("u1") == "edge-a"; ++asked) refuse("edge-a");
    advance(100);
  }
  EXPECT_GE(asked, 6) << why("web");
  EXPECT_LE(asked, 10) << "after 1, 2, 4, 8 and each 10 s: else as fast as it can refuse";
}

TEST_F(RefusalsTest, AreExplainedAsTheFilterThatTheyAre) {
  start_with({"edge-a", "edge-b"});
  apply(preferring("web", "u1", "edge-a"));
  refuse("edge-a");
  const std::string explained = api(R"({"op":"explain","namespace":"default","name":"web"})").dump();
  EXPECT_TRUE(explained.contains("DeviceRefusals")) << explained;
  EXPECT_TRUE(explained.contains("node(s) refused the pod: volume data: no directory /srv/data")) << explained;
}

TEST_F(RefusalsTest, ADeviceThatRefusesEverythingTakesABoundedPart) {
  start_with({"edge-a"});
  const Refusals& refusals = gateway->scheduler().refusals();
  for (int i = 0; i < 80; ++i) {
    const std::string uid = "u" + std::to_string(i);
    apply(pod("web-" + std::to_string(i), uid, std::to_string(i + 1) + "Mi"));
    if (node_of(uid).empty()) continue;
    refuse("edge-a");
    device("edge-a", "i1");
    advance(300'000);  // it is passed over in between (D2)
  }
  std::size_t kept = 0;
  for (const auto& [key, entry] : gateway->objects().pods().all()) kept += refusals.count(*entry.pod);
  EXPECT_LE(kept, Refusals::kPerNode);
}

// Another node refuses the pod too: that alone let it be tried again at once.
TEST_F(RefusalsTest, OneThatThereIsNoRoomForIsNotFollowedByAnotherTryAtOnce) {
  options.pass_over_ms = options.pass_over_ms_max = 1;  // or edge-b would soon be asked nothing
  start_with({"edge-a", "edge-b"});
  say_refusals("edge-b", "r1");
  for (std::size_t i = 0; i < Refusals::kPerNode; ++i) {
    const std::string uid = "o" + std::to_string(i);
    apply(pod("other-" + uid, uid, std::to_string(i + 1) + "Ki",
              R"(,"nodeSelector":{"kubernetes.io/hostname":"edge-b"})"));
    ASSERT_EQ(node_of(uid), "edge-b") << why("other-" + uid);
    refuse_lastingly("edge-b", "r1");
    beat("edge-a", 1);
    beat("edge-b", 1);
  }
  std::size_t kept = 0;
  for (const auto& [key, entry] : gateway->objects().pods().all()) {
    kept += gateway->scheduler().refusals().count(*entry.pod);
  }
  ASSERT_EQ(kept, Refusals::kPerNode);
  apply(pod("taken", "t", "65Ki", R"(,"nodeSelector":{"kubernetes.io/hostname":"edge-b"})"));
  answer("edge-b", AnswerType::pre_bound);
  apply(preferring("web", "u1", "edge-a"));
  ASSERT_EQ(node_of("u1"), "edge-a");
  refuse("edge-a");
  ASSERT_EQ(node_of("u1"), "edge-b");
  refuse("edge-b");
  advance(900);
  EXPECT_EQ(node_of("u1"), "") << "it backs off";
  advance(options.queue.max_backoff_ms);
  EXPECT_EQ(node_of("u1"), "edge-b") << why("web");
}

TEST_F(RefusalsTest, OneThatTheDeviceWillSayTheEndOfLastsUntilThen) {
  start_with({"edge-a"});
  say_refusals("edge-a", "r1");
  apply(pod("web", "u1"));
  refuse_lastingly("edge-a", "r1");
  transport.sent.clear();
  beat("edge-a", 3'600'000);
  EXPECT_EQ(prebinds("edge-a"), 0);
  say_refusals("edge-a", "r2");
  advance(2000);
  EXPECT_EQ(node_of("u1"), "edge-a") << why("web");
}

bool is_passed_over(const Gateway& gateway, const std::string& name) {
  const Node& node = *gateway.scheduler().cache().find(name)->node;
  return std::any_of(node.taints.begin(), node.taints.end(),
                     [](const Taint& taint) { return taint.key == "node.berth/passed-over"; });
}

TEST_F(RefusalsTest, ThoseThatLastDoNotMakeANodeOneThatTakesNoPod) {
  start_with({"edge-a"});
  say_refusals("edge-a", "r1");
  for (int i = 0; i < 6; ++i) {
    apply(pod("web-" + std::to_string(i), "u" + std::to_string(i), std::to_string(i + 1) + "Mi"));
    refuse_lastingly("edge-a", "r1");
  }
  EXPECT_FALSE(is_passed_over(*gateway, "edge-a"));
  apply(pod("other", "u9"));
  EXPECT_EQ(node_of("u9"), "edge-a") << why("other");
}

TEST_F(RefusalsTest, OneThatDoesNotLastOrIsNotRememberedCountsAsAPodThatTheNodeDidNotTake) {
  start_with({"edge-a"});
  say_refusals("edge-a", "r1");
  for (std::size_t i = 0; i < Refusals::kPerNode + 2; ++i) {
    apply(pod("web-" + std::to_string(i), "u" + std::to_string(i), std::to_string(i + 1) + "Mi"));
    refuse_lastingly("edge-a", "r1");
    EXPECT_FALSE(is_passed_over(*gateway, "edge-a")) << i;
  }
  apply(pod("another", "u1000", "1000Mi"));
  refuse_lastingly("edge-a", "r1");
  EXPECT_TRUE(is_passed_over(*gateway, "edge-a"));
}

TEST_F(RefusalsTest, AnEndThatWasToldBeforeTheRefusalCameIsNotMissed) {
  start_with({"edge-a"});
  say_refusals("edge-a", "r1");
  apply(pod("web", "u1"));
  say_refusals("edge-a", "r2");
  refuse_lastingly("edge-a", "r1");
  beat("edge-a", options.refusal_ms + 2000);
  EXPECT_EQ(node_of("u1"), "edge-a") << why("web");
}

TEST_F(RefusalsTest, ADeviceThatSaysSoWithoutEndIsAskedLessAndLess) {
  start_with({"edge-a"});
  say_refusals("edge-a", "r0");
  apply(pod("web", "u1"));
  int asked = 0;
  for (int i = 1; i <= 3600; ++i) {
    if (node_of("u1") == "edge-a") {
      ++asked;
      refuse_lastingly("edge-a", "r" + std::to_string(i - 1));
    }
    say_refusals("edge-a", "r" + std::to_string(i));
    advance(1000);
  }
  EXPECT_LE(asked, 14) << "10 s, doubled up to 10 min, in an hour";
}

TEST_F(RefusalsTest, AnHourOfAPodThatIsRefusedWritesNothing) {
  start_with({"edge-a"});
  say_refusals("edge-a", "r1");
  beat("edge-a", 3'660'000);  // the store is new for an hour, and says so
  apply(pod("web", "u1"));
  refuse_lastingly("edge-a", "r1");
  apply(pod("unrelated", "u2", "64Gi"));
  beat("edge-a", 60'000);
  const std::uint64_t before = store.next_position();
  const Contents was = store.durable();
  const int attempts = gateway->scheduler().queue().find("u2")->attempts;
  transport.sent.clear();
  beat("edge-a", 3'600'000);
  EXPECT_EQ(store.next_position(), before);
  for (const auto& [id, content] : store.durable()) {
    const auto known = was.find(id);
    EXPECT_TRUE(known != was.end() && known->second == content) << static_cast<int>(id.first) << " " << id.second;
  }
  EXPECT_EQ(prebinds("edge-a"), 0);
  // Upstream's flush of pods that wait for more than five minutes wakes it, the refusal does not.
  EXPECT_LE(gateway->scheduler().queue().find("u2")->attempts, attempts + 12);
}

TEST_F(RefusalsTest, TheReasonNamesTheDevicesThatGiveIt) {
  const std::vector<std::string> nodes{"n1", "n2", "n3", "n4"};
  start_with(nodes);
  for (const std::string& node : nodes) say_refusals(node, "r1");
  apply(pod("web", "u1"));
  while (!node_of("u1").empty()) refuse_lastingly(node_of("u1"), "r1", "no program");
  for (const std::string& node : nodes) receive(topics.node_heartbeat(node), R"({"incarnation":"i1","sequence":"1"})");
  advance(options.queue.max_backoff_ms + 1000);
  EXPECT_TRUE(why("web").contains("4 node(s) refused the pod: no program (n1, n2, n3 and 1 more).")) << why("web");
}

TEST_F(RefusalsTest, AMessageOfManyReasonsIsBounded) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 40; ++i) nodes.push_back("n" + std::to_string(i));
  start_with(nodes);
  for (const std::string& node : nodes) say_refusals(node, "r1");
  apply(pod("web", "u1"));
  int refused = 0;
  for (int i = 0; i < 400 && refused < 40; ++i) {
    for (; !node_of("u1").empty(); ++refused) {
      const std::string node = node_of("u1");
      refuse_lastingly(node, "r1", std::string(900, 'x') + node);
    }
    for (const std::string& node : nodes)
      receive(topics.node_heartbeat(node), R"({"incarnation":"i1","sequence":"1"})");
    advance(2000);
  }
  EXPECT_EQ(refused, 40);
  for (const std::string& node : nodes) receive(topics.node_heartbeat(node), R"({"incarnation":"i1","sequence":"1"})");
  advance(options.queue.max_backoff_ms + 1000);
  EXPECT_LE(why("web").size(), 6000u);
  EXPECT_TRUE(why("web").contains("36 other reasons")) << why("web").size();
}

}  // namespace
}  // namespace berth
