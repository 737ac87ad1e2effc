// How pods run: containers in order, restarts, output, volumes, and what cannot run.
#include <linux/capability.h>

#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/containers/container_machine.h"
#include "firmware-host/processor_slices.h"
#include "tests/unit/host/runtime_fixture.h"
#include "tests/unit/host/slice_of.h"

namespace berth {
namespace {

TEST_F(RuntimeTest, RunsAPodAndKeepsItsOutput) {
  run(tag_, pod("echo out; echo err >&2; echo $BERTH_POD_NAME $BERTH_TAG; env | grep -c ^SECRET_"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Failed");  // grep found none
  EXPECT_EQ(exit_code(end), 1);
  std::string errors, others;  // which of the two pipes is read first is not said
  std::istringstream lines(read(directory(tag_) + "/main.log"));
  for (std::string line; std::getline(lines, line);) {
    (line.contains(" stderr ") ? errors : others) +=
        line.substr(std::string_view("2016-10-06T00:17:09.669000000Z stdout F ").size()) + "\n";
  }
  EXPECT_EQ(others, "out\np test/" + node_ + "/u1/1.5\n0\n");
  EXPECT_EQ(errors, "err\n");
}

TEST_F(RuntimeTest, ReportsSuccessWithExitCodeAndTimes) {
  run(tag_, pod("exit 0"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Succeeded");
  const Json* ended = container(end).find("state")->find("terminated");
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->find("reason")->as_string(), "Completed");
  EXPECT_TRUE(ended->find("startedAt")->as_string().ends_with("Z"));
  EXPECT_EQ(container(end).find("restartCount")->as_int(), 0);
}

TEST_F(RuntimeTest, ReportsTheSignalThatEndedAContainer) {
  run(tag_, pod("kill -9 $$$$"));
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 137);
  EXPECT_EQ(container(end).find("state")->find("terminated")->find("signal")->as_int(), 9);
}

TEST_F(RuntimeTest, HoldsAPodUntilGo) {
  const std::string mark = root_ + "/mark";
  start(tag_, pod("touch " + mark));
  // Meanwhile another pod runs to its end.
  const Tag other{"u2", {1, 6}};
  run(other, pod("true"));
  wait_finished();
  EXPECT_FALSE(fs::exists(mark));
  EXPECT_EQ(runtime_->list().value(), (std::vector<Tag>{tag_, other}));
  runtime_->go(tag_);
  runtime_->go(tag_);
  EXPECT_EQ(wait_finished().tag, tag_);
  EXPECT_TRUE(fs::exists(mark));
}

TEST_F(RuntimeTest, APreparedPodIsHeldAheadOfItsStartWhichFindsIt) {
  const std::string mark = root_ + "/mark", manifest = pod("touch " + mark);
  const pid_t held = hold(tag_, manifest);
  start(tag_, manifest);
  EXPECT_EQ(keeper(), held);
  EXPECT_FALSE(fs::exists(mark));
  runtime_->go(tag_);
  wait_finished();
  EXPECT_TRUE(fs::exists(mark));
}

TEST_F(RuntimeTest, ThereIsAStateBeforeAContainerIsStartedAndTheFirstStatusIsOfOneThatRuns) {
  EXPECT_TRUE(runtime_->list().value().empty());
  run(tag_, pod("cp ../state.json seen; sleep 1000"));
  EXPECT_EQ(phase(wait_kind("status")), "Running");
  run_while([&] { return read(directory(tag_) + "/scratch/seen").empty(); });
}

TEST_F(RuntimeTest, RunsInitContainersInOrderBeforeTheOthers) {
  run(tag_, pod("cat order; exit 3", "Never",
                R"("initContainers":[{"name":"a","command":["sh","-c","echo a >> order"]},
                                     {"name":"b","command":["sh","-c","echo b >> order"]}],)"));
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 3);
  EXPECT_EQ(output(tag_), "a\nb\n");
}

TEST_F(RuntimeTest, FailsAPodWhoseInitContainerFails) {
  run(tag_, after_init("exit 4", "echo never"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Failed");
  EXPECT_EQ(end.pod_status.find("initContainerStatuses")
                ->as_array()[0]
                .find("state")
                ->find("terminated")
                ->find("exitCode")
                ->as_int(),
            4);
  EXPECT_EQ(output(tag_), "");
}

TEST_F(RuntimeTest, RestartsAfterFailureUntilItSucceeds) {
  run(tag_, pod("echo x >> tries; test $(wc -l < tries) -ge 3", "OnFailure"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Succeeded");
  EXPECT_EQ(container(end).find("restartCount")->as_int(), 2);
  EXPECT_EQ(container(end).find("lastState")->find("terminated")->find("exitCode")->as_int(), 1);
}

TEST_F(RuntimeTest, RestartsWithPolicyAlwaysEvenAfterSuccess) {
  run(tag_, pod("true", "Always"));
  wait_for([](const Event& event) {
    return event.kind == "status" && container(event).find("restartCount")->as_int() >= 3;
  });
  stop(tag_, 1000);
  EXPECT_TRUE(runtime_->list().value().empty());
}

TEST_F(RuntimeTest, ACrashedContainerWaitsWithTheMessageOfTheKubelet) {
  longest_backoff_ms_ = 60'000;
  open_runtime();
  run(tag_, pod("exit 4", "Always"));
  const Event waiting = wait_for([](const Event& event) {
    const Json* state = event.kind == "status" ? container(event).find("state")->find("waiting") : nullptr;
    return state != nullptr && state->string_at("message").starts_with("back-off 128ms ");
  });
  const Json* state = container(waiting).find("state")->find("waiting");
  EXPECT_EQ(state->string_at("reason"), "CrashLoopBackOff");
  EXPECT_EQ(state->string_at("message"), "back-off 128ms restarting failed container=main pod=p_default(u1)");
  EXPECT_EQ(*container(waiting).find("restartCount"), Json(9)) << "the first crash costs nothing";
}

TEST_F(RuntimeTest, KeepsOutputBounded) {
  logs_.bytes_per_second = 0;
  open_runtime();
  run(tag_, pod("yes 0123456789abcdef | head -c 2000000; echo last"));
  wait_finished();
  const std::string path = directory(tag_) + "/main.log";
  EXPECT_LE(fs::file_size(path), logs_.file_bytes);
  EXPECT_LE(fs::file_size(path + ".1"), logs_.file_bytes);
  EXPECT_FALSE(fs::exists(path + ".2"));
  EXPECT_TRUE(output(tag_).ends_with("last\n"));
}

TEST_F(RuntimeTest, RefusesACommandThatDoesNotExistAndLeavesNothing) {
  runtime_->prepare(tag_, R"({"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[
      {"name":"reader","command":["no-such-command"]}]}})",
                    {});
  const Event prepared = wait_kind("prepared");
  EXPECT_TRUE(prepared.status.message().starts_with("container reader: command 'no-such-command' not found"));
  EXPECT_TRUE(runtime_->list().value().empty());
}

TEST_F(RuntimeTest, DirectoriesWithinThePodsAreMadeBehindTheAnswerAndThoseOutsideBefore) {
  ASSERT_TRUE(runtime_->list().has_value());
  const std::string outside = root_ + "-outside";
  runtime_->prepare(tag_,
                    R"({"metadata":{"name":"p","namespace":"d"},"spec":{"volumes":[{"name":"v","hostPath":{"path":")" +
                        outside +
                        R"(","type":"DirectoryOrCreate"}}],"containers":[{"name":"main","command":["true"]}]}})",
                    {});
  EXPECT_TRUE(fs::exists(directory(tag_)));
  EXPECT_TRUE(fs::exists(outside));
  EXPECT_FALSE(fs::exists(directory(tag_) + "/scratch"));
  run_while([&] { return keepers(tag_).empty(); });
  EXPECT_TRUE(fs::exists(directory(tag_) + "/scratch"));
  runtime_->undo(tag_);
  fs::remove(outside);
}

