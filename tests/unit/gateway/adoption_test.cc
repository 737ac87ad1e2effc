// A slot without an object gets its object back, and of one name there is one pod (P14).
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class AdoptionTest : public GatewayTest {
 protected:
  AdoptionTest() {
    options.first_boot = FirstBoot::lost;
    options.known_nodes = {"n1", "n2"};
  }
  static SlotReport slot(const std::string& uid, const std::string& manifest, SlotState state = SlotState::running) {
    SlotReport slot;
    slot.uid = uid;
    slot.epoch = {1, 7};
    slot.state = state;
    slot.pod = manifest;
    return slot;
  }
  static std::string without_uid(const std::string& name, const std::string& labels = "{}",
                                 const std::string& memory = "64Mi") {
    std::string text = pod(name, "X", memory, "", labels);
    const std::string member = R"(,"uid":"X")";
    return text.erase(text.find(member), member.size());
  }
  void start_adopting() {
    start_connected();
    device("n1");
    device("n2");
  }
  // A new store, which has heard only n1 and has placed the pod there.
  void place_on_n1(const std::string& manifest) {
    options.first_boot = FirstBoot::is_new;
    options.known_nodes = {};
    options.enrolled_nodes = {"n1", "n2"};
    start_connected();
    device("n1");
    slots("n1", {});
    apply(manifest);
    answer("n1", AnswerType::pre_bound);
    answer("n1", AnswerType::bound);
  }
  // The same, before n2, which runs the pod already, is heard.
  void place_before_it_is_found(const std::string& name) {
    place_on_n1(without_uid(name));
    placed = uid_of_pod(name);
    ASSERT_EQ(phase(placed), Phase::bound);
    device("n2");
    slots("n2", {slot("old", pod(name, "old"))});
    ASSERT_TRUE(gateway->identity().adopting);
    SlotReport own = slot(placed, pod(name, placed));
    own.epoch = gateway->bindings().find(placed)->second.row.epoch;
    slots("n1", {own});
    ASSERT_FALSE(gateway->identity().adopting);
  }
  std::string uid_of_pod(const std::string& name) const {
    const PodEntry* entry = gateway->objects().pods().find("default/" + name);
    return entry == nullptr ? std::string() : std::string(entry->pod->uid());
  }
  bool has_orphan(const std::string& uid) const {
    for (const std::string& key : gateway->identity().orphans) {
      if (key.find("/" + uid + "/") != std::string::npos) return true;
    }
    return false;
  }
  bool has_event(const std::string& name, const std::string& reason) {
    return describe_pod(name).find("events")->dump().find(reason) != std::string::npos;
  }
  std::string adopt(const std::string& name, const std::string& node) {
    return api(R"({"op":"adopt","kind":"pod","namespace":"default","name":")" + name + R"(","node":")" + node + R"("})")
        .dump();
  }
  std::string remove(const std::string& name) {
    return api(R"({"op":"delete","kind":"pod","namespace":"default","name":")" + name + R"("})").dump();
  }
  std::string placed;
};

TEST_F(AdoptionTest, AnOrphanThatIsKeptAlthoughItsUidWasDeletedIsReleasedAndHoldsItsNameUntilThen) {
  options.known_nodes = {"n1"};
  start_connected();
  device("n1");
  const SlotReport found = slot("old", pod("web", "old", "64Mi", R"(,"schedulerName":"gone")"));
  slots("n1", {found});
  ASSERT_EQ(gateway->identity().orphans.size(), 1u);
  apply(pod("other", "old"));
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"other"})");
  apply(pod("web", "new"));
  api(R"({"op":"adopt","kind":"pod","namespace":"default","name":"web"})");
  slots("n1", {found});
  EXPECT_TRUE(gateway->identity().orphans.empty());
  ASSERT_EQ(request("n1")->type, RequestType::release);
  EXPECT_EQ(request("n1")->uid, "old");
  EXPECT_EQ(phase("new"), Phase::none) << "the name is held";
  answer("n1", AnswerType::released);
  advance(1000);
  EXPECT_EQ(phase("new"), Phase::prebind) << why("web");
}

