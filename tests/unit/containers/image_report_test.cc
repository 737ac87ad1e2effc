// Which images a device says it has.
#include "firmware-host/agent/containers/image_report.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

ImageRecord record(const std::string& reference, char manifest, std::int64_t size) {
  return {.reference = reference,
          .manifest = "sha256:" + std::string(64, manifest),
          .config = {},
          .layers = {},
          .size = size};
}

TEST(ImageReport, HasTheNamesOfOneImageTogetherAndTheLargestFirst) {
  const std::vector<ContainerImage> images = container_images_of(
      {record("r.example/a:1", 'a', 10), record("r.example/b:1", 'b', 30), record("r.example/a:2", 'a', 10)});
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0], (ContainerImage{{"r.example/b:1"}, 30}));
  EXPECT_EQ(images[1], (ContainerImage{{"r.example/a:1", "r.example/a:2"}, 10}));
}

TEST(ImageReport, HasTheShortNamesThatManifestsUse) {
  const auto images =
      container_images_of({record("docker.io/library/nginx:1", 'a', 1), record("docker.io/team/app:2", 'b', 1)});
  EXPECT_EQ(images.at(0).names, (std::vector<std::string>{"docker.io/library/nginx:1", "nginx:1"}));
  EXPECT_EQ(images.at(1).names, (std::vector<std::string>{"docker.io/team/app:2", "team/app:2"}));
}

TEST(ImageReport, IsBoundedInImagesNamesAndBytes) {
  std::vector<ImageRecord> many;
  for (int i = 0; i < 60; ++i) {
    ImageRecord each = record("r.example/" + std::to_string(i) + ":1", 'a', 60 - i);
    each.manifest = "sha256:" + std::to_string(i);
    many.push_back(each);
  }
  EXPECT_EQ(container_images_of(many).size(), 50u);
  for (ImageRecord& each : many) each.manifest = "sha256:same";
  EXPECT_EQ(container_images_of(many).at(0).names.size(), 5u);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i].manifest = "sha256:" + std::to_string(i);
    many[i].reference = std::string(1000, 'x');
  }
  EXPECT_EQ(container_images_of(many).size(), 16u);
}

}  // namespace
}  // namespace berth
