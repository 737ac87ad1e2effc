// Volumes that devices make (P18).
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

constexpr char kResources[] = R"({"cpu":"2","memory":"1Gi","pods":"10"})";

class GatewayProvisioning : public GatewayTest {
 protected:
  void begin(const std::string& policy = "Delete") {
    start_connected();
    with_pool();
    apply(
        R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"berth/local",)"
        R"("volumeBindingMode":"WaitForFirstConsumer","reclaimPolicy":")" +
        policy + R"("})");
    apply(
        R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","uid":"c1"},"spec":{"accessModes":)"
        R"(["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}})");
    apply(pod_with_claim("a", "u1"));
  }
  void with_pool(const std::string& capacity = "1Gi", const std::string& session = "1") {
    receive(topics.node_state("n1"), R"({"incarnation":"i1","session":")" + session +
                                         R"(","sequence":"1","allocatable":)" + std::string(kResources) +
                                         R"(,"volumePools":[{"class":"fast","root":"/pool","capacity":")" + capacity +
                                         R"("}]})");
    receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":")" + session + R"(","online":true})");
  }
  static std::string pod_with_claim(const std::string& name, const std::string& uid) {
    return pod(name, uid, "64Mi", R"(,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}])");
  }
  void run() {
    answer("n1", AnswerType::pre_bound);
    answer("n1", AnswerType::bound);
    ASSERT_EQ(phase("u1"), Phase::bound);
  }
  void delete_pod_and_claim() {
    api(R"({"op":"delete","kind":"pod","namespace":"default","name":"a"})");
    answer("n1", AnswerType::released);
    api(R"({"op":"delete","kind":"persistentvolumeclaim","namespace":"default","name":"data"})");
  }
  std::shared_ptr<const PersistentVolume> made() { return gateway->objects().volume("pvc-c1"); }
  // The DeleteVolume sent last; none: none was.
  std::optional<Request> deletion() {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic != topics.node_requests("n1")) continue;
      Result<Request> decoded = decode_request(it->payload);
      if (decoded->type == RequestType::delete_volume) return *decoded;
    }
    return std::nullopt;
  }
  // Answers the last List with the slots that the rows have, and these volumes.
  void list(const std::vector<std::string>& unused, const std::vector<KeptVolume>& kept = {}) {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      Result<Request> decoded =
          it->topic == topics.node_requests("n1") ? decode_request(it->payload) : Status::error("");
      if (!decoded || decoded->type != RequestType::list) continue;
      Answer listing(AnswerType::slots);
      listing.incarnation = "i1";
      listing.gateway_id = decoded->gateway_id;
      listing.list_id = decoded->list_id;
      listing.pages = 1;
      listing.unused_volumes = unused;
      listing.kept_volumes = kept;
      for (const auto& [uid, binding] : gateway->bindings()) {
        if (binding.row.node != "n1") continue;
        listing.slots.push_back({std::string(uid), binding.row.epoch, SlotState::running, pod("a", "u1")});
      }
      answer("n1", listing);
      return;
    }
    FAIL() << "no List was sent";
  }
  std::string events_of_claim() {
    return api(R"({"op":"events","kind":"PersistentVolumeClaim","name":"data"})").dump();
  }
  void deleted(const Request& request) {
    Answer gone = answer_to(request, AnswerType::volume_deleted);
    gone.volume = request.volume;
    answer("n1", gone);
  }
};

