#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/scheduler/reservation.h"
#include "core/scheduler/scheduling_cycle.h"
#include "plugins/registry.h"
#include "plugins/volumebinding.h"
#include "plugins/volumebinding_match.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

const char* const kNoMatch = "node(s) didn't find available persistent volumes to bind";
const char* const kElsewhere = "node(s) didn't match PersistentVolume's node affinity";

class VolumeBindingTest : public ::testing::Test {
 protected:
  VolumeBindingTest() {
    StorageClass local;
    local.metadata.name = "local";
    local.provisioner = StorageClass::kNoProvisioner;
    local.wait_for_first_consumer = true;
    volumes.classes["local"] = local;
    local.metadata.name = "now";
    local.wait_for_first_consumer = false;
    volumes.classes["now"] = local;
    framework = make_framework(handle, "default-scheduler");
    for (const char* name : {"n1", "n2"}) cache.set_node(share(make_node(name)));
    cache.update_snapshot(snapshot);
  }
  // VolumeBinding alone: other plugins check claims too.
  std::unique_ptr<Framework> make_framework(Handle& of, const std::string& scheduler_name) {
    Profile profile;
    profile.scheduler_name = scheduler_name;
    profile.enable("PrioritySort").enable(VolumeBinding::kName).enable("DefaultBinder");
    Result<std::unique_ptr<Framework>> made = Framework::make(registry, profile, of);
    CHECK(made.has_value());
    return std::move(*made);
  }
  PersistentVolume& add_volume(const std::string& name, const std::string& size, const std::string& node = "n1") {
    PersistentVolume volume;
    volume.metadata.name = name;
    volume.capacity = quantity(size);
    volume.storage_class_name = "local";
    volume.access_modes = {"ReadWriteOnce"};
    volume.local_path = "/mnt/" + name;
    if (!node.empty()) {
      volume.node_affinity = NodeSelector{{{{{"kubernetes.io/hostname", Requirement::Operator::in, {node}}}, {}}}};
    }
    return volumes.volumes[name] = volume;
  }
  PersistentVolumeClaim& add_claim(const std::string& name, const std::string& size = "1Gi",
                                   const std::string& storage_class = "local") {
    PersistentVolumeClaim claim;
    claim.metadata.name = name;
    claim.metadata.namespace_ = "default";
    claim.metadata.uid = "uid-" + name;
    claim.request = quantity(size);
    claim.storage_class_name = storage_class;
    claim.access_modes = {"ReadWriteOnce"};
    return volumes.claims["default/" + name] = claim;
  }
  // What the gateway writes when a binding enters phase bind.
  void bind(const std::string& claim_name, const std::string& volume_name) {
    PersistentVolumeClaim& claim = volumes.claims.at("default/" + claim_name);
    claim.volume_name = volume_name;
    claim.phase = "Bound";
    if (!volumes.volumes.contains(volume_name)) return;
    PersistentVolume& volume = volumes.volumes.at(volume_name);
    volume.claim_ref = "default/" + claim_name;
    volume.claim_ref_uid = claim.metadata.uid;
    volume.phase = "Bound";
  }
  static PodPtr pod_with(const std::string& name, const std::vector<std::string>& claims) {
    Pod pod = make_pod(name);
    for (const std::string& claim : claims) pod.volumes.push_back({"v-" + claim, claim});
    return share(std::move(pod));
  }
  // One whole attempt, and the bound volumes that PreBind requests from the device.
  struct Attempt {
    ScheduleResult result;
    std::optional<Reservation> reservation;
    std::map<std::string, std::string> bound_volumes;  // claim -> volume
    std::string why;
  };
  Attempt attempt(const PodPtr& pod) {
    Attempt attempt;
    auto state = std::make_unique<CycleState>();
    attempt.result = schedule_pod(*framework, *state, *pod, snapshot, random);
    attempt.why = attempt.result.diagnosis.message();
    if (!attempt.result.status.is_success()) return attempt;
    Result<Reservation> made =
        Reservation::make(*framework, cache, std::move(state), pod, attempt.result.decision.node);
    CHECK(made.has_value());
    attempt.reservation = std::move(*made);
    PlacementRequest request;
    CycleState& kept = attempt.reservation->state();
    const Status flight = framework->binding().run_pre_bind_pre_flight(kept, *pod, attempt.reservation->node());
    CHECK(flight.is_success() || flight.is_skip());
    CHECK(framework->binding().run_pre_bind(kept, *pod, attempt.reservation->node(), request).is_success());
    for (const BoundVolume& bound_volume : request.volumes) {
      attempt.bound_volumes[bound_volume.claim] = bound_volume.volume;
      EXPECT_EQ(bound_volume.path, "/mnt/" + bound_volume.volume);
    }
    return attempt;
  }

