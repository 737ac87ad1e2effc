#include "core/framework/nominator.h"

#include <gtest/gtest.h>

#include "core/api/pod.h"

namespace berth {
namespace {

PodPtr pod_of(const std::string& uid, std::int32_t priority = 0) {
  Pod pod;
  pod.metadata.uid = uid;
  pod.priority = priority;
  return make_counted<const Pod>(std::move(pod));
}

std::vector<std::string> uids_on(const Nominator& nominator, std::string_view node) {
  std::vector<std::string> uids;
  for (const auto& pod : nominator.pods_on(node)) uids.emplace_back(pod->uid());
  return uids;
}

using Uids = std::vector<std::string>;

TEST(Nominator, ListsThePodsOfANodeInTheOrderOfNomination) {
  Nominator nominator;
  EXPECT_TRUE(nominator.pods_on("n1").empty());
  EXPECT_EQ(nominator.node_of("a"), "");
  nominator.add(pod_of("b"), "n1");
  nominator.add(pod_of("a"), "n1");
  nominator.add(pod_of("c"), "n2");
  EXPECT_EQ(uids_on(nominator, "n1"), (Uids{"b", "a"}));
  EXPECT_EQ(uids_on(nominator, "n2"), (Uids{"c"}));
  EXPECT_EQ(nominator.node_of("a"), "n1");
}

TEST(Nominator, KeepsOneNominationPerPod) {
  Nominator nominator;
  nominator.add(pod_of("a"), "n1");
  nominator.add(pod_of("b"), "n1");
  nominator.add(pod_of("a"), "n1");
  EXPECT_EQ(uids_on(nominator, "n1"), (Uids{"b", "a"})) << "a later nomination goes to the end";
  nominator.add(pod_of("a"), "n2");
  EXPECT_EQ(uids_on(nominator, "n1"), (Uids{"b"}));
  EXPECT_EQ(uids_on(nominator, "n2"), (Uids{"a"}));
  nominator.add(pod_of("a"), "");
  EXPECT_EQ(nominator.node_of("a"), "");
  EXPECT_FALSE(nominator.by_node().contains("n2")) << "no empty list is kept";
}

TEST(Nominator, ReplacesTheObjectInPlace) {
  Nominator nominator;
  nominator.add(pod_of("a"), "n1");
  nominator.add(pod_of("b"), "n1");
  nominator.replace(pod_of("a", 7));
  nominator.replace(pod_of("c", 7));
  EXPECT_EQ(uids_on(nominator, "n1"), (Uids{"a", "b"})) << "a pod that is not nominated is ignored";
  EXPECT_EQ(nominator.pods_on("n1").front()->priority, 7);
  nominator.remove("a");
  nominator.remove("c");
  EXPECT_EQ(uids_on(nominator, "n1"), (Uids{"b"}));
}

}  // namespace
}  // namespace berth
