// Pods without images as processes of this machine, each in a sandbox that bubblewrap makes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "firmware-host/agent/containers/keeper_objects.h"
#include "firmware-host/agent/containers/oci_starter.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/processes/process_machine.h"
#include "firmware-host/agent/processes/sandboxed_starter.h"
#include "firmware-host/agent/secret_files.h"
#include "firmware-host/container_settings.h"
#include "tests/unit/containers/made_objects.h"
#include "tests/unit/host/runtime_fixture.h"

namespace berth {

namespace {

class SandboxedProcess : public RuntimeTest {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PATH");
    auto machine = find_process_machine(ContainerSettings::kAutomatic, path != nullptr ? path : "");
    if (!machine) GTEST_SKIP() << machine.error().message();
    machine_ = *machine;
    machine_->pids_limit = 64;
    fs::permissions(root_, fs::perms::all);
    object_files_.emplace("/dev/shm" + root_, log_);
    keeper_objects_.emplace(*object_files_);
    keeper_objects_->set_source(&objects_);
    allow();
  }
  void TearDown() override {
    if (!machine_) return;
    stop_all();
    EXPECT_EQ(PodCgroup::names_below(cgroup_of_node("test", node_)), std::vector<std::string>());
    runtime_.reset();
    fs::remove_all("/dev/shm" + root_);
  }

  // As an agent does at its start.
  void allow() {
    runtime_->planner().set_objects(*keeper_objects_);
    runtime_->planner().set_processes(*machine_);
  }

  // `container`, `spec`: members, each followed by a comma.
  static std::string pod_of(const std::string& script, const std::string& container = "", const std::string& spec = "",
                            const std::string& policy = "Never") {
    Json command = Json::array();
    for (const std::string& text : {std::string("sh"), std::string("-c"), script}) command.push_back(Json(text));
    return R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":")" + policy + R"(",)" + spec +
           R"("containers":[{"name":"main",)" + container + R"("command":)" + command.dump() + "}]}}";
  }
  static std::string make_temp(std::string pattern) { return mkdtemp(pattern.data()); }
  std::string refusal(const std::string& manifest) {
    top().prepare(tag_, manifest, {});
    const Event prepared = wait_kind("prepared");
    EXPECT_FALSE(prepared.status.is_success()) << manifest;
    return prepared.status.message();
  }
  // Of mount namespaces that a process holds open.
  static std::size_t namespaces_held_by(pid_t pid) {
    std::size_t count = 0;
    std::error_code error;
    for (fs::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", error), end; !error && at != end;
         at.increment(error)) {
      if (fs::read_symlink(at->path(), error).string().starts_with("mnt:")) ++count;
    }
    return count;
  }
  void wait_for_output(const std::string& text) {
    run_while([&] { return output(tag_) != text; });
  }

