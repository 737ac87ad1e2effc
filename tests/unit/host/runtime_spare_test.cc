// The process that is forked before the pod is known whose keeper it becomes.
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/unit/host/runtime_fixture.h"

namespace berth {
namespace {

class SpareTest : public RuntimeTest {
 protected:
  pid_t wait_for_spare() {
    run_while([&] { return spares().empty(); });
    EXPECT_EQ(spares().size(), 1u);
    return spares().front();
  }
};

TEST_F(SpareTest, APodGetsTheProcessThatWaitsForOneAndThenAnotherWaits) {
  const pid_t spare = wait_for_spare();
  EXPECT_EQ(hold(tag_, pod("echo it runs")), spare);
  ASSERT_TRUE(runtime_->start(tag_, pod("echo it runs"), {}).has_value());
  runtime_->go(tag_);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_EQ(output(tag_), "it runs\n");
  EXPECT_NE(wait_for_spare(), spare);
}

TEST_F(SpareTest, APodOfTheSpareProcessHasItsVolumesAndItsEnvironment) {
  const std::string data = root_ + "/data";
  fs::create_directory(data);
  wait_for_spare();
  run(tag_, with_volumes(pod("echo $BERTH_VOLUME_DATA $BERTH_TAG; echo kept > $BERTH_VOLUME_DATA/file")),
      {{"default/c", "pv-1", data}});
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_EQ(output(tag_), data + " " + tag_text("test", node_, tag_) + "\n");
  EXPECT_EQ(read(data + "/file"), "kept\n");
}

TEST_F(SpareTest, APodWithTheLargestManifestIsKeptByTheSpareProcessToo) {
  std::string manifest = pod("true");
  manifest.insert(1, R"("note":")" + std::string(Json::Limits{}.bytes - manifest.size() - 10, 'x') + "\",");
  ASSERT_EQ(manifest.size(), Json::Limits{}.bytes);
  const pid_t spare = wait_for_spare();
  EXPECT_EQ(hold(tag_, manifest), spare);
}

TEST_F(SpareTest, APodStartsWithoutTheSpareProcessOnceThatWasKilled) {
  const pid_t spare = wait_for_spare();
  kill(spare, SIGKILL);
  run_while([&] { return !spares().empty(); });
  run(tag_, pod("echo it runs"));
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_NE(keeper(), spare);
  wait_for_spare();
}

TEST_F(SpareTest, APodWhoseSpareProcessIsKilledWhileItIsHeldGetsAnotherKeeper) {
  const std::string manifest = pod("echo it runs");
  const pid_t spare = wait_for_spare();
  ASSERT_EQ(hold(tag_, manifest), spare);
  kill(spare, SIGKILL);
  // Not on the loop, where the runtime would hear of it before the start.
  while (read("/proc/" + std::to_string(spare) + "/stat").find(") Z ") == std::string::npos) continue;
  ASSERT_TRUE(runtime_->start(tag_, manifest, {}).has_value());
  runtime_->go(tag_);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_EQ(output(tag_), "it runs\n");
}

TEST_F(SpareTest, APodThatHadAKeeperBeforeGetsOneThatKnowsItsRestarts) {
  run(tag_, pod("sleep 1000", "Always"));
  wait_running();
  const pid_t spare = wait_for_spare();
  kill(keeper(), SIGKILL);
  const Event again = wait_for([](const Event& event) {
    return event.kind == "status" && phase(event) == "Running" && container(event).find("restartCount")->as_int() == 1;
  });
  EXPECT_EQ(again.tag, tag_);
  EXPECT_NE(keepers(tag_), std::vector<pid_t>{spare});
}

TEST_F(SpareTest, ItEndsWithTheRuntimeAndIsNoKeeperToFind) {
  const pid_t spare = wait_for_spare();
  EXPECT_TRUE(find_keepers("test/" + node_ + "/").value().empty());
  runtime_.reset();
  EXPECT_EQ(kill(spare, 0), -1);
}

// In a child, since this process has to go on. The spare process becomes one of init's, or of whoever adopts orphans.
TEST_F(SpareTest, ItEndsWhenTheAgentIsKilled) {
  runtime_.reset();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t agent = fork();
  if (agent == 0) {
    SpareKeeper spare;
    if (!spare.fork([](const std::string&) { return std::nullopt; }).is_success()) _exit(1);
    // The spare process has closed its copy by the time that it has its name.
    while (spares().empty()) continue;
    const pid_t pid = spares().front();
    if (write(told[1], &pid, sizeof pid) != static_cast<ssize_t>(sizeof pid)) _exit(1);
    for (;;) pause();
  }
  close(told[1]);
  pid_t spare = 0;
  ASSERT_EQ(::read(told[0], &spare, sizeof spare), static_cast<ssize_t>(sizeof spare));
  close(told[0]);
  kill(agent, SIGKILL);
  ASSERT_EQ(waitpid(agent, nullptr, 0), agent);
  const auto waits = [&] {
    const std::string stat = read("/proc/" + std::to_string(spare) + "/stat");
    return stat.find(std::string("(") + SpareKeeper::kName + ") ") != std::string::npos &&
           stat.find(") Z") == std::string::npos;
  };
  run_while(waits);
}

TEST(SpareKeeper, NobodyIsTakenWhereNobodyWasForked) {
  SpareKeeper spare;
  EXPECT_FALSE(spare.take("anything").has_value());
}

}  // namespace
}  // namespace berth
