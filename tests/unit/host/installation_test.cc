// Which state directories are those of new installations.
#include "firmware-host/gateway/installation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace berth {
namespace {

class InstallationTest : public testing::Test {
 protected:
  InstallationTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "berth-installation-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~InstallationTest() override { std::filesystem::remove_all(root_); }
  void create(const std::string& name) const { std::ofstream(root_ + "/" + name) << "x"; }

  std::string root_;
};

TEST_F(InstallationTest, AnEmptyOrMissingDirectoryIsUnused) {
  EXPECT_TRUE(is_unused_directory(root_));
  EXPECT_TRUE(is_unused_directory(root_ + "/missing"));
  create("lock");
  EXPECT_FALSE(is_unused_directory(root_));
  EXPECT_FALSE(is_unused_directory(root_ + "/lock")) << "what cannot be read may be in use";
}

TEST_F(InstallationTest, IsNewWhileItIsMarkedAndNoStoreHasBeenThere) {
  EXPECT_FALSE(is_new_installation(root_)) << "a directory of an earlier program, whose store is gone";
  ASSERT_TRUE(mark_new_installation(root_).is_success());
  EXPECT_TRUE(is_new_installation(root_));
  create("gateway.db");
  EXPECT_TRUE(is_new_installation(root_)) << "the first start was cut off before its first commit";
  create("gateway.db.aside-20260101T000000Z");
  EXPECT_FALSE(is_new_installation(root_)) << "a damaged store was set aside";
}

TEST_F(InstallationTest, WhatMarksAStoreOutlivesTheMarkOfANewInstallation) {
  ASSERT_TRUE(mark_new_installation(root_).is_success());
  create("gateway.mark");
  EXPECT_FALSE(is_new_installation(root_)) << "the removal of the mark was lost with the power";
  unmark_new_installation(root_);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/new"));
}

TEST_F(InstallationTest, InitMarksADirectoryUnlessItHasAStore) {
  const std::string path = root_ + "/state";
  ASSERT_TRUE(init_installation(path).is_success());
  EXPECT_TRUE(is_new_installation(path));
  create("gateway.mark");
  ASSERT_TRUE(init_installation(root_).is_success()) << "the operator says that the lost store does not matter";
  EXPECT_TRUE(is_new_installation(root_));
  create("gateway.db");
  const Status refused = init_installation(root_);
  ASSERT_FALSE(refused.is_success());
  EXPECT_NE(refused.message().find("has a store already"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace berth