TEST_F(AdoptionTest, AVolumeThatGoesBackToItsDataIsPromisedToNobodyElse) {
  const auto claim = [](const std::string& name) {
    return R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")" + name +
           R"(","namespace":"default"},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Mi"}}}})";
  };
  place_on_n1(without_uid("web"));
  placed = uid_of_pod("web");
  ASSERT_EQ(phase(placed), Phase::bound);
  apply(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  apply(claim("mine"));
  apply(claim("other"));
  device("n2", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"data","path":"/srv/data","capacity":"1Gi","storageClass":"local"}])");
  apply(pod("x", "x1", "64Mi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"other"}}])"));
  ASSERT_EQ(phase("x1"), Phase::prebind) << why("x");
  SlotReport old = slot("old", pod("web", "old"));
  old.volumes = {{"default/mine", "n2-data", "/srv/data"}};
  slots("n2", {old});
  SlotReport own = slot(placed, pod("web", placed));
  own.epoch = gateway->bindings().find(placed)->second.row.epoch;
  slots("n1", {own});
  slots("n2", {old});
  ASSERT_EQ(gateway->objects().claim("default/mine")->volume_name, "n2-data");
  EXPECT_NE(phase("x1"), Phase::prebind) << "its device was only asked";
}

TEST_F(AdoptionTest, AnOlderSlotIsNotAdoptedWhileAReleaseOfALaterOneIsUnderWay) {
  options.first_boot = FirstBoot::is_new;
  options.known_nodes = {};
  start_connected();
  device("n1");
  slots("n1", {});
  apply(pod("web", "u1"));
  ASSERT_EQ(phase("u1"), Phase::prebind);
  advance(options.promise_ms + 1000);  // no answer: the promise is given up, and released
  ASSERT_EQ(gateway->releases().size(), 1u);
  const Epoch given_up = gateway->releases().begin()->second.entry.epoch;
  device("n1");
  slots("n1", {slot("u1", pod("web", "u1"))});  // of an earlier store; that Release ends it as well
  const auto row = gateway->bindings().find(std::string_view("u1"));
  EXPECT_TRUE(row == gateway->bindings().end() || row->second.row.epoch > given_up) << "it is no row";
  EXPECT_TRUE(gateway->releases().contains(release_key("n1", "u1", {1, 7})));
}

TEST_F(AdoptionTest, WhatADeviceRunsGetsItsObjectBack) {
  start_adopting();
  slots("n1", {slot("u1", pod("web", "u1")), slot("u2", pod("job", "u2"), SlotState::finished)});
  EXPECT_EQ(uid_of_pod("web"), "u1");
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(phase("u2"), Phase::release);
  EXPECT_TRUE(gateway->objects().pods().find("default/job")->finished);
  EXPECT_TRUE(gateway->identity().orphans.empty());
  EXPECT_TRUE(has_event("web", "Adopted"));
}

TEST_F(AdoptionTest, WhatWasToldToEndOrNeverBeganEndsInstead) {
  start_adopting();
  slots("n1",
        {slot("u1", pod("gone", "u1"), SlotState::stopping), slot("u2", pod("begun", "u2"), SlotState::prepared)});
  EXPECT_EQ(uid_of_pod("gone"), "");
  EXPECT_EQ(uid_of_pod("begun"), "");
  EXPECT_TRUE(gateway->identity().orphans.empty());
  EXPECT_EQ(gateway->releases().size(), 2u);
}