TEST_F(RuntimeTest, RefusesAPodThatAsksForWhatItCannotDo) {
  runtime_->prepare(tag_, R"({"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[
      {"name":"main","command":["true"],"securityContext":{"runAsUser":1000},"livenessProbe":{"grpc":{"port":1}}}]}})",
                    {});
  const Event prepared = wait_kind("prepared");
  EXPECT_TRUE(prepared.status.message().contains(
      " does not support spec.containers[0].livenessProbe.grpc (feature processes/grpcProbes), "
      "spec.containers[0].securityContext (feature "
      "processes/securityContext); remove it, or place the pod on a node that does"))
      << prepared.status.message();
  EXPECT_TRUE(runtime_->list().value().empty());
}

// Older gateways send it, as it has a command.
TEST_F(RuntimeTest, NeverRunsAnImageAsProcesses) {
  const std::string marker = root_ + "-ran";
  const auto pod_of_class = [&](const std::string& runtime_class) {
    return R"({"metadata":{"name":"p","namespace":"d"},"spec":{)" + runtime_class +
           R"("containers":[{"name":"main","image":"app","command":["touch",")" + marker + R"("]}]}})";
  };
  runtime_->prepare(tag_, pod_of_class(""), {});
  const Event prepared = wait_kind("prepared");
  EXPECT_TRUE(
      prepared.status.message().contains(" does not support spec.containers[0].image (feature images: install "))
      << prepared.status.message();
  const Status as_processes = runtime_->check(pod_of_class(R"("runtimeClassName":"process",)"), {});
  EXPECT_TRUE(as_processes.message().contains(" does not support spec.containers[0].image (feature processes/image: "))
      << as_processes.message();
  ASSERT_TRUE(runtime_->start(tag_, pod_of_class(""), {})) << "as one that an earlier agent has promised to run";
  const Event delayed = wait_kind("status");
  EXPECT_TRUE(delayed.pod_status.string_at("message").contains("runs no containers")) << delayed.pod_status.dump();
  EXPECT_FALSE(fs::exists(marker));
}