  FakeHandle handle;
  FakeVolumes& volumes = handle.volumes_of_test;
  Registry registry = in_tree_registry();
  std::unique_ptr<Framework> framework;
  Cache cache;
  Snapshot snapshot;
  Random random{3};
};

using BoundVolumes = std::map<std::string, std::string>;

TEST_F(VolumeBindingTest, RequestsNoVolumesWithoutClaims) {
  const Attempt got = attempt(pod_with("p", {}));
  ASSERT_TRUE(got.reservation.has_value());
  EXPECT_TRUE(got.bound_volumes.empty());
}

TEST_F(VolumeBindingTest, TakesTheSmallestVolumeThatFits) {
  add_volume("big", "9Gi");
  add_volume("small", "512Mi");
  add_volume("right-b", "2Gi");
  add_volume("right-a", "2Gi");
  add_claim("c");
  const Attempt got = attempt(pod_with("p", {"c"}));
  EXPECT_EQ(got.bound_volumes, (BoundVolumes{{"default/c", "right-a"}}));
  EXPECT_EQ(got.reservation->node(), "n1");
}

TEST_F(VolumeBindingTest, MatchesSmallClaimsFirstAndUsesNoVolumeTwice) {
  add_volume("v2", "2Gi");
  add_volume("v9", "9Gi");
  add_claim("large", "2Gi");
  add_claim("small", "1Gi");
  // Upstream's greedy order: the small claim gets the 2Gi volume.
  EXPECT_EQ(attempt(pod_with("p", {"large", "small"})).bound_volumes,
            (BoundVolumes{{"default/large", "v9"}, {"default/small", "v2"}}));
}

TEST_F(VolumeBindingTest, FindsVolumesWithoutNodeAffinity) {
  add_volume("anywhere", "1Gi", "");
  add_claim("c");
  EXPECT_EQ(attempt(pod_with("p", {"c"})).bound_volumes, (BoundVolumes{{"default/c", "anywhere"}}));
}

TEST_F(VolumeBindingTest, ReleasesTheVolumesOfADeletedStorageClass) {
  add_volume("old", "1Gi");
  add_claim("c");
  attempt(pod_with("p", {"c"}));
  const auto old = volumes.given.at("old");
  ASSERT_FALSE(old.expired());
  volumes.classes["next"] = volumes.classes.at("local");
  volumes.classes.erase("local");
  add_volume("new", "1Gi").storage_class_name = "next";
  add_claim("d", "1Gi", "next");
  EXPECT_EQ(attempt(pod_with("q", {"d"})).bound_volumes, (BoundVolumes{{"default/d", "new"}}));
  EXPECT_TRUE(old.expired());
}

TEST_F(VolumeBindingTest, ChecksOnlyTheLabelsOfAVolumesNodeAffinity) {
  const NodeSelectorTerm fields{{}, {{"metadata.name", Requirement::Operator::in, {"n9"}}}};
  const NodeSelectorTerm unsupported{{}, {{"metadata.name", Requirement::Operator::in, {"n1", "n2"}}}};
  const NodeSelectorTerm both{{{"kubernetes.io/hostname", Requirement::Operator::in, {"n2"}}}, fields.match_fields};
  PersistentVolume volume;
  auto reached = [&volume](const NodeSelectorTerm& term) {
    volume.node_affinity = NodeSelector{{term}};
    return std::pair(reaches(volume, make_node("n1")), reaches(volume, make_node("n2")));
  };
  EXPECT_EQ(reached(fields), std::pair(true, true));
  EXPECT_EQ(reached(both), std::pair(false, true));
  EXPECT_EQ(reached(unsupported), std::pair(false, false));
  EXPECT_EQ(reached({}), std::pair(false, false));
}

TEST_F(VolumeBindingTest, ListsAClaimOnceThoughTwoVolumesOfThePodUseIt) {
  add_volume("v", "1Gi");
  add_claim("c");
  EXPECT_EQ(attempt(pod_with("p", {"c", "c"})).bound_volumes, (BoundVolumes{{"default/c", "v"}}));
}

struct MismatchCase {
  std::string name;
  std::function<void(PersistentVolume&, PersistentVolumeClaim&)> shape;
};

class VolumeMismatch : public VolumeBindingTest, public ::testing::WithParamInterface<MismatchCase> {};

