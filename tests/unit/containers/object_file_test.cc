#include "firmware-host/agent/containers/object_file.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

// Has "here", and knows of "lost" that it exists.
struct FewObjects final : PodObjects {
  std::shared_ptr<const PodObject> find(const Tag&, PodObjectKind, const std::string& name) const override {
    return name == "here" ? std::make_shared<const PodObject>(PodObject{{{"k", "v"}}, true}) : nullptr;
  }
  bool is_absent(const Tag&, PodObjectKind, const std::string& name) const override { return name == "absent"; }
  std::string why_missing(const Tag&, PodObjectKind, const std::string& name) const override { return name + ": why"; }
};

TEST(ObjectFileTest, TellsTheKeeperWhatIsAbsentAndWhyTheRestIsNotHere) {
  const Json manifest = parsed_json(
      R"({"spec":{"containers":[{"envFrom":[{"secretRef":{"name":"here"}},{"secretRef":{"name":"lost"}},
          {"secretRef":{"name":"absent","optional":true}}]}]}})");
  const Tag tag{"u1", {1, 5}};
  const ObjectFile file(objects_text(FewObjects(), tag, manifest), "");
  ASSERT_NE(file.find(tag, PodObjectKind::secret, "here"), nullptr);
  EXPECT_EQ(file.find(tag, PodObjectKind::secret, "here")->values.at("k"), "v");
  EXPECT_FALSE(file.is_absent(tag, PodObjectKind::secret, "lost"));
  EXPECT_EQ(file.why_missing(tag, PodObjectKind::secret, "lost"), "lost: why");
  EXPECT_TRUE(file.is_absent(tag, PodObjectKind::secret, "absent"));
  EXPECT_EQ(file.why_missing(tag, PodObjectKind::secret, "absent"), "secret \"absent\" not found");
}

}  // namespace
}  // namespace berth