TEST_F(RuntimeTest, TellsWhatItWouldRefuseAndWhenItWouldNotAnyMore) {
  const std::string wanted = root_ + "-wanted";
  const std::string manifest =
      R"({"metadata":{"name":"p","namespace":"d"},"spec":{"volumes":[{"name":"v","hostPath":{"path":")" + wanted +
      R"("}}],"containers":[{"name":"main","command":["true"]}]}})";
  runtime_->prepare(tag_, manifest, {});
  const Event prepared = wait_kind("prepared");
  EXPECT_EQ(runtime_->check(manifest, {}), prepared.status);
  fs::create_directory(wanted);
  EXPECT_TRUE(runtime_->check(manifest, {}).is_success());
  fs::remove(wanted);
  EXPECT_TRUE(runtime_->list().value().empty()) << "looking leaves nothing";
}

TEST_F(RuntimeTest, AHostPathMayBeADeviceAndIsOfTheTypeThatThePodDemands) {
  const auto check = [this](const std::string& path, const std::string& type) {
    return runtime_->check(
        R"({"metadata":{"name":"p","namespace":"d"},"spec":{"volumes":[{"name":"v","hostPath":{"path":")" + path +
            R"(","type":")" + type + R"("}}],"containers":[{"name":"main","command":["true"]}]}})",
        {});
  };
  const std::string file = root_ + "-file";
  std::ofstream(file) << "x";
  for (const auto& [path, type] : {std::pair<std::string, std::string>{"/dev/null", "CharDevice"},
                                   {"/dev/null", ""},
                                   {file, "File"},
                                   {file, "FileOrCreate"},
                                   {file, ""},
                                   {"/", "Directory"},
                                   {"/", ""}}) {
    EXPECT_TRUE(check(path, type).is_success()) << path << " " << type << ": " << check(path, type).message();
  }
  EXPECT_TRUE(check("/dev/null", "Directory").message().ends_with("is no directory, which hostPath.type demands"));
  EXPECT_TRUE(check("/", "File").message().ends_with("is no file, which hostPath.type demands"));
  EXPECT_TRUE(check(file, "Socket").message().ends_with("is no socket, which hostPath.type demands"));
  fs::remove(file);
  EXPECT_TRUE(check(file, "").message().contains(file + " does not exist on node ")) << "it is not made";
  EXPECT_TRUE(check(file, "FileOrCreate").message().contains(file + " does not exist on node "));
}

TEST_F(RuntimeTest, ContainersAreNotProtectedFromTheKernelsMemoryKillerAsTheAgentIs) {
  std::ofstream("/proc/self/oom_score_adj") << "200";  // as any process may raise its own
  run(tag_, pod("cat /proc/self/oom_score_adj"));
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  std::ofstream("/proc/self/oom_score_adj") << "0";
  EXPECT_EQ(output(tag_), "0\n");
}

TEST_F(RuntimeTest, AKeeperHasTheShortSlicesOfTheAgentAndAContainerHasTheUsualOnes) {
  if (slice_of(0) == 0) GTEST_SKIP() << "this kernel does not tell";
  take_usual_slices();
  const std::uint64_t usual = slice_of(0);
  ASSERT_GT(usual, kShortSliceUs);
  take_short_slices();
  run(tag_, pod("sleep 1000"));
  wait_for([](const Event& event) { return event.kind == "status" && phase(event) == "Running"; });
  const std::vector<Tagged> keepers = find_keepers("test/" + node_ + "/").value();
  ASSERT_EQ(keepers.size(), 1u);
  EXPECT_EQ(slice_of(keepers[0].process.pid), kShortSliceUs);
  const std::vector<Tagged> containers = find_tagged("test/" + node_ + "/").value();
  ASSERT_GE(containers.size(), 1u);
  for (const Tagged& container : containers) EXPECT_EQ(slice_of(container.process.pid), usual);
  take_usual_slices();
  stop(tag_, 1000);
}