TEST_P(VolumeMismatch, FindsNone) {
  PersistentVolume& volume = add_volume("v", "1Gi");
  PersistentVolumeClaim& claim = add_claim("c");
  GetParam().shape(volume, claim);
  EXPECT_EQ(attempt(pod_with("p", {"c"})).why, std::string("0/2 nodes are available: 2 ") + kNoMatch + ".");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, VolumeMismatch,
    ::testing::Values(MismatchCase{"TooSmall", [](auto&, auto& claim) { claim.request = quantity("2Gi"); }},
                      MismatchCase{"OtherClass", [](auto& volume, auto&) { volume.storage_class_name = "other"; }},
                      MismatchCase{"OtherMode", [](auto& volume, auto&) { volume.volume_mode = "Block"; }},
                      MismatchCase{"AccessMode",
                                   [](auto&, auto& claim) { claim.access_modes.push_back("ReadWriteMany"); }},
                      MismatchCase{"Released", [](auto& volume, auto&) { volume.phase = "Released"; }},
                      MismatchCase{"OfAnotherClaim", [](auto& volume, auto&) { volume.claim_ref = "default/other"; }},
                      MismatchCase{"OfAnEarlierClaimOfThatName",
                                   [](auto& volume, auto&) {
                                     volume.claim_ref = "default/c";
                                     volume.claim_ref_uid = "uid-of-old";
                                   }},
                      MismatchCase{"BeingDeleted", [](auto& volume, auto&) { volume.metadata.deleting = true; }},
                      MismatchCase{"Selector",
                                   [](auto&, auto& claim) {
                                     claim.selector = LabelSelector{{{"kind", Requirement::Operator::in, {"fast"}}}};
                                   }},
                      MismatchCase{"WaitsForAProvisioner",
                                   [](auto&, auto& claim) {
                                     claim.metadata.annotations["volume.kubernetes.io/selected-node"] = "n1";
                                   }}),
    [](const auto& param) { return param.param.name; });

TEST_F(VolumeBindingTest, PrefersAVolumeReservedForTheClaim) {
  add_volume("small", "1Gi");
  add_volume("mine", "9Gi").claim_ref = "default/c";
  add_claim("c");
  EXPECT_EQ(attempt(pod_with("p", {"c"})).bound_volumes, (BoundVolumes{{"default/c", "mine"}}));
}

TEST_F(VolumeBindingTest, FollowsAReservedVolumeToItsNode) {
  add_volume("small", "1Gi", "n1");
  add_volume("mine", "9Gi", "n2").claim_ref = "default/c";
  add_claim("c");
  const Attempt got = attempt(pod_with("p", {"c"}));
  EXPECT_EQ(got.result.decision.node, "n2");
  EXPECT_EQ(got.result.decision.feasible, 1u);
}

TEST_F(VolumeBindingTest, FollowsABoundClaimToItsVolume) {
  add_volume("v", "1Gi", "n2");
  add_claim("c");
  bind("c", "v");
  const Attempt got = attempt(pod_with("p", {"c"}));
  EXPECT_EQ(got.result.decision.node, "n2");
  EXPECT_EQ(got.bound_volumes, (BoundVolumes{{"default/c", "v"}})) << "the device needs the paths of bound claims too";
  volumes.volumes.at("v").node_affinity->terms[0].match_expressions[0].values = {"n9"};
  EXPECT_EQ(attempt(pod_with("q", {"c"})).why, std::string("0/2 nodes are available: 2 ") + kElsewhere + ".");
}