  std::optional<ProcessMachine> machine_;
  MadeObjects objects_;
  std::optional<SecretFiles> object_files_;
  std::optional<KeeperObjects> keeper_objects_;
};

TEST_F(SandboxedProcess, HasItsVolumesAtTheirMountPathsAndNothingIsMadeOnTheMachine) {
  objects_.made[{PodObjectKind::config_map, "settings"}] = {{"a", "1"}};
  run(tag_,
      pod_of("cat /berth-settings/a; echo; echo x > /tmp/room/y && cat \"$BERTH_VOLUME_SPACE/y\"; "
             "touch /berth-settings/z 2>/dev/null || echo read-only",
             R"("volumeMounts":[{"name":"c","mountPath":"/berth-settings"},{"name":"space","mountPath":"/tmp/room"}],)",
             R"("volumes":[{"name":"c","configMap":{"name":"settings"}},{"name":"space","emptyDir":{}}],)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "1\nx\nread-only\n");
  EXPECT_FALSE(fs::exists("/berth-settings"));
  EXPECT_FALSE(fs::exists("/tmp/room"));
}

TEST_F(SandboxedProcess, SeesALaterConfigMapWithoutAStart) {
  objects_.made[{PodObjectKind::config_map, "settings"}] = {{"a", "1"}};
  run(tag_, pod_of("while ! grep -q 2 /berth-settings/a; do sleep 0.05; done; echo second",
                   R"("volumeMounts":[{"name":"c","mountPath":"/berth-settings"}],)",
                   R"("volumes":[{"name":"c","configMap":{"name":"settings"}}],)"));
  wait_running();
  objects_.made[{PodObjectKind::config_map, "settings"}] = {{"a", "2"}};
  top().objects_changed(tag_);
  wait_finished();
  EXPECT_EQ(output(tag_), "second\n");
}

TEST_F(SandboxedProcess, ItsEnvironmentHasSecretsAndRefersToOurVariables) {
  objects_.made[{PodObjectKind::secret, "s"}] = {{"key", "hidden$x"}};
  run(tag_, pod_of("echo $WORD $WHERE; echo $0", R"x("args":["$(BERTH_NODE)"],"env":[
      {"name":"WORD","valueFrom":{"secretKeyRef":{"name":"s","key":"key"}}},
      {"name":"WHERE","value":"$(BERTH_POD_NAME) on $(BERTH_NODE)"}],)x"));
  wait_finished();
  EXPECT_EQ(output(tag_), "hidden$x p on " + node_ + "\n" + node_ + "\n");
}

TEST_F(SandboxedProcess, RunsAsItsUserWithItsGroupsAndWithoutTheMachinesCapabilities) {
  run(tag_, pod_of("id -u; id -g; id -G; grep -E 'CapEff|NoNewPrivs' /proc/self/status; echo mine > note && cat note",
                   R"("securityContext":{"allowPrivilegeEscalation":false},)",
                   R"("securityContext":{"runAsUser":1000,"runAsGroup":1001,"supplementalGroups":[7]},)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "1000\n1001\n1001 7\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nmine\n");
}

TEST_F(SandboxedProcess, RootHasTheCapabilitiesOfAContainer) {
  run(tag_, pod_of("grep CapEff /proc/self/status; mount -t tmpfs none /mnt 2>/dev/null || echo no mount",
                   R"("securityContext":{"capabilities":{"drop":["ALL"],"add":["CHOWN"]}},)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "CapEff:\t0000000000000001\nno mount\n");
}

TEST_F(SandboxedProcess, ItsTmpIsItsOwnAndEmptyInEachRun) {
  run(tag_, pod_of("ls /tmp | grep -c berth-runtime; touch /tmp/of-the-pod; ls -ld /tmp | cut -c1-10"));
  wait_finished();
  const bool leads_to_its_directory = root_.starts_with("/tmp/");
  EXPECT_EQ(output(tag_).substr(0, 2), leads_to_its_directory ? "1\n" : "0\n");
  EXPECT_NE(output(tag_).find("drwxrwxrwt\n"), std::string::npos) << output(tag_);
  EXPECT_FALSE(fs::exists("/tmp/of-the-pod"));
}

TEST_F(SandboxedProcess, TheTmpOfARunGoesWithTheRun) {
  Json manifest = Json::parse(pod_of("echo x > /tmp/of-the-pod; echo up; "
                                     "while [ ! -e \"$BERTH_VOLUME_SPACE/go\" ]; do sleep 0.02; done",
                                     R"("volumeMounts":[{"name":"space","mountPath":"/space"}],)",
                                     R"("volumes":[{"name":"space","emptyDir":{}}],)"))
                      .value();
  manifest.find("spec")
      ->find("containers")
      ->as_array()
      .push_back(Json::parse(R"({"name":"other","command":["sleep","1000"]})").value());
  run(tag_, manifest.dump());
  wait_for([](const Event& event) {
    return event.kind == "status" && container(event, 1).find("state")->find("running") != nullptr;
  });
  wait_for_output("up\n");
  const pid_t keeper = keepers(tag_).front();
  EXPECT_EQ(namespaces_held_by(keeper), 2u);
  std::ofstream(directory(tag_) + "/volumes/space/go") << "";
  wait_for([](const Event& event) { return event.kind == "status" && exit_code(event) == 0; });
  EXPECT_EQ(namespaces_held_by(keeper), 1u) << "no process is left in it that could end it";
}

TEST_F(SandboxedProcess, AReadOnlyRootFileSystemIsReadOnlyButForVolumes) {
  run(tag_,
      pod_of("touch /berth-root-test 2>/dev/null || echo root; touch /var/berth-test 2>/dev/null || echo var; "
             "touch /tmp/x 2>/dev/null || echo tmp; touch /space/x && echo volume; echo void > /dev/null && echo null",
             R"("securityContext":{"readOnlyRootFilesystem":true},
                      "volumeMounts":[{"name":"space","mountPath":"/space"}],)",
             R"("volumes":[{"name":"space","emptyDir":{}}],)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "root\nvar\ntmp\nvolume\nnull\n");
}

TEST_F(SandboxedProcess, ADeviceOfTheMachineCanBeUsedAndTheRootTakesNoFiles) {
  run(tag_, pod_of("echo void > /null && echo written; touch /x 2>/dev/null || echo refused",
                   R"("volumeMounts":[{"name":"d","mountPath":"/null"}],)",
                   R"("volumes":[{"name":"d","hostPath":{"path":"/dev/null","type":"CharDevice"}}],)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "written\nrefused\n");
}

TEST_F(SandboxedProcess, ThatTakesTooMuchMemoryIsOomKilled) {
  if (!machine_->memory.is_limitable) GTEST_SKIP() << "needs a memory controller";
  run(tag_, pod_of("exec dd if=/dev/zero of=/dev/null bs=64M count=1", R"("resources":{"limits":{"memory":"32Mi"}},)"));
  const Event end = wait_finished();
  ASSERT_TRUE(end.finished);
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("reason"), "OOMKilled")
      << end.pod_status.dump();
}

TEST_F(SandboxedProcess, IsInAControlGroupWithItsLimits) {
  run(tag_, pod_of("grep -E ':(pids|cpu):|^0::' /proc/self/cgroup; echo up; sleep 1000",
                   R"("resources":{"limits":{"cpu":"250m"}},)"));
  run_while([&] { return output(tag_).find("up\n") == std::string::npos; });
  const std::string group = cgroup_of_node("test", node_) + "/u1@1.5/main";
  EXPECT_NE(output(tag_).find(group), std::string::npos) << output(tag_);
  const std::string root = kCgroupRoot;
  EXPECT_EQ(read(root + (is_unified() ? group : "/pids" + group) + "/pids.max"), "64\n");
  if (is_unified()) {
    EXPECT_EQ(read(root + group + "/cpu.max"), "25000 100000\n");
  } else {
    EXPECT_EQ(read(root + "/cpu" + group + "/cpu.cfs_quota_us"), "25000\n");
  }
}

TEST_F(SandboxedProcess, HasTheOomScoreOfItsClassAndDiesWithItsKeeper) {
  run(tag_, pod_of("cat /proc/self/oom_score_adj; sleep 1000", R"("securityContext":{"runAsUser":1000},)"));
  wait_for_output("1000\n");
  kill(keepers(tag_).front(), SIGKILL);
  const Event end = wait_finished();
  EXPECT_EQ(end.pod_status.string_at("reason"), "KeeperLost");
  EXPECT_EQ(PodCgroup(cgroup_of_node("test", node_) + "/u1@1.5").kill().value(), 0);
}

TEST_F(SandboxedProcess, WhatLeavesItsSessionAndEnvironmentEndsWithItsContainer) {
  run(tag_, pod_of("env -i setsid sleep 4242 & sleep 0.2; exit 3"));
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 3);
  EXPECT_FALSE(runs("sleep 4242"));
}

TEST_F(SandboxedProcess, ProbesAndHooksRunWhereAndAsWhoItsProcessDoes) {
  run(tag_, pod_of("while [ ! -e /tmp/probed ]; do sleep 0.05; done; cat /tmp/probed; cut -d: -f2- < /tmp/group | "
                   "grep -c main",
                   R"("securityContext":{"runAsUser":1000},
                      "readinessProbe":{"periodSeconds":1,"exec":{"command":["sh","-c",
                        "grep pids /proc/self/cgroup > /tmp/group; id -u > /tmp/new; mv /tmp/new /tmp/probed"]}},)"));
  wait_finished();
  EXPECT_EQ(output(tag_).substr(0, 5), "1000\n");
  if (!is_unified()) {
    EXPECT_EQ(output(tag_), "1000\n1\n");
  }
}

TEST_F(SandboxedProcess, WhatCannotBeHonouredIsRefusedByItsField) {
  EXPECT_EQ(refusal(pod_of("true", R"("volumeMounts":[{"name":"v","mountPath":"/etc/berth/none/there"}],)",
                           R"("volumes":[{"name":"v","emptyDir":{}}],)")),
            "spec.containers[0].volumeMounts[0].mountPath: /etc/berth/none/there does not exist on node " + node_ +
                ", and processes have its file system; make it there, or use a path in /tmp or in a directory below / "
                "that is not there");
  EXPECT_TRUE(
      refusal(pod_of("true", R"("volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/a/b"}],)",
                     R"("volumes":[{"name":"v","emptyDir":{}}],)"))
          .starts_with("spec.containers[0].volumeMounts[1].mountPath: lies in another mountPath, /a,"));
  for (const auto& [context, field] : {std::pair{R"("seccompProfile":{"type":"RuntimeDefault"})", "seccompProfile"},
                                       {R"("allowPrivilegeEscalation":true)", "allowPrivilegeEscalation"},
                                       {R"("procMount":"Unmasked")", "procMount"}}) {
    const std::string said = refusal(pod_of("true", R"("securityContext":{)" + std::string(context) + "},"));
    const std::string name = field;
    EXPECT_TRUE(said.contains("spec.containers[0].securityContext." + name + " (feature processes/" + name + ")"))
        << said;
  }
  EXPECT_TRUE(
      refusal(pod_of("true", "", R"("securityContext":{"sysctls":[{"name":"kernel.shm_rmid_forced","value":"1"}]},)"))
          .contains("spec.securityContext.sysctls (feature processes/sysctls)"));
  EXPECT_TRUE(refusal(pod_of("true", R"("securityContext":{"runAsNonRoot":true},)"))
                  .starts_with("spec.containers[0].securityContext.runAsNonRoot: processes of node"));
  EXPECT_TRUE(
      refusal(pod_of("true", R"("volumeMounts":[{"name":"v","mountPath":"/a","mountPropagation":"HostToContainer"}],)",
                     R"("volumes":[{"name":"v","emptyDir":{}}],)"))
          .starts_with("spec.containers[0].volumeMounts[0].mountPropagation: not supported for processes"));
  EXPECT_TRUE(refusal(pod_of("true", "", R"("hostAliases":[{"ip":"10.0.0.1","hostnames":["a"]}],)"))
                  .find("spec.hostAliases (feature processes/hostAliases)") != std::string::npos);
  EXPECT_FALSE(fs::exists("/etc/berth/none"));
  EXPECT_NE(refusal(pod_of("true", R"("volumeMounts":[{"name":"v","mountPath":")" + root_ + R"("}],)",
                           R"("volumes":[{"name":"v","emptyDir":{}}],)"))
                .find("has the agent's state"),
            std::string::npos);
}

TEST_F(SandboxedProcess, WhatWasAdmittedAsAContainerIsNotRunAsProcesses) {
  ASSERT_TRUE(top().start(tag_, pod_of("true", R"("image":"app:1",)"), {}));
  const Event delayed = wait_delayed();
  EXPECT_TRUE(delayed.pod_status.string_at("message").contains("runs no containers")) << delayed.pod_status.dump();
}

TEST_F(SandboxedProcess, WhatAnEarlierAgentHasAdmittedIsNotRunWithLess) {
  ASSERT_TRUE(
      top().start(tag_, pod_of("true", R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},)"), {}));
  const Event delayed = wait_delayed();
  EXPECT_TRUE(delayed.pod_status.string_at("message").contains(
      "spec.containers[0].securityContext.seccompProfile: not supported for processes"))
      << delayed.pod_status.dump();
}

TEST_F(SandboxedProcess, NothingIsExecutedInItsMountsButItsProgram) {
  if (!fs::exists("/usr/sbin/chroot")) GTEST_SKIP() << "needs a program that is not in /usr/bin";
  std::string pod = pod_of("", R"("volumeMounts":[{"name":"v","mountPath":"/usr/bin"}],)",
                           R"("volumes":[{"name":"v","emptyDir":{}}],)");
  const std::string command = R"("command":)";
  pod = pod.substr(0, pod.find(command)) + command + R"(["/usr/sbin/chroot","--version"]}]}})";
  run(tag_, pod);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_TRUE(output(tag_).starts_with("chroot ")) << output(tag_);
}

TEST_F(SandboxedProcess, AUserWithoutAGroupHasTheGroupOfItsNumberNotRoots) {
  run(tag_, pod_of("id -u; id -g; id -G", R"("securityContext":{"runAsUser":54321},)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "54321\n54321\n54321\n");
}

TEST_F(SandboxedProcess, ALinkThatAnEarlierRunPutInTheWayOfAMountIsNotFollowed) {
  const std::string base = make_temp("/dev/shm/berth-mounts-XXXXXX");
  fs::create_directories(base + "/a/data");
  fs::create_directories(base + "/elsewhere");
  run(tag_, pod_of("mv " + base + "/a " + base + "/b; mkdir " + base + "/a; ln -s " + base + "/elsewhere " + base +
                       "/a/data; exit 1",
                   R"("volumeMounts":[{"name":"v","mountPath":")" + base + R"(/a/data"}],)",
                   R"("volumes":[{"name":"v","emptyDir":{}}],)", "Always"));
  const Event waiting = wait_for([](const Event& event) {
    const Json* state = event.kind == "status" ? container(event).find("state")->find("waiting") : nullptr;
    return state != nullptr && state->string_at("reason") == "CreateContainerConfigError";
  });
  EXPECT_NE(container(waiting).find("state")->find("waiting")->string_at("message").find("mountPath: " + base),
            std::string::npos);
  fs::remove_all(base);
}

TEST_F(SandboxedProcess, ThatWasStartedWithoutASandboxGoesOnWithoutOne) {
  runtime_.reset();
  open_runtime();
  const std::string manifest = pod_of("ls -d /tmp/berth-runtime-* | wc -l; echo $BERTH_VOLUME_S; sleep 1000",
                                      R"("volumeMounts":[{"name":"s","mountPath":"/space"}],)",
                                      R"("volumes":[{"name":"s","emptyDir":{}}],)", "Always");
  run(tag_, manifest);
  run_while([&] { return output(tag_).find("volumes/s\n") == std::string::npos; });
  runtime_.reset();
  open_runtime();
  allow();
  ASSERT_EQ(top().list().value(), std::vector<Tag>{tag_});
  ASSERT_TRUE(top().start(tag_, manifest, {}));
  top().go(tag_);
  kill(keepers(tag_).front(), SIGKILL);
  const std::string once = directory(tag_) + "/volumes/s\n";
  run_while([&] { return output(tag_).find(once, output(tag_).find(once) + 1) == std::string::npos; });
  EXPECT_FALSE(fs::exists(directory(tag_) + "/process-sandbox"));
}

TEST_F(SandboxedProcess, WaitsForASandboxThatTheMachineHasNoLonger) {
  const std::string manifest = pod_of("echo up; sleep 1000", "", "", "Always");
  run(tag_, manifest);
  wait_for_output("up\n");
  runtime_.reset();
  open_runtime();
  ASSERT_EQ(top().list().value(), std::vector<Tag>{tag_});
  ASSERT_TRUE(top().start(tag_, manifest, {})) << "what runs goes on";
  kill(keepers(tag_).front(), SIGKILL);
  const Event delayed = wait_delayed();
  EXPECT_NE(delayed.pod_status.string_at("message").find("containers.bwrap"), std::string::npos)
      << delayed.pod_status.dump();
}

// How many mounts there are at `directory` in this process after three attempts, all of which must fail.
template <class Starter>
int mounts_after_three_attempts(const SandboxPlan& plan, const std::string& directory) {
  Starter starter(plan);
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (starter.make_ready()) return -1;
  }
  std::ifstream table("/proc/self/mountinfo");
  int count = 0;
  for (std::string line; std::getline(table, line);) count += line.contains(" " + directory + " ") ? 1 : 0;
  return count;
}

template <class Starter>
class SandboxOfAPod : public ::testing::Test {};
using Starters = ::testing::Types<OciStarter, SandboxedStarter>;
TYPED_TEST_SUITE(SandboxOfAPod, Starters);

TYPED_TEST(SandboxOfAPod, HasOneTmpfsHoweverOftenItsStartIsTriedAgain) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can mount";
  if (!has_control_groups()) GTEST_SKIP() << "needs control groups";
  std::string pattern = fs::temp_directory_path() / "berth-sandbox-XXXXXX";
  const std::string root = mkdtemp(pattern.data());
  SandboxPlan plan;
  plan.of_processes = std::is_same_v<TypeParam, SandboxedStarter>;
  plan.pod = Json::object();
  plan.directory = root;
  plan.cgroup = "/cgroup.procs/pod";  // below a file: it cannot be made
  plan.host_network = plan.host_ipc = plan.host_pid = true;
  // It enters a mount namespace for good.
  const pid_t child = fork();
  if (child == 0) {
    _exit(mounts_after_three_attempts<TypeParam>(plan, root + directory_in_pod(plan)));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  fs::remove_all(root);
}

TEST(ProcessMachine, WithoutBubblewrapSaysHowToHaveIt) {
  EXPECT_EQ(find_process_machine("no-such-bwrap", "/usr/bin").error().message(),
            "program no-such-bwrap not found: install bubblewrap, or name its path in containers.bwrap");
  EXPECT_EQ(find_process_machine(ContainerSettings::kNone, "/usr/bin").error().message(), "containers.bwrap is none");
}

TEST(ProcessMachine, AProgramThatMakesNoSandboxIsNotUsed) {
  const char* path = std::getenv("PATH");
  const Result<ProcessMachine> machine = find_process_machine("false", path != nullptr ? path : "");
  EXPECT_TRUE(machine.error().message().ends_with("/false does not work here: bwrap ends without a word"))
      << machine.error().message();
}

}  // namespace

}  // namespace berth