TEST_F(AdoptionTest, AManifestThatIsNotAcceptableMakesNoPod) {
  start_adopting();
  SlotReport other = slot("u2", pod("other", "u1"));
  slots("n1", {slot("u1", pod("web", "u1", "64Mi", R"(,"schedulerName":"gone")")), other, slot("u3", "{}"),
               slot("u4", pod("Bad Name", "u4"))});
  EXPECT_TRUE(gateway->objects().pods().all().empty());
  for (const char* uid : {"u1", "u2", "u3", "u4"}) EXPECT_TRUE(has_orphan(uid)) << uid;
}

TEST_F(AdoptionTest, OutsideAdoptModeADeviceMakesNoPodAndHoldsNoName) {
  start_adopting();
  slots("n1", {});
  slots("n2", {});
  receive(topics.node_presence("n2"), R"({"incarnation":"i1","session":"2","online":true})");
  slots("n2", {slot("made-up", pod("web", "made-up"))});
  EXPECT_TRUE(has_orphan("made-up"));
  EXPECT_EQ(uid_of_pod("web"), "");
  apply(without_uid("web"));
  EXPECT_NE(uid_of_pod("web"), "made-up");
  EXPECT_EQ(phase(uid_of_pod("web")), Phase::prebind);
}

TEST_F(AdoptionTest, APodThatWasAppliedMeanwhileBecomesAnUpdateOfTheFoundOne) {
  start_adopting();
  apply(without_uid("web", R"({"new":"yes"})"));
  ASSERT_NE(uid_of_pod("web"), "");
  slots("n2", {slot("old", pod("web", "old"))});
  EXPECT_EQ(uid_of_pod("web"), "old");
  EXPECT_EQ(phase("old"), Phase::bound);
  EXPECT_EQ(gateway->objects().pods().find("default/web")->pod->metadata.labels.at("new"), "yes");
  EXPECT_FALSE(has_event("web", "NotUpdated"));
  slots("n1", {});
  EXPECT_EQ(gateway->bindings().size(), 1u);
  EXPECT_EQ(gateway->scheduler().queue().counts().active, 0u) << "no second pod";
}

TEST_F(AdoptionTest, WhatCannotBeUpdatedStaysAsTheDeviceHasIt) {
  start_adopting();
  apply(without_uid("web", "{}", "128Mi"));
  slots("n2", {slot("old", pod("web", "old"))});
  EXPECT_EQ(uid_of_pod("web"), "old");
  EXPECT_NE(gateway->objects().pods().find("default/web")->pod->manifest().text().find("64Mi"), std::string::npos);
  EXPECT_TRUE(has_event("web", "NotUpdated"));
}

TEST_F(AdoptionTest, TheOlderSlotStaysWhereThePodWasPlacedASecondTime) {
  place_before_it_is_found("web");
  EXPECT_TRUE(has_event("web", "Displaced"));
  slots("n2", {slot("old", pod("web", "old"))});
  EXPECT_EQ(uid_of_pod("web"), "old");
  EXPECT_EQ(phase("old"), Phase::bound);
  EXPECT_EQ(phase(placed), Phase::none);
  EXPECT_EQ(request("n1")->type, RequestType::release);
  EXPECT_EQ(request("n1")->uid, placed);
  answer("n1", AnswerType::released);
  EXPECT_TRUE(gateway->releases().empty());
  restart();
  EXPECT_EQ(phase("old"), Phase::bound);
  EXPECT_EQ(gateway->bindings().size(), 1u);
}

TEST_F(AdoptionTest, ThePlacementStaysIfTheOperatorWantsTheNewer) {
  options.same_name = SameName::newer;
  place_before_it_is_found("web");
  EXPECT_EQ(uid_of_pod("web"), placed);
  EXPECT_EQ(phase(placed), Phase::bound);
  EXPECT_EQ(request("n2")->type, RequestType::release);
  EXPECT_EQ(request("n2")->uid, "old");
}

