// What the runtime does while it cannot look at processes and files, or cannot write.
#include <sys/stat.h>

#include <csignal>

#include "tests/unit/host/no_descriptors.h"
#include "tests/unit/host/runtime_fixture.h"

namespace berth {
namespace {

TEST_F(RuntimeTest, WithoutDescriptorsAWorkloadIsNeitherListedAsGoneNorStartedAgain) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  const std::string mark = root_ + "/mark";
  const std::string manifest = pod("echo started >> " + mark + "; exec sleep 1000");
  run(tag_, manifest);
  wait_running();
  run_while([&] { return read(mark).empty(); });
  runtime_.reset();
  open_runtime();
  {
    const NoDescriptors none;
    EXPECT_FALSE(runtime_->list().has_value());
    EXPECT_EQ(runtime_->start(tag_, manifest, {}).value(), "") << "nobody can tell whether it runs";
    runtime_->go(tag_);
  }
  wait_running();
  EXPECT_EQ(find_keepers(tag_text("test", node_, tag_)).value().size(), 1u);
  EXPECT_EQ(read(mark), "started\n");
}

TEST_F(RuntimeTest, AStartWithoutDescriptorsIsCaughtUpWithOnceThereAreSome) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  const std::string manifest = pod("exit 0");
  runtime_->prepare(tag_, manifest, {});
  wait_kind("prepared");
  {
    const NoDescriptors none;
    EXPECT_EQ(runtime_->start(tag_, manifest, {}).value(), "");
    runtime_->go(tag_);
  }
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
}

TEST_F(RuntimeTest, AStopWithoutDescriptorsEndsOnceTheWorkloadHasBeenFoundAndStopped) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  run(tag_, pod("exec sleep 1000"));
  wait_running();
  runtime_.reset();
  open_runtime();
  {
    const NoDescriptors none;
    runtime_->stop(tag_, 0);
  }
  wait_kind("stopped");
  EXPECT_EQ(alive(tag_), 0u);
  EXPECT_FALSE(fs::exists(directory(tag_)));
}

TEST_F(RuntimeTest, APodWhoseStateCannotBeReadIsNotStartedAgain) {
  const std::string mark = root_ + "/mark";
  const std::string manifest = pod("echo started >> " + mark);
  run(tag_, manifest);
  wait_finished();
  run_while([&] { return !find_keepers(tag_text("test", node_, tag_)).value().empty(); });
  const std::string state = directory(tag_) + "/" + PodState::kFile;
  fs::rename(state, state + ".away");
  fs::create_directory(state);  // reading it fails with EISDIR
  runtime_.reset();
  open_runtime();
  EXPECT_EQ(runtime_->start(tag_, manifest, {}).value(), "");
  runtime_->go(tag_);
  wait_for([](const Event& event) { return event.kind == "status" && phase(event) == "Pending"; });
  fs::remove(state);
  fs::rename(state + ".away", state);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_EQ(read(mark), "started\n");
}

TEST_F(RuntimeTest, ADirectoryOfPodsThatCannotBeReadIsNotAnEmptyOne) {
  runtime_->prepare(tag_, pod("true"), {});
  wait_kind("prepared");
  const std::string pods = root_ + "/pods";
  ASSERT_EQ(chmod(pods.c_str(), 0), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Root may read everything.
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    const Result<std::vector<Tag>> found = runtime_->list();
    _exit(!found && found.error().message().starts_with("cannot read " + pods) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(chmod(pods.c_str(), 0750), 0);
}

// A directory in the place of the file that a state is written to makes every write fail.
TEST_F(RuntimeTest, AnExitStatusThatCannotBeWrittenIsWrittenOnceItCan) {
  const std::string mark = root_ + "/mark";
  const std::string manifest = pod("touch " + mark + "; exit 3");
  start(tag_, manifest);
  const std::string obstacle = directory(tag_) + "/" + PodState::kFile + ".new";
  fs::create_directory(obstacle);
  runtime_->go(tag_);
  run_while([&] { return !fs::exists(mark) || alive(tag_) > 0; });
  EXPECT_EQ(find_keepers(tag_text("test", node_, tag_)).value().size(), 1u) << "the only one who knows the exit status";
  fs::remove(obstacle);
  EXPECT_EQ(exit_code(wait_finished()), 3);
}

TEST_F(RuntimeTest, AKeeperThatCannotWriteTheExitStatusCanBeStopped) {
  const std::string mark = root_ + "/mark";
  start(tag_, pod("touch " + mark));
  fs::create_directory(directory(tag_) + "/" + PodState::kFile + ".new");
  runtime_->go(tag_);
  run_while([&] { return !fs::exists(mark) || alive(tag_) > 0; });
  stop(tag_, 1000);
  EXPECT_TRUE(runtime_->list().value().empty());
}

TEST_F(RuntimeTest, ALostKeeperIsReportedOnceThatCanBeWritten) {
  run(tag_, pod("exec sleep 1000"));
  wait_running();
  const std::string obstacle = directory(tag_) + "/" + PodState::kFile + ".new";
  fs::create_directory(obstacle);
  kill(keeper(), SIGKILL);
  run_while([&] { return alive(tag_) > 0; });
  fs::remove(obstacle);
  EXPECT_EQ(wait_finished().pod_status.find("reason")->as_string(), "KeeperLost");
  EXPECT_TRUE(read_pod_state(directory(tag_)).value().value().finished);
}

TEST(ReplaceFile, SaysWhyAndLeavesTheOldFileAndNothingElse) {
  std::string pattern = fs::temp_directory_path() / "berth-replace-XXXXXX";
  const std::string root = mkdtemp(pattern.data());
  EXPECT_FALSE(replace_file(root, "a", "old", true));
  fs::create_directory(root + "/a.new");
  EXPECT_EQ(replace_file(root, "a", "new", true), std::errc::is_a_directory);
  EXPECT_EQ(replace_file(root + "/none", "a", "new", true), std::errc::no_such_file_or_directory);
  fs::remove(root + "/a.new");
  fs::rename(root + "/a", root + "/b");
  fs::create_directory(root + "/a");
  EXPECT_EQ(replace_file(root, "a", "new", false), std::errc::is_a_directory);
  EXPECT_FALSE(fs::exists(root + "/a.new"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace berth
