#include "core/controllers/ownership.h"

#include <gtest/gtest.h>

#include "core/api/replica_set.h"
#include "tests/conformance/world.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

class OwnershipTest : public ::testing::Test {
 protected:
  OwnershipTest() {
    store().create("ReplicaSet", parsed_json(R"({"metadata":{"name":"web","finalizers":["hold"]},
      "spec":{"selector":{"matchLabels":{"app":"web"}},"template":{}}})"));
  }
  WorldStore& store() { return world_.store(); }
  void add_pod(const std::string& metadata) { store().create("Pod", parsed_json(R"({"metadata":)" + metadata + "}")); }
  // Whether the pod is the ReplicaSet's, and its ownerReferences afterwards.
  std::pair<bool, std::string> claim(const std::string& pod) {
    const auto set = find_as<ReplicaSet>(world_, ReplicaSet::kKind, {"default", "web"});
    Claim claim(world_, *set, ReplicaSet::kApiVersion, set->spec.selector);
    const bool mine = claim.take(*world_.find("Pod", {"default", pod}));
    EXPECT_TRUE(claim.status().is_success());
    const Json* owners = store().find("Pod", {"default", pod})->find("metadata")->find("ownerReferences");
    return {mine, owners == nullptr ? "" : owners->dump()};
  }

  World world_{0};
};

constexpr const char* kMine =
    R"([{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"ReplicaSet.web","controller":true,)"
    R"("blockOwnerDeletion":true}])";
constexpr const char* kOther = R"([{"apiVersion":"v1","kind":"Other","name":"o","uid":"u"}])";

TEST_F(OwnershipTest, AMatchingPodWithoutControllerIsAdopted) {
  add_pod(R"({"name":"a","labels":{"app":"web"}})");
  EXPECT_EQ(claim("a"), (std::pair<bool, std::string>{true, kMine}));
  EXPECT_EQ(claim("a"), (std::pair<bool, std::string>{true, kMine}));
}

TEST_F(OwnershipTest, AnOwnPodThatNoLongerMatchesIsReleasedAndKeepsItsOtherOwners) {
  const std::string both =
      std::string(kMine).substr(0, std::string(kMine).size() - 1) + "," + std::string(kOther).substr(1);
  add_pod(R"({"name":"a","labels":{"app":"db"},"ownerReferences":)" + both + "}");
  EXPECT_EQ(claim("a"), (std::pair<bool, std::string>{false, kOther}));
}

TEST_F(OwnershipTest, APodOfAnotherControllerOrOneThatIsBeingDeletedIsLeftAlone) {
  const char* controlled = R"([{"apiVersion":"v1","kind":"Other","name":"o","uid":"u","controller":true}])";
  add_pod(R"({"name":"a","labels":{"app":"web"},"ownerReferences":)" + std::string(controlled) + "}");
  EXPECT_EQ(claim("a"), (std::pair<bool, std::string>{false, controlled}));
  add_pod(R"({"name":"b","labels":{"app":"web"},"finalizers":["hold"]})");
  store().remove("Pod", {"default", "b"}, {});
  EXPECT_EQ(claim("b"), (std::pair<bool, std::string>{false, ""}));
}

TEST_F(OwnershipTest, AnOwnerThatIsBeingDeletedNeitherAdoptsNorReleases) {
  store().remove("ReplicaSet", {"default", "web"}, {});
  add_pod(R"({"name":"a","labels":{"app":"web"}})");
  EXPECT_EQ(claim("a"), (std::pair<bool, std::string>{false, ""}));
  add_pod(R"({"name":"b","labels":{"app":"db"},"ownerReferences":)" + std::string(kMine) + "}");
  EXPECT_EQ(claim("b"), (std::pair<bool, std::string>{false, kMine}));
}

TEST_F(OwnershipTest, EachObjectIsMatchedByItsOwnLabels) {
  add_pod(R"({"name":"a","labels":{"app":"web"}})");
  add_pod(R"({"name":"b","labels":{"app":"db"}})");
  add_pod(R"({"name":"c"})");
  add_pod(R"({"name":"d","labels":{"app":"web"}})");
  const auto set = find_as<ReplicaSet>(world_, ReplicaSet::kKind, {"default", "web"});
  Claim claim(world_, *set, ReplicaSet::kApiVersion, set->spec.selector);
  std::string taken;
  for (const auto& pod : list_as<ControlledPod>(world_, ControlledPod::kKind, "default")) {
    if (claim.take(*pod)) taken += pod->metadata.name;
  }
  EXPECT_EQ(taken, "ad");
}

}  // namespace
}  // namespace berth
