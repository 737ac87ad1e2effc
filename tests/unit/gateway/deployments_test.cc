// Deployments and ReplicaSets in the gateway, from the manifest to pods that run, are rolled and go.
#include <set>

#include "tests/unit/gateway/workloads_fixture.h"

namespace berth {
namespace {

using DeploymentsTest = WorkloadsFixture;

std::set<std::string> images_of(const std::vector<const Pod*>& pods) {
  std::set<std::string> images;
  for (const Pod* pod : pods) images.insert(pod->spec->containers.get().front().image);
  return images;
}

TEST_F(DeploymentsTest, ADeploymentGetsItsPodsWhichAreScheduledAndRun) {
  start_with_device();
  EXPECT_EQ(apply(deployment("web", 3)).string_at("result"), "created");
  run_devices();
  EXPECT_EQ(pods().size(), 3u);
  EXPECT_EQ(running(), 3u);
  EXPECT_EQ(count_of("deploy", "web", "readyReplicas"), 3);
  ASSERT_EQ(keys(Kind::replica_set).size(), 1u);
  for (const Pod* pod : pods()) EXPECT_TRUE(pod->metadata.name.starts_with("web-"));
}

TEST_F(DeploymentsTest, TheSameManifestAppliedAgainChangesNothing) {
  start_with_device();
  apply(deployment("web", 3));
  run_devices();
  EXPECT_EQ(apply(deployment("web", 3)).string_at("result"), "unchanged");
}

TEST_F(DeploymentsTest, AnotherTemplateIsRolledOutWithinItsLimits) {
  start_with_device();
  apply(deployment("web", 4));
  run_devices();
  apply(deployment("web", 4, "app:2"));
  // A quarter of four may be missing or too many at any time.
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(staying(), 5u);
    EXPECT_GE(running(), 3u);
    run_devices();
  }
  EXPECT_EQ(images_of(pods()), std::set<std::string>{"app:2"});
  EXPECT_EQ(pods().size(), 4u);
  EXPECT_EQ(count_of("deploy", "web", "updatedReplicas"), 4);
}

TEST_F(DeploymentsTest, ScalingMakesAndEndsPods) {
  start_with_device();
  apply(deployment("web", 1));
  run_devices();
  apply(deployment("web", 5));
  run_devices();
  EXPECT_EQ(running(), 5u);
  apply(deployment("web", 2));
  run_devices();
  EXPECT_EQ(pods().size(), 2u);
}

TEST_F(DeploymentsTest, APodThatIsDeletedIsReplaced) {
  start_with_device();
  apply(deployment("web", 2));
  run_devices();
  const std::string victim = pods().front()->metadata.name;
  remove("pod", victim);
  run_devices();
  EXPECT_EQ(pods().size(), 2u);
  for (const Pod* pod : pods()) EXPECT_NE(pod->metadata.name, victim);
}

TEST_F(DeploymentsTest, APodThatFailsIsReplaced) {
  start_with_device();
  apply(deployment("web", 2));
  run_devices();
  end_pod(*pods().front(), "Failed");
  run_devices();
  EXPECT_EQ(running(), 2u);
}

TEST_F(DeploymentsTest, ARestartNeitherDoublesNorForgetsAPod) {
  start_with_device();
  apply(deployment("web", 6));
  apply(deployment("web", 6, "app:2"));
  restart();
  connect_device();
  run_devices_for(20'000);
  EXPECT_EQ(pods().size(), 6u);
  EXPECT_EQ(images_of(pods()), std::set<std::string>{"app:2"});
}

TEST_F(DeploymentsTest, TheirPodsAreNotMirroredAndTheyAre) {
  start_with_device();
  apply(deployment("web", 2));
  std::set<std::string> mirrored;
  for (const Message& message : transport.sent) {
    if (message.topic.starts_with(topics.root() + "desired/")) mirrored.insert(message.topic);
  }
  const std::string set = keys(Kind::replica_set).front();
  EXPECT_EQ(mirrored, (std::set<std::string>{topics.desired(Kind::deployment, "default/web"),
                                             topics.desired(Kind::replica_set, set)}));
}

TEST_F(DeploymentsTest, PodsOfOneTemplateShareTheirManifest) {
  start_with_device();
  apply(deployment("web", 20));
  std::set<std::string_view> shapes;
  for (const Pod* pod : pods()) shapes.insert(pod->shape.get());
  EXPECT_EQ(pods().size(), 20u);
  EXPECT_EQ(shapes.size(), 1u);
}

TEST_F(DeploymentsTest, DeletedInTheBackgroundItIsGoneAtOnceAndWhatItOwnedFollows) {
  start_with_device();
  apply(deployment("web", 3));
  run_devices();
  EXPECT_EQ(remove("deployment", "web").string_at("result"), "deleted");
  run_devices();
  EXPECT_TRUE(pods().empty());
  EXPECT_TRUE(keys(Kind::replica_set).empty());
}

// More than the garbage collector removes at once.
TEST_F(DeploymentsTest, DeletedWithManyPodsAllOfThemGo) {
  start_connected();
  apply(deployment("web", 1200));
  EXPECT_EQ(pods().size(), 1200u);
  remove("deployment", "web");
  run_devices();
  EXPECT_TRUE(pods().empty());
  EXPECT_TRUE(keys(Kind::replica_set).empty());
}

TEST_F(DeploymentsTest, DeletedInTheForegroundItGoesLast) {
  start_with_device();
  apply(deployment("web", 2));
  run_devices();
  EXPECT_EQ(remove("deployment", "web", "Foreground").string_at("result"), "deleting");
  EXPECT_EQ(keys(Kind::deployment).size(), 1u);
  EXPECT_NE(apply(deployment("web", 2)).string_at("error").find("is being deleted"), std::string::npos);
  run_devices();
  EXPECT_TRUE(pods().empty());
  EXPECT_TRUE(keys(Kind::replica_set).empty());
  EXPECT_TRUE(keys(Kind::deployment).empty());
}

TEST_F(DeploymentsTest, DeletedWithOrphanWhatItOwnedStaysAndIsAdoptedAgain) {
  start_with_device();
  apply(deployment("web", 2));
  run_devices();
  const std::vector<std::string> sets = keys(Kind::replica_set);
  remove("deployment", "web", "Orphan");
  run_devices();
  EXPECT_TRUE(keys(Kind::deployment).empty());
  EXPECT_EQ(pods().size(), 2u);
  apply(deployment("web", 2));
  run_devices();
  EXPECT_EQ(keys(Kind::replica_set), sets);
  EXPECT_EQ(pods().size(), 2u);
}

TEST_F(DeploymentsTest, APodOfAnOperatorThatIsSelectedIsAdopted) {
  start_with_device();
  apply(pod("own", "u1", "64Mi", "", R"({"app":"web"})"));
  run_devices();
  apply(R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web"},"spec":{"replicas":2,
    "selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
    "spec":{"containers":[{"name":"c","image":"app"}]}}}})");
  run_devices();
  EXPECT_EQ(pods().size(), 2u);
  EXPECT_FALSE(gateway->objects().pods().find("default/own")->pod->metadata.controller_uid.empty());
  const Json again = apply(pod("own", "u1", "64Mi", "", R"({"app":"web"})"));
  EXPECT_EQ(again.string_at("result"), "unchanged") << again.dump();
}