TEST_F(GatewayProvisioning, PreBindAsksForTheVolumeAndPhaseBindMakesItsObject) {
  begin();
  const std::optional<Request> asked = request("n1");
  ASSERT_TRUE(asked && asked->type == RequestType::pre_bind);
  EXPECT_EQ(asked->volumes, (std::vector<BoundVolume>{{"default/data", "pvc-c1", "/pool/pvc-c1",
                                                       VolumeToMake{"fast", std::int64_t{1} << 30}}}));
  EXPECT_EQ(made(), nullptr);
  restart();
  with_pool("1Gi", "2");
  EXPECT_EQ(request("n1")->volumes, asked->volumes) << "as the row has it";
  answer("n1", AnswerType::pre_bound);
  ASSERT_NE(made(), nullptr);
  EXPECT_EQ(made()->phase, "Bound");
  EXPECT_EQ(made()->claim_ref, "default/data");
  EXPECT_EQ(made()->reclaim_policy, "Delete");
  EXPECT_EQ(made()->local_path, "/pool/pvc-c1");
  EXPECT_EQ(gateway->objects().claim("default/data")->volume_name, "pvc-c1");
  const std::string uid = made()->metadata.uid;
  restart();
  ASSERT_NE(made(), nullptr);
  EXPECT_EQ(made()->metadata.uid, uid) << "it was in the transaction to phase bind";
  for (const char* object : {"persistentvolumes/pvc-c1", "persistentvolumeclaims/default/data"}) {
    const bool is_mirrored = std::any_of(transport.sent.begin(), transport.sent.end(), [&](const Message& message) {
      return message.topic == "berth/v1/default/desired/" + std::string(object) && message.retain;
    });
    EXPECT_TRUE(is_mirrored) << object;
  }
}

TEST_F(GatewayProvisioning, ARejectedPodsVolumeIsDeletedAndNoObjectIsMade) {
  begin();
  const Request asked = *request("n1");
  answer("n1", answer_to(asked, AnswerType::rejected));
  EXPECT_EQ(made(), nullptr);
  const std::optional<Request> deletes = deletion();
  ASSERT_TRUE(deletes.has_value());
  EXPECT_EQ(deletes->volume, "pvc-c1");
  EXPECT_EQ(deletes->path, "") << "a pod may have used it: then it stays";
  EXPECT_GT(deletes->epoch, asked.epoch);
}

TEST_F(GatewayProvisioning, WhatAListingCallsUnusedIsDeletedUnlessARowOrAnObjectHasIt) {
  begin();
  run();
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"9","online":true})");
  list({"pvc-c1", "pvc-old"});
  const std::optional<Request> deletes = deletion();
  ASSERT_TRUE(deletes.has_value());
  EXPECT_EQ(deletes->volume, "pvc-old");
}

TEST_F(GatewayProvisioning, AListingCostsALookAtWhatItsOwnNodeHas) {
  begin();
  run();
  int session = 9;
  const auto cost = [&] {
    receive(topics.node_presence("n1"),
            R"({"incarnation":"i1","session":")" + std::to_string(session++) + R"(","online":true})");
    const std::uint64_t before = gateway->orphan_volumes().provisioned().looked_at();
    list({"pvc-old"});
    return gateway->orphan_volumes().provisioned().looked_at() - before;
  };
  const std::uint64_t alone = cost();
  EXPECT_GT(alone, 0u);
  device("n2", "i1", R"({"cpu":"8","memory":"8Gi","pods":"10"})");
  apply(R"({"kind":"Node","metadata":{"name":"n1"},"spec":{"unschedulable":true}})");
  for (int i = 0; i < 5; ++i) bind_pod("b" + std::to_string(i), "b" + std::to_string(i), "n2");
  EXPECT_EQ(cost(), alone) << "pods of another node were looked at";
}

