// Images on a disk that is as full as the test says.
#include "firmware-host/agent/containers/image_collector.h"

#include <gtest/gtest.h>

#include "firmware-host/logging.h"
#include "tests/unit/images/store_fixture.h"

namespace berth {
namespace {

class ImageCollectorTest : public ImageStoreTest {
 protected:
  void add(const std::string& image) {
    const Result<ImageRecord> imported =
        import(layout_of({{"amd64", {layer_of({file("of " + image, image)})}}}), named(image));
    ASSERT_TRUE(imported) << imported.error().message();
  }
  // Each of its steps ends with one of these.
  void look() {
    collector_->look();
    for (int step = 0; step < 6; ++step) collect();
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const ImageRecord& image : store_->list()) names.push_back(image.reference.substr(18));
    return names;
  }
  // Each image takes ten percent.
  void open_collector() {
    collector_ = std::make_unique<ImageCollector>(
        *store_, ImageCollector::Marks{.high_percent = 50, .low_percent = 30},
        [this] { return others_ + 10 * static_cast<int>(store_->list().size()); }, loop_.clock(), timers_, log_);
  }

  Timers timers_;
  SpdLog log_{Level::error, LogFormat::text};
  int others_ = 0;
  std::unique_ptr<ImageCollector> collector_;
};

TEST_F(ImageCollectorTest, BelowTheHighMarkNothingIsRemoved) {
  open_collector();
  for (const char* image : {"a:1", "b:1", "c:1", "d:1"}) add(image);
  look();
  EXPECT_EQ(left().size(), 4u);
}

TEST_F(ImageCollectorTest, AboveItTheOldestGoUntilTheLowMarkIsReachedButNoneThatAPodNeeds) {
  open_collector();
  for (const char* image : {"a:1", "b:1", "c:1", "d:1", "e:1"}) add(image);
  ASSERT_TRUE(store_->pin("pod", named("a:1")).is_success());
  look();
  EXPECT_EQ(left().size(), 3u);
  EXPECT_EQ(left().front(), "a:1");
  EXPECT_EQ(count("layers"), 3u) << "what only the others had is gone from the disk too";
}

TEST_F(ImageCollectorTest, WhereAllIsNeededNothingIsRemovedAndItEnds) {
  open_collector();
  add("a:1");
  ASSERT_TRUE(store_->pin("pod", named("a:1")).is_success());
  others_ = 80;
  look();
  EXPECT_EQ(left(), std::vector<std::string>{"a:1"});
  others_ = 0;
  look();
  EXPECT_EQ(left(), std::vector<std::string>{"a:1"});
}

TEST_F(ImageCollectorTest, SpaceIsMadeOfImagesThatNoPodNeedsAndWhatHasComeOfOthersStaysWhereThereAreNone) {
  open_collector();
  for (const char* image : {"a:1", "b:1"}) add(image);
  ASSERT_TRUE(store_->pin("pod", named("a:1")).is_success());
  collector_->make_space();
  for (int step = 0; step < 6; ++step) collect();
  EXPECT_EQ(left(), std::vector<std::string>{"a:1"});
  const std::string fetched = options_.root + "/blobs/sha256/" + std::string(64, 'a');
  write_file(fetched, "a layer of an image that did not fit");
  collector_->make_space();
  EXPECT_TRUE(fs::exists(fetched));
}

TEST(UsedPercent, IsKnownOfADirectoryAndNotOfNone) {
  EXPECT_GE(used_percent_of("/"), 0);
  EXPECT_LE(used_percent_of("/"), 100);
  EXPECT_LT(used_percent_of("/no/such/directory"), 0);
}

}  // namespace
}  // namespace berth