TEST_F(DeploymentsTest, APodOfAnOperatorWhoseOwnerIsNotHereStays) {
  start_with_device();
  std::string owned = pod("own", "u1");
  owned.insert(owned.find(R"("labels")"), R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet",
    "name":"far","uid":"r1","controller":true}],"finalizers":["batch.kubernetes.io/job-tracking"],)");
  apply(owned);
  apply(deployment("web", 1));
  run_devices();
  remove("deployment", "web");
  run_devices();
  EXPECT_EQ(pods().size(), 1u);
  EXPECT_EQ(pods().front()->metadata.name, "own");
  remove("pod", "own");
  run_devices();
  EXPECT_TRUE(pods().empty()) << "nobody here removes its finalizer";
}

TEST_F(DeploymentsTest, AReplicaSetThatComesAfterItsOwnerHasGoneGoesToo) {
  start_with_device();
  run_devices();
  apply(
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","ownerReferences":[{"apiVersion":"apps/v1",
    "kind":"Deployment","name":"web","uid":"gone","controller":true}]},"spec":{"replicas":2,
    "selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
    "spec":{"containers":[{"name":"c","image":"app"}]}}}})");
  run_devices();
  EXPECT_TRUE(keys(Kind::replica_set).empty());
  EXPECT_TRUE(pods().empty());
}

TEST_F(DeploymentsTest, APodThatIsShownAndAppliedAgainStaysThatOfItsController) {
  start_with_device();
  apply(deployment("web", 1));
  run_devices();
  Json shown = get("pod", pods().front()->metadata.name);
  EXPECT_EQ(apply(shown.dump()).string_at("error"), "");
  EXPECT_EQ(pods().size(), 1u);
  remove("deployment", "web");
  run_devices();
  EXPECT_TRUE(pods().empty());
}

TEST_F(DeploymentsTest, AManifestThatCannotWorkIsRefusedByField) {
  start_with_device();
  const auto error_of = [this](const std::string& spec) {
    return apply(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":)" + spec + "}")
        .string_at("error");
  };
  const std::string pods = R"("template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c"}]}})";
  EXPECT_NE(error_of(R"({"selector":{"matchLabels":{"app":"y"}},)" + pods + "}")
                .find("spec.template.metadata.labels: must match spec.selector"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"selector":{},)" + pods + "}").find("spec.selector: must not be empty"), std::string::npos);
  EXPECT_NE(error_of(R"({"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},
                        "spec":{"containers":[]}}})")
                .find("spec.template.spec.containers"),
            std::string::npos);
  EXPECT_TRUE(keys(Kind::deployment).empty());
}

TEST_F(DeploymentsTest, ASelectorCannotBeChanged) {
  start_with_device();
  apply(deployment("web", 1));
  std::string other = deployment("web", 1);
  for (std::size_t at = 0; (at = other.find(R"("app":"web")", at)) != std::string::npos;) {
    other.replace(at, 11, R"("app":"two")");
  }
  EXPECT_NE(apply(other).string_at("error").find("spec.selector: is immutable"), std::string::npos);
}

TEST_F(DeploymentsTest, NothingIsMadeUntilTheBrokerHasToldWhatItRetains) {
  start_with_device();
  apply(deployment("web", 1));
  run_devices();
  gateway->on_link(false);
  turn();
  gateway->on_link(true);
  apply(deployment("web", 3));
  EXPECT_EQ(pods().size(), 1u);
  return_fences();
  EXPECT_EQ(pods().size(), 3u);
}

}  // namespace
}  // namespace berth
