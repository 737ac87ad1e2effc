// The agent's state directory and the machine's identity.
#include "firmware-host/state_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/unit/host/no_descriptors.h"

namespace berth {
namespace {

class StateDirectoryTest : public testing::Test {
 protected:
  StateDirectoryTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "berth-state-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~StateDirectoryTest() override { std::filesystem::remove_all(root_); }

  std::string root_;
};

TEST_F(StateDirectoryTest, RefusesASecondAgentWhileTheFirstLives) {
  const std::string path = root_ + "/a/b";
  const Result<StateDirectory> first = StateDirectory::open(path);
  ASSERT_TRUE(first.has_value()) << first.error().message();
  EXPECT_EQ(first->file("x"), path + "/x");
  Millis waited = 0;
  const Result<StateDirectory> second = StateDirectory::open(path, [&](Millis span) { waited += span; });
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), Code::unschedulable);
  EXPECT_TRUE(second.error().message().starts_with("state directory " + path + ": still in use by another process"));
  EXPECT_EQ(waited, StateDirectory::kLockPatience);
}

TEST_F(StateDirectoryTest, WaitsForAPredecessorThatIsStillExiting) {
  std::optional<Result<StateDirectory>> first = StateDirectory::open(root_);
  ASSERT_TRUE(first->has_value());
  int pauses = 0;
  const Result<StateDirectory> second = StateDirectory::open(root_, [&](Millis) {
    if (++pauses == 2) first.reset();
  });
  EXPECT_TRUE(second.has_value());
  EXPECT_EQ(pauses, 2);
}

TEST_F(StateDirectoryTest, ReportsSystemErrors) {
  std::ofstream(root_ + "/file") << "x";
  const Result<StateDirectory> state = StateDirectory::open(root_ + "/file/below");
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().code(), Code::error);
  EXPECT_TRUE(state.error().message().starts_with("state directory " + root_ + "/file/below: "));
}

TEST_F(StateDirectoryTest, ReadsTheFirstLineWithoutWhiteSpace) {
  std::ofstream(root_ + "/file") << " secret \r\nmore\n";
  EXPECT_EQ(read_first_line(root_ + "/file").value(), "secret");
  std::ofstream(root_ + "/empty") << "";
  EXPECT_EQ(read_first_line(root_ + "/empty").value(), "");
  EXPECT_TRUE(read_first_line(root_ + "/none").error().message().starts_with("cannot read " + root_ + "/none"));
}

TEST_F(StateDirectoryTest, AFileOfTheMachineMayBeMissingButNotUnreadable) {
  EXPECT_EQ(read_if_any(root_ + "/none").value(), "");
  EXPECT_EQ(read_if_any(root_ + "/none/below").value(), "");
  std::ofstream(root_ + "/serial") << std::string("10000000abcdef\0", 15);  // as the device tree has it
  EXPECT_EQ(read_if_any(root_ + "/serial").value(), "10000000abcdef");
  std::filesystem::create_symlink("loop", root_ + "/loop");
  EXPECT_FALSE(read_if_any(root_ + "/loop").has_value());
  const NoDescriptors none;
  EXPECT_FALSE(read_if_any(root_ + "/serial").has_value());
}

TEST(Machine, HasABootId) { EXPECT_EQ(boot_id().value().size(), 36u); }

}  // namespace
}  // namespace berth