TEST_F(AdoptionTest, BothStayIfTheOperatorWantsToBeAsked) {
  options.same_name = SameName::ask;
  place_before_it_is_found("web");
  EXPECT_EQ(phase(placed), Phase::bound);
  EXPECT_TRUE(has_orphan("old"));
  EXPECT_TRUE(has_event("web", "SameName"));
  EXPECT_NE(adopt("web", "n1").find("not on n1"), std::string::npos);
  EXPECT_NE(adopt("web", "n2").find(R"("ok":true)"), std::string::npos);
  slots("n2", {slot("old", pod("web", "old"))});
  EXPECT_EQ(uid_of_pod("web"), "old");
  EXPECT_EQ(phase("old"), Phase::bound);
  EXPECT_EQ(request("n1")->uid, placed);
}

TEST_F(AdoptionTest, TheClaimGoesBackToTheVolumeThatHasTheData) {
  options.first_boot = FirstBoot::is_new;
  options.known_nodes = {};
  options.enrolled_nodes = {"n1", "n2"};
  start_connected();
  const auto volumes = [](const std::string& path) {
    return R"(,"volumes":[{"name":"disk","path":")" + path + R"(","capacity":"1Gi","storageClass":"local"}])";
  };
  const std::string all = R"({"cpu":"2","memory":"1Gi","pods":"10"})";
  apply(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"local","resources":{"requests":{"storage":"1Mi"}}}})");
  device("n1", "i1", all, volumes("/one"));
  slots("n1", {});
  const std::string uses = R"(,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"c"}}])";
  apply(pod("web", "new", "64Mi", uses));
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-disk");
  device("n2", "i1", all, volumes("/two"));
  SlotReport old = slot("old", pod("web", "old", "64Mi", uses));
  old.volumes = {{"default/c", "n2-disk", "/two"}};
  slots("n2", {old});
  SlotReport own = slot("new", pod("web", "new", "64Mi", uses));
  own.epoch = gateway->bindings().find(std::string_view("new"))->second.row.epoch;
  own.volumes = {{"default/c", "n1-disk", "/one"}};
  slots("n1", {own});
  slots("n2", {old});
  EXPECT_EQ(phase("old"), Phase::bound);
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n2-disk");
  EXPECT_EQ(gateway->objects().volume("n2-disk")->phase, "Bound");
  EXPECT_EQ(gateway->objects().volume("n1-disk")->phase, "Released");
}

TEST_F(AdoptionTest, NobodyIsPlacedUnderANameThatAnOrphanHolds) {
  start_adopting();
  slots("n1", {slot("u1", pod("web", "u1", "64Mi", R"(,"schedulerName":"gone")"))});
  slots("n2", {});
  ASSERT_EQ(gateway->not_ready(), "");
  apply(pod("web", "u2"));
  EXPECT_EQ(phase("u2"), Phase::none);
  EXPECT_NE(why("web").find("berthctl adopt pod web --node n1"), std::string::npos) << why("web");
  restart();
  device("n1");
  EXPECT_EQ(phase("u2"), Phase::none) << "durable";
  slots("n1", {});
  EXPECT_EQ(phase("u2"), Phase::prebind) << "it has ended";
}

TEST_F(AdoptionTest, TheNameOfAPodThatIsToldToEndIsHeldUntilItHasEnded) {
  start_adopting();
  receive(topics.desired(Kind::pod, "default/web"), R"({"deleted":true,"uid":"u1"})");
  slots("n1", {slot("u1", pod("web", "u1"))});
  slots("n2", {});
  ASSERT_EQ(request("n1")->type, RequestType::release);
  apply(pod("web", "u2"));
  EXPECT_EQ(phase("u2"), Phase::none);
  EXPECT_NE(why("web").find("an earlier pod of this name has ended on node n1"), std::string::npos) << why("web");
  restart();
  device("n1");
  device("n2");
  EXPECT_EQ(phase("u2"), Phase::none) << "durable";
  slots("n1", {slot("u1", pod("web", "u1"), SlotState::stopping)});
  ASSERT_EQ(request("n1")->type, RequestType::release);
  answer("n1", AnswerType::released);
  EXPECT_EQ(phase("u2"), Phase::prebind);
}