TEST_F(GatewayProvisioning, AClaimsEventsTellOfItsVolumeAsKubernetesProvisionersDo) {
  begin();
  Answer no_room = answer_to(*request("n1"), AnswerType::rejected);
  no_room.reason = "volume pvc-c1: insufficient storage in pool /pool: 1Gi asked, 0 free";
  answer("n1", no_room);
  const std::string failed = events_of_claim();
  EXPECT_NE(failed.find(R"("reason":"ProvisioningFailed")"), std::string::npos) << failed;
  EXPECT_NE(failed.find(R"("type":"Warning")"), std::string::npos) << failed;
  EXPECT_NE(
      failed.find(R"(failed to provision volume with StorageClass \"fast\": node n1: volume pvc-c1: insufficient )"
                  R"(storage in pool /pool: 1Gi asked, 0 free)"),
      std::string::npos)
      << failed;
  advance(11'000);
  run();
  const std::string succeeded = events_of_claim();
  EXPECT_NE(succeeded.find(R"("reason":"ProvisioningSucceeded")"), std::string::npos) << succeeded;
  EXPECT_NE(succeeded.find("Successfully provisioned volume pvc-c1"), std::string::npos) << succeeded;
}

TEST_F(GatewayProvisioning, ARejectionForAnotherReasonIsNoneOfTheClaims) {
  begin();
  answer("n1", AnswerType::rejected);
  EXPECT_EQ(events_of_claim().find("ProvisioningFailed"), std::string::npos);
}

class GatewayOrphanVolumes : public GatewayProvisioning {
 protected:
  static KeptVolume kept(const std::string& name = "pvc-old") {
    return {name, "/pool/" + name, "default/lost", std::int64_t{1} << 29};
  }
  // The device is listed, and says this.
  void tell(const std::vector<KeptVolume>& volumes) {
    receive(topics.node_presence("n1"),
            R"({"incarnation":"i1","session":")" + std::to_string(session_++) + R"(","online":true})");
    list({}, volumes);
  }
  std::string volumes() { return api(R"({"op":"get","kind":"pv"})").find("items")->dump(); }
  std::string node() { return api(R"({"op":"get","kind":"node","name":"n1"})").dump(); }
  Json decide(const std::string& op, const std::string& name = "pvc-old", const std::string& more = "") {
    return api(R"({"op":")" + op + R"(","kind":"PersistentVolume","name":")" + name + R"(")" + more + "}");
  }
  std::shared_ptr<const PersistentVolume> volume(const std::string& name = "pvc-old") {
    return gateway->objects().volume(name);
  }

 private:
  int session_ = 20;
};

TEST_F(GatewayOrphanVolumes, AreShownOnceListedAndNeverRemovedByThemselves) {
  begin();
  run();
  tell({kept("pvc-c1"), kept()});
  EXPECT_EQ(volumes().find(R"("phase":"Orphan")"), volumes().rfind(R"("phase":"Orphan")")) << volumes();
  EXPECT_NE(volumes().find(R"("claim":"default/lost")"), std::string::npos) << volumes();
  EXPECT_NE(decide("get").dump().find(R"("nodeName":"n1")"), std::string::npos);
  EXPECT_NE(node().find(R"("type":"OrphanVolumes")"), std::string::npos) << node();
  EXPECT_NE(node().find("/pool/pvc-old (claim default/lost)"), std::string::npos) << node();
  EXPECT_NE(api(R"({"op":"events","kind":"node","name":"n1"})").dump().find("OrphanVolume"), std::string::npos);
  advance(options.compare_ms);
  EXPECT_FALSE(deletion().has_value());
  tell({kept("pvc-c1")});
  EXPECT_EQ(volumes().find("Orphan"), std::string::npos) << "it is gone";
  EXPECT_EQ(node().find("OrphanVolumes"), std::string::npos) << node();
}

// Otherwise the device reported the volume at the next comparison.
TEST_F(GatewayOrphanVolumes, AreShownAsSoonAsTheSlotThatHasThemHasEnded) {
  begin();
  run();
  const SlotReport slot{"u1",
                        gateway->bindings().at("u1").row.epoch,
                        SlotState::stopping,
                        pod("a", "u1"),
                        {{"default/lost", "pvc-old", "/pool/pvc-old"}}};
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"a"})");
  answer("n1", AnswerType::released);
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"30","online":true})");
  slots("n1", {slot});
  ASSERT_EQ(request("n1")->type, RequestType::release);
  EXPECT_EQ(volumes().find("Orphan"), std::string::npos) << "a slot has it";
  answer("n1", AnswerType::released);
  list({}, {kept()});
  EXPECT_NE(volumes().find("Orphan"), std::string::npos) << volumes();
}

// As above; what it says of the volumes is older than the answer.
TEST_F(GatewayOrphanVolumes, AreShownThoughTheirSlotEndedWhileItsListingWasOnItsWay) {
  begin();
  run();
  const SlotReport slot{"u1",
                        gateway->bindings().at("u1").row.epoch,
                        SlotState::stopping,
                        pod("a", "u1"),
                        {{"default/lost", "pvc-old", "/pool/pvc-old"}}};
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"a"})");
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"30","online":true})");
  answer("n1", AnswerType::released);
  slots("n1", {slot});
  list({}, {kept()});
  EXPECT_NE(volumes().find("Orphan"), std::string::npos) << volumes();
}

