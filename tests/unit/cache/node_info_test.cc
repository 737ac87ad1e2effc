#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

TEST(PodRequests, SumsContainers) {
  Pod pod = make_pod("p", resources({{"cpu", "100m"}, {"memory", "1Mi"}}));
  pod.spec.edit().containers.push_back(pod.spec->containers[0]);
  EXPECT_EQ(pod_requests(pod).milli_cpu, 200);
  EXPECT_EQ(pod_requests(pod).memory, 2 << 20);
}

// One container is counted by a shorter way than what has init containers, here one that asks for nothing.
TEST(PodRequests, OfOneContainerAreTheSameByEitherWay) {
  for (const ResourceList& asked :
       {resources({}), resources({{"cpu", "150m"}}), resources({{"memory", "3Mi"}}),
        resources({{"cpu", "1"}, {"memory", "1"}, {"example.com/gpu", "2"}, {"pods", "5"}})}) {
    const Pod plain = make_pod("p", asked);
    Pod other = plain;
    other.spec.edit().init_containers.emplace_back();
    other.spec.edit().overhead = resources({{"memory", "0"}});
    EXPECT_TRUE(pod_requests(plain) == pod_requests(other));
    other.spec.edit().init_containers.clear();  // for scores one without requests asks too
    EXPECT_TRUE(pod_requests_for_scoring(plain) == pod_requests_for_scoring(other));
  }
}

TEST(PodRequests, TakesTheLargestInitContainerWhenItExceedsTheSum) {
  Pod pod = make_pod("p", resources({{"cpu", "100m"}}));
  Container init;
  init.requests = resources({{"cpu", "1"}});
  pod.spec.edit().init_containers.push_back(init);
  init.requests = resources({{"cpu", "500m"}});
  pod.spec.edit().init_containers.push_back(init);
  EXPECT_EQ(pod_requests(pod).milli_cpu, 1000);
}

TEST(PodRequests, CountsSidecarsBesideWhatRunsAfterThem) {
  Pod pod = make_pod("p", resources({{"cpu", "100m"}}));
  Container sidecar;
  sidecar.restart_always = true;
  sidecar.requests = resources({{"cpu", "200m"}});
  pod.spec.edit().init_containers.push_back(sidecar);
  EXPECT_EQ(pod_requests(pod).milli_cpu, 300);
  Container init;
  init.requests = resources({{"cpu", "700m"}});
  pod.spec.edit().init_containers.push_back(init);
  EXPECT_EQ(pod_requests(pod).milli_cpu, 900);
}

TEST(PodRequests, AddsOverhead) {
  Pod pod = make_pod("p", resources({{"cpu", "100m"}}));
  pod.spec.edit().overhead = resources({{"cpu", "10m"}});
  EXPECT_EQ(pod_requests(pod).milli_cpu, 110);
}

TEST(PodRequests, OfThePodAsAWholeReplaceTheSum) {
  Pod pod = make_pod("p", resources({{"cpu", "100m"}, {"memory", "1Mi"}}));
  pod.spec.edit().requests = resources({{"cpu", "2"}});
  EXPECT_EQ(pod_requests(pod).milli_cpu, 2000);
  EXPECT_EQ(pod_requests(pod).memory, 1 << 20);
}

TEST(PodRequests, OfThePodAsAWholeCountForCpuMemoryAndHugePagesOnly) {
  Pod pod = make_pod("p", resources({{"example.com/x", "1"}}));
  pod.spec.edit().requests =
      resources({{"example.com/x", "3"}, {"ephemeral-storage", "1Gi"}, {"hugepages-2Mi", "4Mi"}});
  EXPECT_EQ(pod_requests(pod).scalar,
            (std::map<std::string, std::int64_t>{{"example.com/x", 1}, {"hugepages-2Mi", 4 << 20}}));
  EXPECT_EQ(pod_requests(pod).ephemeral_storage, 0);
}

TEST(PodRequests, AreSummedExactlyAndRoundedOnce) {
  Pod pod = make_pod("p", resources({{"cpu", "0.5m"}, {"memory", "0.5"}}));
  pod.spec.edit().containers.push_back(pod.spec->containers[0]);
  EXPECT_EQ(pod_requests(pod).milli_cpu, 1);
  EXPECT_EQ(pod_requests(pod).memory, 1);
  pod.spec.edit().containers.push_back(pod.spec->containers[0]);
  EXPECT_EQ(pod_requests(pod).milli_cpu, 2);
  EXPECT_EQ(pod_requests(pod).memory, 2);
  EXPECT_EQ(pod_requests_for_scoring(pod).milli_cpu, 2);
  pod.spec.edit().overhead = resources({{"cpu", "400u"}});
  EXPECT_EQ(pod_requests(pod).milli_cpu, 2);
  Container init;
  init.requests = resources({{"cpu", "2.0000001m"}});
  pod.spec.edit().init_containers.push_back(init);
  EXPECT_EQ(pod_requests(pod).milli_cpu, 3);
}

TEST(PodRequests, SaturateInsteadOfWrapping) {
  Pod pod = make_pod("p", resources({{"memory", "8E"}}));
  pod.spec.edit().containers.push_back(pod.spec->containers[0]);
  EXPECT_EQ(pod_requests(pod).memory, std::numeric_limits<std::int64_t>::max());
}