TEST_F(AdoptionTest, APodThatWasDeletedLongAgoIsNotMadeAgain) {
  place_on_n1(pod("web", "u1"));
  SlotReport own = slot("u1", pod("web", "u1"));
  own.epoch = gateway->bindings().at("u1").row.epoch;
  remove("web");
  answer("n1", AnswerType::released);
  ASSERT_EQ(uid_of_pod("web"), "");
  device("n2");
  slots("n2", {slot("u2", pod("other", "u2"))});
  ASSERT_TRUE(gateway->identity().adopting);
  slots("n1", {own});  // its store is an older copy
  EXPECT_EQ(uid_of_pod("web"), "");
  ASSERT_EQ(request("n1")->type, RequestType::release);
  EXPECT_EQ(request("n1")->uid, "u1");
}

TEST_F(AdoptionTest, TheNameOfADisplacedPlacementIsHeldUntilItHasEnded) {
  place_before_it_is_found("web");
  slots("n2", {slot("old", pod("web", "old"))});
  ASSERT_EQ(phase("old"), Phase::bound);
  remove("web");
  answer("n2", AnswerType::released);
  apply(pod("web", "u3"));
  EXPECT_EQ(phase("u3"), Phase::none) << "the placement on n1 may still run";
  ASSERT_EQ(request("n1")->uid, placed);
  answer("n1", AnswerType::released);
  EXPECT_EQ(phase("u3"), Phase::prebind);
}

TEST_F(AdoptionTest, TheOperatorSeesOrphansAndEndsThem) {
  start_adopting();
  slots("n1", {slot("u1", pod("web", "u1", "64Mi", R"(,"schedulerName":"gone")"))});
  slots("n2", {});
  const std::string listed = api(R"({"op":"get","kind":"pods","namespace":"default"})").dump();
  EXPECT_NE(listed.find(R"("phase":"Orphan")"), std::string::npos) << listed;
  EXPECT_NE(listed.find(R"("nodeName":"n1")"), std::string::npos) << listed;
  EXPECT_EQ(api(R"({"op":"get","kind":"pods","namespace":"other"})").dump().find("Orphan"), std::string::npos);
  EXPECT_NE(describe_pod("web").dump().find(R"("phase":"Orphan")"), std::string::npos);
  EXPECT_NE(remove("web").find(R"("ok":true)"), std::string::npos);
  EXPECT_EQ(request("n1")->type, RequestType::release);
  EXPECT_EQ(request("n1")->uid, "u1");
  answer("n1", AnswerType::released);
  EXPECT_TRUE(gateway->releases().empty());
  EXPECT_NE(remove("web").find("not found"), std::string::npos);
}

TEST_F(AdoptionTest, ADeleteByNameEndsWhatANodeListsLater) {
  start_adopting();
  slots("n1", {});
  apply(pod("web", "u2"));
  EXPECT_NE(remove("web").find("deleting"), std::string::npos);
  slots("n2", {slot("u1", pod("web", "u1"))});
  ASSERT_FALSE(gateway->identity().adopting);
  EXPECT_FALSE(has_orphan("u1"));
  EXPECT_EQ(request("n2")->type, RequestType::release);
  EXPECT_EQ(request("n2")->uid, "u1");
}

TEST_F(AdoptionTest, ADeleteByNameEndsWhatANodeListsThatNobodyWaitedFor) {
  start_adopting();
  slots("n1", {});
  api(R"({"op":"adopt","done":true})");
  ASSERT_FALSE(gateway->identity().adopting);
  const std::string told = remove("web");
  EXPECT_NE(told.find("not found; what these nodes run is not known yet, and is ended if it has that name: n2"),
            std::string::npos)
      << told;
  slots("n2", {slot("u1", pod("web", "u1"))});
  EXPECT_EQ(request("n2")->type, RequestType::release);
  EXPECT_EQ(uid_of_pod("web"), "");
  EXPECT_TRUE(gateway->identity().deleted.empty()) << "nobody is left who could run it";
}