TEST_F(VolumeBindingTest, ReportsWhatIsWrongWithAClaim) {
  EXPECT_EQ(attempt(pod_with("p", {"c"})).why, "0/2 nodes are available: persistentvolumeclaim \"c\" not found.");
  add_claim("c").metadata.deleting = true;
  EXPECT_EQ(attempt(pod_with("p", {"c"})).why,
            "0/2 nodes are available: persistentvolumeclaim \"c\" is being deleted.");
  PersistentVolumeClaim& lost = add_claim("c");
  lost.phase = "Lost";
  lost.volume_name = "gone";
  EXPECT_EQ(attempt(pod_with("p", {"c"})).why,
            "0/2 nodes are available: persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"gone\".");
  add_claim("c", "1Gi", "now");
  EXPECT_EQ(attempt(pod_with("p", {"c"})).why,
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
  add_claim("c").volume_name = "v";
  EXPECT_EQ(attempt(pod_with("p", {"c"})).why,
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
  add_claim("c");
  bind("c", "gone");
  EXPECT_EQ(attempt(pod_with("p", {"c"})).why,
            "0/2 nodes are available: 2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s).");
}

TEST_F(VolumeBindingTest, NeverAssumesOneVolumeForTwoClaims) {
  add_volume("v", "1Gi");
  add_claim("c");
  add_claim("d");
  const Attempt first = attempt(pod_with("p", {"c"}));
  ASSERT_EQ(first.bound_volumes, (BoundVolumes{{"default/c", "v"}}));
  const Attempt second = attempt(pod_with("q", {"d"}));
  EXPECT_EQ(second.why, std::string("0/2 nodes are available: 2 ") + kNoMatch + ".");
}

TEST_F(VolumeBindingTest, SharesWhatItAssumesBetweenTheProfilesOfAGateway) {
  add_volume("v", "1Gi");
  add_claim("c");
  add_claim("d");
  const Attempt first = attempt(pod_with("p", {"c"}));
  const std::unique_ptr<Framework> other = make_framework(handle, "other");
  CycleState state;
  EXPECT_FALSE(schedule_pod(*other, state, *pod_with("q", {"d"}), snapshot, random).status.is_success());
  FakeHandle elsewhere;
  elsewhere.volumes_of_test = volumes;
  const std::unique_ptr<Framework> far = make_framework(elsewhere, "other");
  CycleState fresh;
  EXPECT_TRUE(schedule_pod(*far, fresh, *pod_with("q", {"d"}), snapshot, random).status.is_success())
      << "assumed volumes are not shared between gateways";
}

TEST_F(VolumeBindingTest, ReleasesTheVolumeWhenTheReservationIsDropped) {
  add_volume("v", "1Gi");
  add_claim("c");
  add_claim("d");
  attempt(pod_with("p", {"c"})).reservation.reset();
  EXPECT_EQ(attempt(pod_with("q", {"d"})).bound_volumes, (BoundVolumes{{"default/d", "v"}}));
}

TEST_F(VolumeBindingTest, LetsTwoPodsShareAClaimAndKeepsItsVolumeUntilBothAreDropped) {
  add_volume("v", "1Gi");
  add_claim("c");
  add_claim("d");
  Attempt first = attempt(pod_with("p", {"c"}));
  Attempt second = attempt(pod_with("q", {"c"}));
  EXPECT_EQ(second.bound_volumes, (BoundVolumes{{"default/c", "v"}}));
  first.reservation.reset();
  EXPECT_FALSE(attempt(pod_with("r", {"d"})).reservation.has_value());
  second.reservation.reset();
  EXPECT_TRUE(attempt(pod_with("r", {"d"})).reservation.has_value());
}

TEST_F(VolumeBindingTest, KeepsTheVolumesOfARestoredReservationUntilItIsDropped) {
  add_volume("v", "1Gi");
  add_claim("c");
  add_claim("d");
  std::optional<Reservation> recovered = Reservation::restore(
      *framework, cache, std::make_unique<CycleState>(), pod_with("p", {"c"}), "n1", {{"default/c", "v", "/mnt/v"}});
  EXPECT_FALSE(attempt(pod_with("q", {"d"})).reservation.has_value());
  recovered.reset();
  EXPECT_TRUE(attempt(pod_with("q", {"d"})).reservation.has_value());
}

TEST_F(VolumeBindingTest, RespectsABoundClaimAfterTheReservationIsDropped) {
  add_volume("v", "1Gi");
  add_claim("c");
  add_claim("d");
  Attempt first = attempt(pod_with("p", {"c"}));
  bind("c", "v");
  first.reservation.reset();  // the binding failed later: the bound claim stays, as upstream
  EXPECT_FALSE(attempt(pod_with("q", {"d"})).reservation.has_value());
  EXPECT_EQ(attempt(pod_with("p", {"c"})).bound_volumes, (BoundVolumes{{"default/c", "v"}}));
}

TEST(AssumedVolumes, EndWithPostBind) {
  FakeHandle handle;
  auto assumed = std::make_shared<AssumedVolumes>();
  VolumeBinding plugin({}, handle, assumed);
  CycleState state;
  const Pod pod = make_pod("p");
  plugin.restore(state, pod, "n1", {{"default/c", "v", "/mnt/v"}});
  EXPECT_EQ(assumed->claim_of("v"), "default/c");
  plugin.post_bind(state, pod, "n1");
  EXPECT_EQ(assumed->size(), 0u);
}

TEST(AssumedVolumes, RejectAVolumeAssumedForAnotherClaim) {
  AssumedVolumes assumed;
  EXPECT_TRUE(assumed.assume("v", "default/c", "p"));
  EXPECT_FALSE(assumed.assume("v", "default/d", "q"));
  assumed.drop("p");
  EXPECT_TRUE(assumed.assume("v", "default/d", "q"));
}

TEST(AssumedVolumes, RejectAnotherVolumeForAClaim) {
  AssumedVolumes assumed;
  EXPECT_TRUE(assumed.assume("v", "default/c", "p"));
  EXPECT_FALSE(assumed.assume("w", "default/c", "q"));
  EXPECT_TRUE(assumed.assume("v", "default/c", "q"));
}

}  // namespace
}  // namespace berth