TEST_F(RuntimeTest, ContainersMayNotWriteBeyondQuotas) {
  run(tag_, pod("grep CapEff /proc/self/status | cut -f 2"));
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  const unsigned long long effective = std::stoull(output(tag_), nullptr, 16);
  EXPECT_EQ(effective >> CAP_SYS_RESOURCE & 1, 0u);
  EXPECT_EQ(effective >> CAP_CHOWN & 1, geteuid() == 0 ? 1u : 0u) << "nothing else is taken";
}

TEST_F(RuntimeTest, ReportsAProgramThatCannotBeExecuted) {
  const std::string program = root_ + "/bad";
  std::ofstream(program) << "\x7f"
                            "ELFnonsense";
  fs::permissions(program, fs::perms::owner_all);
  run(tag_, R"({"metadata":{"name":"p","namespace":"d"},"spec":{"restartPolicy":"Never","containers":[
      {"name":"main","command":[")" +
                program + R"("]}]}})");
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 128);
  const Json* ended = container(end).find("state")->find("terminated");
  EXPECT_EQ(ended->find("reason")->as_string(), "StartError");
  EXPECT_TRUE(ended->find("message")->as_string().ends_with("Exec format error"));
}

TEST_F(RuntimeTest, KeepsABoundVolumeAndRemovesAnEmptyDir) {
  const std::string path = root_ + "/pv1";
  fs::create_directory(path);
  run(tag_, with_volumes(pod("echo kept > $BERTH_VOLUME_DATA/file; echo gone > $BERTH_VOLUME_TMP/file")),
      {{"default/c", "pv1", path}});
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  const std::string empty_dir = directory(tag_) + "/volumes/tmp/file";
  EXPECT_EQ(read(empty_dir), "gone\n");
  stop(tag_, 0);
  EXPECT_EQ(read(path + "/file"), "kept\n");
  EXPECT_FALSE(fs::exists(empty_dir));
}

TEST_F(RuntimeTest, PreparesNoPodWhoseVolumeHasNoDirectoryAndCreatesNone) {
  const std::string path = root_ + "/pv1";
  runtime_->prepare(tag_, with_volumes(pod("true")), {{"default/c", "pv1", path}});
  EXPECT_EQ(wait_kind("prepared").status.message(), "volume pv1: directory " + path + " does not exist on node " +
                                                        node_ + ": create it, or mount the disk that has it");
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RuntimeTest, PreparesNoPodWhoseDiskIsNotMounted) {
  const std::string path = root_ + "/pv1";
  fs::create_directory(path);
  mount_points_ = {path, "/proc"};
  open_runtime();
  runtime_->prepare(tag_, with_volumes(pod("true")), {{"default/c", "pv1", path}});
  EXPECT_EQ(wait_kind("prepared").status.message(), "volume pv1: nothing is mounted at " + path + " on node " + node_ +
                                                        ", which its mount_point: true demands: mount the disk");
  runtime_->prepare(tag_, with_volumes(pod("true")), {{"default/c", "pv1", "/proc"}});
  EXPECT_TRUE(wait_kind("prepared").status.is_success());
}

// A link to what is mounted is a disk that can be taken away.
TEST_F(RuntimeTest, AContainerIsNotStartedAgainWhileItsDiskIsNotMounted) {
  const std::string disk = root_ + "/pv1";
  const std::string runs = root_ + "/runs";
  const std::string fifo = root_ + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  fs::create_directory_symlink("/proc", disk);
  mount_points_ = {disk};
  open_runtime();
  run(tag_, with_volumes(pod("echo run >> " + runs + "; read line < " + fifo + "; exit 3", "Always")),
      {{"default/c", "pv1", disk}});
  wait_running();
  fs::remove(disk);
  fs::create_directory(disk);
  std::ofstream(fifo) << "end\n";
  const Event delayed = wait_delayed();
  EXPECT_EQ(phase(delayed), "Pending");
  const std::string why = "volume pv1: nothing is mounted at " + disk + " on node " + node_ +
                          ", which its mount_point: true demands: mount the disk";
  EXPECT_EQ(delayed.pod_status.string_at("message"), why);
  const Json* waiting = container(delayed).find("state")->find("waiting");
  ASSERT_NE(waiting, nullptr);
  EXPECT_EQ(waiting->string_at("reason"), "StartDelayed");
  EXPECT_EQ(waiting->string_at("message"), why);
  EXPECT_EQ(read(runs), "run\n");
  fs::remove(disk);
  fs::create_directory_symlink("/proc", disk);
  const Event again = wait_running();
  EXPECT_EQ(again.pod_status.find("reason"), nullptr);
  EXPECT_EQ(*container(again).find("restartCount"), Json(1));
  run_while([&] { return read(runs) != "run\nrun\n"; });
}