TEST_F(AdoptionTest, WhatIsAppliedAgainIsDeletedNoLonger) {
  start_adopting();
  slots("n1", {});
  remove("web");
  apply(without_uid("web"));
  slots("n2", {slot("u1", pod("web", "u1"))});
  EXPECT_EQ(uid_of_pod("web"), "u1");
  EXPECT_EQ(phase("u1"), Phase::bound);
}

TEST_F(AdoptionTest, AnApplyByNameIsAnUpdateOfTheOrphan) {
  start_adopting();
  slots("n1", {slot("u1", pod("web", "u1", "64Mi", R"(,"schedulerName":"gone")"))});
  slots("n2", {});
  apply(without_uid("web"));
  EXPECT_EQ(uid_of_pod("web"), "u1");
  slots("n1", {slot("u1", pod("web", "u1"))});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_FALSE(has_orphan("u1"));
}

TEST_F(AdoptionTest, AForgottenNodeIsWelcomeOnlyOnceAllThatItRunsIsReleased) {
  start_adopting();
  SlotReport second = slot("u2", pod("web", "u2"));
  second.epoch = {1, 8};
  const std::vector<SlotReport> held{slot("u1", pod("web", "u1")), second};
  slots("n1", held);
  slots("n2", {});
  ASSERT_TRUE(has_orphan("u2"));
  apply(pod("web", "u2"));  // it follows u1: when that ends the node of the orphan is listed
  ASSERT_EQ(phase("u1"), Phase::release);
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  const std::string retired = "n1/i1";
  ASSERT_TRUE(gateway->identity().retired.contains(retired));

  slots("n1", held);  // of a listing from before the orphan was given up
  EXPECT_TRUE(gateway->identity().retired.contains(retired) || gateway->releases().size() == held.size());
  device("n1");
  slots("n1", held);
  EXPECT_FALSE(gateway->identity().retired.contains(retired));
  EXPECT_EQ(gateway->releases().size(), held.size());
}

TEST_F(AdoptionTest, NodesThatTheOperatorDidNotWaitForAreAdoptedWhenTheyCome) {
  start_connected();
  device("n1");
  slots("n1", {});
  api(R"({"op":"adopt","done":true})");
  apply(without_uid("web"));
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  const std::string newer = uid_of_pod("web");
  restart();
  device("n2");
  slots("n2", {slot("u1", pod("web", "u1")), slot("u2", pod("other", "u2"))});
  EXPECT_EQ(phase("u2"), Phase::bound);
  EXPECT_TRUE(gateway->identity().late.empty());
  EXPECT_TRUE(has_event("web", "Displaced")) << "the older stays";
  slots("n2", {slot("u1", pod("web", "u1")), slot("u2", pod("other", "u2"))});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(phase(newer), Phase::none);
}

// tests/model: the other gateway had placed the pod elsewhere, as it found no Bind obeyed.
TEST_F(AdoptionTest, ABindThatWasDecidedBeforeAnotherGatewayServedIsHeldBackWhileNodesAreAsked) {
  options.first_boot = FirstBoot::is_new;
  options.known_nodes = {};
  start_connected();
  device("n1");
  slots("n1", {});
  apply(pod("web", "u1"));
  answer("n1", AnswerType::pre_bound);
  ASSERT_EQ(phase("u1"), Phase::bind);
  transport.up = false;
  gateway->on_link(false);
  gateway->lead(9);
  connect();
  device("n1");
  advance(20'000);
  EXPECT_FALSE(request("n1")) << "the pod may have been placed elsewhere";
}

}  // namespace
}  // namespace berth