TEST_F(GatewayOrphanVolumes, OutsideOfThePoolsAreNotBelieved) {
  begin();
  tell({{"pvc-old", "/srv/pvc-old"}, {"other", "/pool/pvc-old"}});
  EXPECT_EQ(volumes().find("Orphan"), std::string::npos);
}

TEST_F(GatewayOrphanVolumes, ThatAClaimIsBoundToAreShownAndAdoptedForIt) {
  begin();
  apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"waits","uid":"c9"},"spec":{"accessModes":)"
      R"(["ReadWriteOnce"],"storageClassName":"fast","volumeName":"pvc-old","resources":{"requests":{"storage":"1Gi"}}}})");
  tell({kept()});
  EXPECT_NE(volumes().find("claim default/waits is bound to it, and gets it with berthctl adopt pv"), std::string::npos)
      << volumes();
  EXPECT_NE(decide("delete").dump().find("has the data of claim default/waits"), std::string::npos);
  EXPECT_EQ(volume(), nullptr);
  EXPECT_EQ(*decide("adopt").find("result"), Json("adopted, Bound"));
  EXPECT_EQ(volume()->phase, "Bound");
  EXPECT_EQ(volume()->claim_ref, "default/waits");
  EXPECT_EQ(gateway->objects().claim("default/waits")->phase, "Bound");
}

TEST_F(GatewayOrphanVolumes, AreVolumesAgainThatNobodyGetsWhenAdopted) {
  begin();
  tell({kept()});
  EXPECT_NE(decide("adopt", "pvc-old", R"(,"node":"n2")").dump().find("is an orphan on n1, not on n2"),
            std::string::npos);
  EXPECT_EQ(*decide("adopt").find("ok"), Json(true));
  ASSERT_NE(volume(), nullptr);
  EXPECT_EQ(volume()->phase, "Released");
  EXPECT_EQ(volume()->reclaim_policy, "Retain");
  EXPECT_EQ(volume()->storage_class_name, "fast");
  EXPECT_EQ(volume()->local_path, "/pool/pvc-old");
  EXPECT_EQ(volumes().find("Orphan"), std::string::npos);
  EXPECT_NE(decide("adopt").dump().find("is no orphan on any node"), std::string::npos);
  restart();
  with_pool("1Gi", "30");
  ASSERT_NE(volume(), nullptr);
  tell({kept()});
  EXPECT_EQ(volumes().find("Orphan"), std::string::npos);
  EXPECT_FALSE(deletion().has_value());
}

// Seed 3305 of the simulator: the volume had a capacity of 0, which the next store refused.
TEST_F(GatewayOrphanVolumes, OfUnknownSizeAreAcceptableWhenAdopted) {
  begin();
  tell({{"pvc-old", "/pool/pvc-old"}});
  EXPECT_EQ(*decide("adopt").find("ok"), Json(true));
  std::string mirrored;
  for (const Message& message : transport.sent) {
    if (message.topic.ends_with("/desired/persistentvolumes/pvc-old")) mirrored = message.payload;
  }
  const Result<Json> manifest = Json::parse(mirrored);
  ASSERT_TRUE(manifest.has_value()) << mirrored;
  EXPECT_TRUE(decode_persistent_volume(*manifest, nullptr).has_value()) << mirrored;
}

TEST_F(GatewayOrphanVolumes, AreRemovedByTheirDeviceWhenDeleted) {
  begin();
  run();
  tell({kept()});
  EXPECT_EQ(*decide("delete").find("ok"), Json(true));
  ASSERT_TRUE(deletion().has_value());
  EXPECT_EQ(deletion()->path, "/pool/pvc-old");
  restart();
  with_pool("1Gi", "30");
  ASSERT_NE(volume(), nullptr) << "the order is durable";
  tell({kept()});
  ASSERT_TRUE(deletion().has_value());
  deleted(*deletion());
  EXPECT_EQ(volume(), nullptr);
  EXPECT_EQ(volumes().find("Orphan"), std::string::npos);
}

