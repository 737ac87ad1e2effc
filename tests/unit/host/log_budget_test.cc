// LogBudget: real files, looked at in virtual time.
#include "firmware-host/agent/log_budget.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "firmware-host/agent/pod_directory.h"
#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class QuietBudgetLog final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

class LogBudgetTest : public testing::Test {
 protected:
  LogBudgetTest() {
    std::string pattern = fs::temp_directory_path() / "berth-budget-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~LogBudgetTest() override { fs::remove_all(root_); }

  // Of 100 bytes.
  void write(const std::string& place, const Tag& tag, const std::string& name) {
    const std::string directory = root_ + "/" + place + "/" + directory_name(tag);
    fs::create_directories(directory);
    std::ofstream(directory + "/" + name) << std::string(100, 'x');
  }
  // The files that are left after a look, "<uid>/<name>".
  std::set<std::string> left_of(std::uint64_t bytes) {
    LogBudget budget(
        {root_ + "/pods", root_ + "/output"}, bytes, [this](const Tag& tag) { return !running_.contains(tag); }, clock_,
        timers_, log_);
    budget.begin();
    clock_.now_ms += LogBudget::kPeriodMs;
    timers_.run_due(clock_.now_ms);
    std::set<std::string> left;
    for (const auto& each : fs::recursive_directory_iterator(root_)) {
      if (each.is_directory()) continue;
      const std::string pod = each.path().parent_path().filename().string();
      left.insert(pod.substr(0, pod.find('@')) + "/" + each.path().filename().string());
    }
    return left;
  }

  const Tag old_{"old", {1, 1}};
  const Tag ended_{"ended", {1, 2}};
  const Tag running_pod_{"runs", {1, 3}};
  std::set<Tag> running_{running_pod_};
  std::string root_;
  HandClock clock_;
  Timers timers_;
  QuietBudgetLog log_;
};

using Names = std::set<std::string>;

TEST_F(LogBudgetTest, RemovesTheOldestFilesOfEndedPodsFirst) {
  for (const char* name : {"main.log", "main.log.1", "main.previous.log", "main.previous.log.1"}) {
    write("pods", running_pod_, name);
    write("output", old_, name);
  }
  write("pods", ended_, "main.log");
  write("pods", ended_, "main.log.1");
  Names expected = left_of(1000);
  ASSERT_EQ(expected.size(), 10u) << "they are not too much";
  std::uint64_t bytes = 1000;
  for (const char* next :
       {"old/main.previous.log.1", "old/main.previous.log", "old/main.log.1", "ended/main.log.1", "old/main.log",
        "ended/main.log", "runs/main.previous.log.1", "runs/main.previous.log", "runs/main.log.1"}) {
    expected.erase(next);
    bytes -= 100;
    EXPECT_EQ(left_of(bytes), expected) << next;
  }
  EXPECT_EQ(left_of(1), Names{"runs/main.log"}) << "what is being written stays";
  EXPECT_FALSE(fs::exists(root_ + "/output/" + directory_name(old_))) << "no empty directory counts as kept output";
}

TEST_F(LogBudgetTest, RemovesNoMoreThanIsTooMuch) {
  write("output", old_, "main.log");
  write("output", ended_, "main.log");
  EXPECT_EQ(left_of(150), Names{"ended/main.log"});
}

TEST_F(LogBudgetTest, LeavesFilesThatAreNoLogsAndWhereLinksLead) {
  write("pods", ended_, "state.json");
  write("pods", ended_, "main.log.old");
  write("output", ended_, "main.log");
  write("elsewhere", running_pod_, "main.log");
  fs::create_symlink(root_ + "/elsewhere/" + directory_name(running_pod_), root_ + "/pods/" + directory_name(old_));
  fs::create_symlink("/etc/passwd", root_ + "/pods/" + directory_name(ended_) + "/side.log");
  EXPECT_EQ(left_of(1), (Names{"ended/state.json", "ended/main.log.old", "ended/side.log", "runs/main.log"}));
}

}  // namespace
}  // namespace berth