TEST_F(RuntimeTest, APodRunsAsLongAsOneOfItsContainersDoes) {
  const std::string disk = root_ + "/pv1";
  const std::string fifo = root_ + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  fs::create_directory(disk);
  Json json = Json::parse(with_volumes(pod("read line < " + fifo, "Always"))).value();
  json.find("spec")
      ->find("containers")
      ->as_array()
      .push_back(Json::parse(R"({"name":"other","command":["sleep","1000"]})").value());
  run(tag_, json.dump(), {{"default/c", "pv1", disk}});
  wait_running();
  fs::remove(disk);
  std::ofstream(fifo) << "end\n";
  const Event delayed = wait_delayed();
  EXPECT_EQ(phase(delayed), "Running");
  EXPECT_NE(container(delayed, 1).find("state")->find("running"), nullptr);
}

// With an error, which lasts: the device says when it is over (D6).
TEST_F(RuntimeTest, RefusesAPodWhosePoolHasNoDiskThoughItsVolumeIsStillToBeMade) {
  const std::string pool = root_ + "/pool";
  fs::create_directory(pool);
  mount_points_ = {pool};
  open_runtime();
  BoundVolume volume{"default/c", "pvc-1", pool + "/pvc-1"};
  volume.make = VolumeToMake{"fast", 1};
  const std::string manifest = with_volumes(pod("true"));
  const Status refused = runtime_->check(manifest, {volume});
  EXPECT_EQ(refused.code(), Code::error);
  EXPECT_EQ(refused.message(), "volume pvc-1: nothing is mounted at " + pool + " on node " + node_ +
                                   ", which its pool's mount_point: true demands: mount the disk");
  fs::remove(pool);
  fs::create_directory_symlink("/proc", pool);
  EXPECT_TRUE(runtime_->check(manifest, {volume}).is_success());
}

TEST_F(RuntimeTest, StartsAPodOnceTheDirectoryOfItsVolumeIsBack) {
  const std::string path = root_ + "/pv1";
  fs::create_directory(path);
  const std::string manifest = with_volumes(pod("echo kept > $BERTH_VOLUME_DATA/file"));
  const std::vector<BoundVolume> volumes = {{"default/c", "pv1", path}};
  runtime_->prepare(tag_, manifest, volumes);
  ASSERT_TRUE(wait_kind("prepared").status.is_success());
  fs::remove(path);
  EXPECT_EQ(runtime_->start(tag_, manifest, volumes).value(), "") << "not known yet";
  runtime_->go(tag_);
  wait_delayed();
  EXPECT_FALSE(fs::exists(path));
  fs::create_directory(path);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_EQ(read(path + "/file"), "kept\n");
}

TEST_F(RuntimeTest, TheEndOfTheLogIsTheMessageOfAFailureIfThePodAsksForThat) {
  Json manifest =
      Json::parse(pod("i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; printf last; exit 1")).value();
  manifest.find("spec")->find("containers")->as_array()[0].set("terminationMessagePolicy", "FallbackToLogsOnError");
  run(tag_, manifest.dump());
  const std::string message = container(wait_finished()).find("state")->find("terminated")->string_at("message");
  EXPECT_TRUE(message.starts_with("line 21\n")) << message;
  EXPECT_TRUE(message.ends_with("line 99\nlast\n")) << message;
}

TEST_F(RuntimeTest, WithoutThatOrWithoutAFailureTheLogIsNoMessage) {
  Json manifest = Json::parse(pod("echo fine")).value();
  manifest.find("spec")->find("containers")->as_array()[0].set("terminationMessagePolicy", "FallbackToLogsOnError");
  run(tag_, manifest.dump());
  EXPECT_EQ(container(wait_finished()).find("state")->find("terminated")->string_at("message"), "");
  const Tag other{"u2", {1, 6}};
  run(other, pod("echo wrong; exit 1"));
  const Event end = wait_for([&](const Event& event) { return event.finished && event.tag == other; });
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("message"), "");
}

TEST_F(RuntimeTest, TheStatusOfEachPodHasTheAddressesOfItsNode) {
  const std::vector<std::string> addresses = host_addresses();
  run(tag_, pod("true"));
  const Event end = wait_finished();
  EXPECT_EQ(end.pod_status.string_at("hostIP"), addresses.empty() ? "" : addresses.front()) << end.pod_status.dump();
}

}  // namespace
}  // namespace berth