TEST_F(GatewayOrphanVolumes, AreNotThoseThatWereDeletedWhileTheirListingWasOnItsWay) {
  begin();
  run();
  delete_pod_and_claim();
  const Request asked = *deletion();
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"50","online":true})");
  deleted(asked);
  ASSERT_EQ(volume("pvc-c1"), nullptr);
  list({}, {kept("pvc-c1")});
  EXPECT_EQ(volumes().find("Orphan"), std::string::npos) << volumes();
}

TEST_F(GatewayOrphanVolumes, OfANameThatIsAnotherNodesVolumeAreLeftToPeople) {
  begin();
  run();
  device("n2", "i1", kResources, R"(,"volumePools":[{"class":"fast","root":"/pool","capacity":"1Gi"}])");
  for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
    if (it->topic != topics.node_requests("n2")) continue;
    const Request asked = *decode_request(it->payload);
    if (asked.type != RequestType::list) continue;
    Answer listing = answer_to(asked, AnswerType::slots);
    listing.list_id = asked.list_id;
    listing.pages = 1;
    listing.kept_volumes = {kept("pvc-c1")};
    answer("n2", listing);
    break;
  }
  EXPECT_NE(volumes().find("Orphan"), std::string::npos);
  EXPECT_NE(decide("adopt", "pvc-c1").dump().find("is there already, on node n1"), std::string::npos);
}

TEST_F(GatewayProvisioning, AVolumeGoesWhenItsClaimIsGoneAndItsDeviceHasRemovedIt) {
  begin();
  run();
  api(R"({"op":"delete","kind":"persistentvolumeclaim","namespace":"default","name":"data"})");
  EXPECT_EQ(made()->phase, "Bound") << "a pod uses it";
  EXPECT_FALSE(deletion().has_value());
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"a"})");
  answer("n1", AnswerType::released);
  ASSERT_NE(made(), nullptr);
  EXPECT_EQ(made()->phase, "Released");
  const std::optional<Request> first = deletion();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->path, "/pool/pvc-c1");
  advance(2000);
  const std::optional<Request> second = deletion();
  EXPECT_GE(second->epoch, first->epoch);
  restart();
  with_pool("1Gi", "2");
  EXPECT_FALSE(deletion().has_value());
  deleted(*second);
  EXPECT_NE(made(), nullptr) << "an answer to what this run has not asked";
  slots("n1", {});
  const std::optional<Request> again = deletion();
  ASSERT_TRUE(again.has_value()) << "a restart asks again";
  deleted(*again);
  EXPECT_EQ(made(), nullptr);
  transport.sent.clear();
  advance(60'000);
  EXPECT_FALSE(deletion().has_value());
}

TEST_F(GatewayProvisioning, RetainKeepsTheVolume) {
  begin("Retain");
  run();
  delete_pod_and_claim();
  ASSERT_NE(made(), nullptr);
  EXPECT_EQ(made()->phase, "Released");
  EXPECT_EQ(made()->reclaim_policy, "Retain");
  advance(options.compare_ms);
  EXPECT_FALSE(deletion().has_value());
}

TEST_F(GatewayProvisioning, APodThatFoundNoRoomIsTriedWhenAVolumeIsDeletedOrAPoolGrows) {
  begin();
  run();
  apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"more","uid":"c2"},"spec":{"accessModes":)"
      R"(["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}})");
  apply(pod("b", "u2", "64Mi", R"(,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"more"}}])"));
  EXPECT_NE(why("b").find("did not have enough free storage"), std::string::npos) << why("b");
  with_pool("2Gi", "2");
  advance(10'000);
  EXPECT_EQ(phase("u2"), Phase::prebind);
}

TEST_F(GatewayProvisioning, AClassOfDevicesWithImmediateBindingIsRefused) {
  start_connected();
  const Json reply = apply(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"berth/local"})");
  EXPECT_NE(reply.dump().find("volumeBindingMode: must be WaitForFirstConsumer for provisioner berth/local"),
            std::string::npos)
      << reply.dump();
}

}  // namespace
}  // namespace berth