TEST(PodRequests, ForScoringMakeUpWhatIsNotNamed) {
  EXPECT_EQ(pod_requests_for_scoring(make_pod("p")).milli_cpu, 100);
  EXPECT_EQ(pod_requests_for_scoring(make_pod("p")).memory, 200 * 1024 * 1024);
  EXPECT_EQ(pod_requests_for_scoring(make_pod("p", resources({{"cpu", "0"}}))).milli_cpu, 0);
}

TEST(PodRequests, ForScoringMakeUpNothingThatAPodWithRequestsAsAWholeNames) {
  Pod pod = make_pod("p", resources({{"cpu", "0"}}));
  pod.spec.edit().containers.push_back(pod.spec->containers.front());
  pod.spec.edit().containers.back().requests.clear();
  pod.spec.edit().requests = resources({{"memory", "1Gi"}});
  EXPECT_EQ(pod_requests_for_scoring(pod).milli_cpu, 0);
  pod.spec.edit().containers.front().requests.clear();
  EXPECT_EQ(pod_requests_for_scoring(pod).milli_cpu, 200);
}

TEST(PodRequests, ForScoringOfThePodBeingPlacedLeaveOutThoseOfThePodAsAWhole) {
  Pod pod = make_pod("p", resources({{"cpu", "300m"}}));
  pod.spec.edit().requests = resources({{"cpu", "2"}});
  EXPECT_EQ(pod_requests_for_scoring(pod).milli_cpu, 2000);
  EXPECT_EQ(container_requests_for_scoring(pod).milli_cpu, 300);
}

struct FitCase {
  std::string name;
  ResourceList asked, used, allocatable;
  std::int64_t pods_now;
  std::vector<std::string> want;  // reasons; "!" in front: more than the whole node
};

class FitsResources : public ::testing::TestWithParam<FitCase> {};

TEST_P(FitsResources, SaysWhatIsMissing) {
  const FitCase& param = GetParam();
  std::vector<std::string> got;
  const Resources asked = to_resources(param.asked);
  std::vector<InsufficientResource> missing(1);
  fits_resources(asked, to_resources(param.used), param.pods_now, to_resources(param.allocatable), missing);
  for (const InsufficientResource& each : missing) got.push_back((each.unresolvable ? "!" : "") + each.reason());
  EXPECT_EQ(got, param.want);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FitsResources,
    ::testing::Values(
        FitCase{"ExactlyFits", resources({{"cpu", "1"}}), {}, resources({{"cpu", "1"}, {"pods", "1"}}), 0, {}},
        FitCase{"OneMilliTooMuch",
                resources({{"cpu", "1"}}),
                resources({{"cpu", "1m"}}),
                resources({{"cpu", "1"}, {"pods", "9"}}),
                1,
                {"Insufficient cpu"}},
        FitCase{"MoreThanTheNode",
                resources({{"memory", "2Mi"}}),
                {},
                resources({{"memory", "1Mi"}, {"pods", "9"}}),
                0,
                {"!Insufficient memory"}},
        FitCase{"TooManyPods", {}, {}, resources({{"pods", "2"}}), 2, {"Too many pods"}},
        FitCase{"NothingAskedFitsAFullNode",
                {},
                resources({{"cpu", "9"}}),
                resources({{"cpu", "1"}, {"pods", "9"}}),
                1,
                {}},
        FitCase{"ExtendedResource",
                resources({{"example.com/gpu", "1"}}),
                resources({{"example.com/gpu", "1"}}),
                resources({{"example.com/gpu", "1"}, {"pods", "9"}}),
                1,
                {"Insufficient example.com/gpu"}},
        FitCase{
            "UnknownPlainNamesAreNotCounted", resources({{"sunshine", "1"}}), {}, resources({{"pods", "9"}}), 0, {}},
        FitCase{"All",
                resources({{"cpu", "1"}, {"memory", "1"}, {"ephemeral-storage", "1"}}),
                {},
                {},
                0,
                {"Too many pods", "!Insufficient cpu", "!Insufficient memory", "!Insufficient ephemeral-storage"}}),
    [](const auto& param) { return param.param.name; });

TEST(NodeInfo, ListsThePodsThatHaveTermsAboutOtherPods) {
  const WeightedPodAffinityTerm wish;
  Pod plain = make_pod("plain");
  Pod friendly = make_pod("friendly");
  friendly.affinity->pod_affinity.preferred = {wish};
  Pod strict = make_pod("strict");
  strict.affinity->pod_anti_affinity.required = {wish.term};
  NodeInfo node = info_of(make_node("n1"));
  for (const Pod* pod : {&plain, &friendly, &strict}) node.add_pod(share(*pod));
  EXPECT_EQ(node.pods_with_affinity.size(), 2u);
  ASSERT_EQ(node.pods_with_required_anti_affinity.size(), 1u);
  EXPECT_EQ(node.pods_with_required_anti_affinity[0]->uid(), strict.uid());
  node.remove_pod(strict.uid());
  EXPECT_TRUE(node.pods_with_required_anti_affinity.empty());
  ASSERT_EQ(node.pods_with_affinity.size(), 1u);
  EXPECT_EQ(node.pods_with_affinity[0]->uid(), friendly.uid());
}

}  // namespace
}  // namespace berth
