// Which files -f names.
#include "firmware-host/ctl/sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace berth {
namespace {

namespace fs = std::filesystem;

class CtlSources : public testing::Test {
 protected:
  CtlSources() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("ctl_sources_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "below");
    for (const char* name : {"b.yaml", "a.json", "notes.txt", "below/c.yml"}) std::ofstream(folder_ / name) << "{}\n";
  }
  ~CtlSources() override { fs::remove_all(folder_); }

  std::vector<std::string> paths(const std::vector<std::string>& names) const {
    std::vector<std::string> all;
    for (const std::string& name : names) all.push_back((folder_ / name).string());
    return all;
  }

  fs::path folder_;
};

TEST_F(CtlSources, ADirectoryStandsForItsManifestsInOrder) {
  const auto files = manifest_files({"-", folder_.string(), "none.txt"}, false);
  ASSERT_TRUE(files) << files.error().text;
  std::vector<std::string> want = paths({"a.json", "b.yaml"});
  want.insert(want.begin(), "-");
  want.push_back("none.txt");
  EXPECT_EQ(*files, want);
}

TEST_F(CtlSources, DirectoriesBelowCountIfItIsSaidSo) {
  const auto files = manifest_files({folder_.string()}, true);
  ASSERT_TRUE(files) << files.error().text;
  EXPECT_EQ(*files, paths({"a.json", "b.yaml", "below/c.yml"}));
}

TEST_F(CtlSources, ADirectoryWithoutManifestsIsAnErrorThatNamesTheOption) {
  fs::remove(folder_ / "a.json");
  fs::remove(folder_ / "b.yaml");
  const auto files = manifest_files({folder_.string()}, false);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().exit, Exit::usage);
  EXPECT_NE(files.error().text.find("-R also takes those of the directories below"), std::string::npos);
}

}  // namespace
}  // namespace berth
