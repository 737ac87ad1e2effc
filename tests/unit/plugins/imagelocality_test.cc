#include <gtest/gtest.h>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/imagelocality.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

constexpr std::int64_t kMebibyte = 1024 * 1024;

class ImageLocalityTest : public ::testing::Test {
 protected:
  // Adds a node with these images.
  void add_node(const std::string& name, std::vector<ContainerImage> images) {
    Node node = make_node(name);
    node.images = std::move(images);
    cache_.set_node(share(std::move(node)));
    cache_.update_snapshot(handle_.snapshot_of_test);
  }
  std::int64_t score(const std::vector<std::string>& images, const std::string& node,
                     const std::vector<std::string>& init_images = {}) {
    Pod pod = make_pod("p");
    pod.spec.edit().containers.clear();
    for (const std::string& image : images) pod.spec.edit().containers.emplace_back().image = image;
    for (const std::string& image : init_images) pod.spec.edit().init_containers.emplace_back().image = image;
    ImageLocality plugin(handle_);
    CycleState state;
    std::int64_t score = -1;
    CHECK(plugin.score(state, pod, *handle_.snapshot_of_test.find(node), score).is_success());
    return score;
  }
  Cache cache_;
  FakeHandle handle_;
};

TEST_F(ImageLocalityTest, ScoresTheSizeBetweenTheThresholds) {
  add_node("n1", {{{"small:1"}, 23 * kMebibyte},
                  {{"half:1"}, (1000 + 23) / 2 * kMebibyte},
                  {{"large:1"}, 1000 * kMebibyte},
                  {{"huge:1"}, 9000 * kMebibyte}});
  EXPECT_EQ(score({"absent:1"}, "n1"), 0);
  EXPECT_EQ(score({"small:1"}, "n1"), 0);
  EXPECT_EQ(score({"half:1"}, "n1"), 49) << "100 x (511 - 23) / (1000 - 23)";
  EXPECT_EQ(score({"large:1"}, "n1"), 100);
  EXPECT_EQ(score({"huge:1"}, "n1"), 100);
}

TEST_F(ImageLocalityTest, CountsAnImageLessWhenFewerNodesHaveIt) {
  add_node("n1", {{{"a:1"}, 1000 * kMebibyte}});
  EXPECT_EQ(score({"a:1"}, "n1"), 100);
  add_node("n2", {});
  EXPECT_EQ(score({"a:1"}, "n1"), 48) << "100 x (500 - 23) / (1000 - 23)";
  EXPECT_EQ(score({"a:1"}, "n2"), 0);
}

TEST_F(ImageLocalityTest, RaisesTheThresholdWithEveryContainer) {
  add_node("n1", {{{"a:1"}, 1000 * kMebibyte}, {{"init:1"}, 500 * kMebibyte}});
  EXPECT_EQ(score({"a:1", "absent:1"}, "n1"), 49) << "100 x (1000 - 23) / (2000 - 23)";
  EXPECT_EQ(score({"a:1"}, "n1", {"init:1"}), 74) << "100 x (1500 - 23) / (2000 - 23)";
}

TEST_F(ImageLocalityTest, ReadsAnImageWithoutTagAsLatest) {
  add_node("n1", {{{"registry:5000/a:latest"}, 1000 * kMebibyte}, {{"b@sha256:0f", "b:2"}, 1000 * kMebibyte}});
  EXPECT_EQ(score({"registry:5000/a"}, "n1"), 100) << "the colon belongs to the port";
  EXPECT_EQ(score({"registry:5000/a:1"}, "n1"), 0);
  EXPECT_EQ(score({"b@sha256:0f"}, "n1"), 100);
  EXPECT_EQ(score({"b"}, "n1"), 0);
}

TEST_F(ImageLocalityTest, UsesTheSizeFromTheNodeThatHadTheImageFirst) {
  add_node("n1", {{{"a:1"}, 1000 * kMebibyte}});
  add_node("n2", {{{"a:1"}, 23 * kMebibyte}});
  EXPECT_EQ(score({"a:1"}, "n2"), 100);
  cache_.remove_node("n1");
  cache_.update_snapshot(handle_.snapshot_of_test);
  EXPECT_EQ(score({"a:1"}, "n2"), 100) << "the image was always on some node";
}

TEST_F(ImageLocalityTest, CountsTheNodesOfAnImageAsTheyWereWhenTheNodeLastChanged) {
  const std::vector<ContainerImage> image{{{"a:1"}, 800 * kMebibyte}};
  add_node("b", {});
  add_node("a", image);
  EXPECT_EQ(score({"a:1"}, "a"), 38) << "100 x (400 - 23) / (1000 - 23)";
  add_node("b", image);
  EXPECT_EQ(score({"a:1"}, "a"), 38) << "a has not changed since b pulled the image";
  EXPECT_EQ(score({"a:1"}, "b"), 79) << "100 x (800 - 23) / (1000 - 23)";
  ASSERT_TRUE(cache_.assume(share(make_pod("other")), "a").is_success());
  EXPECT_EQ(score({"a:1"}, "a"), 38) << "no snapshot was taken";
  cache_.update_snapshot(handle_.snapshot_of_test);
  EXPECT_EQ(score({"a:1"}, "a"), 79);
}

TEST_F(ImageLocalityTest, FindsImagesThatANodeNamesInAnotherOrder) {
  add_node("n1", {{{"a:1"}, 1000 * kMebibyte}, {{"b:1"}, 23 * kMebibyte}});
  add_node("n1", {{{"b:1"}, 23 * kMebibyte}, {{"a:1"}, 1000 * kMebibyte}});
  EXPECT_EQ(score({"a:1"}, "n1"), 100);
  EXPECT_EQ(score({"b:1"}, "n1"), 0);
}

TEST_F(ImageLocalityTest, AllowsNoArguments) {
  EXPECT_FALSE(ImageLocality::make(*Json::parse(R"({"speed":1})"), handle_).has_value());
  EXPECT_TRUE(ImageLocality::make(Json::object(), handle_).has_value());
}

}  // namespace
}  // namespace berth
