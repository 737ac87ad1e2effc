// Pods as containers: what their processes see, how they end, and that nothing of them is left.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/unit/containers/container_fixture.h"

namespace berth {
namespace {

using ContainerRuntime = ContainerTest;

TEST_F(ContainerRuntime, RunsTheCommandOfTheImageWithItsEnvironmentAndUser) {
  import({layer_of(busybox_entries())}, "app:1",
         R"({"Env":["PATH=/bin","COLOR=blue"],"Entrypoint":["sh","-c","echo $COLOR $SIZE $(id -u) $(id -g) $(pwd) $0"],
             "Cmd":["of the image"],"User":"anna","WorkingDir":"/tmp"})");
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
                "containers":[{"name":"main","image":"app:1","env":[{"name":"SIZE","value":"$(COLOR)ish"}]}]}})");
  const Event end = wait_finished();
  EXPECT_EQ(output(tag_), "blue $(COLOR)ish 1000 100 /tmp of the image\n")
      << "manifests do not know the image's variables";
  EXPECT_EQ(phase(end), "Succeeded");
  EXPECT_EQ(exit_code(end), 0);
  EXPECT_EQ(container(end).string_at("image"), "app:1");
  EXPECT_TRUE(container(end).string_at("imageID").starts_with("sha256:"));
}

TEST_F(ContainerRuntime, ArgsReplaceTheArgumentsOfTheImageOnly) {
  import({layer_of(busybox_entries())}, "app:1", R"({"Env":["PATH=/bin"],"Entrypoint":["echo","<"],"Cmd":["of it"]})");
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
                "containers":[{"name":"main","image":"app:1","args":["mine",">"]}]}})");
  wait_finished();
  EXPECT_EQ(output(tag_), "< mine >\n");
}

TEST_F(ContainerRuntime, SeesItsImageAndItsOwnProcessesAlone) {
  run(tag_, container_pod("echo $PPID; ls /; ls /proc | grep -c '^[0-9]'; touch /own && echo wrote"));
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  const std::string text = output(tag_);
  EXPECT_TRUE(text.starts_with("0\nbin\ndev\netc\n")) << text;
  EXPECT_TRUE(text.ends_with("wrote\n")) << text;
  EXPECT_FALSE(fs::exists("/own"));
}

TEST_F(ContainerRuntime, EachRunBeginsWithTheImage) {
  longest_backoff_ms_ = 1;
  run(tag_, container_pod("ls /; touch /left; exit 3", "", "OnFailure"));
  wait_for([](const Event& event) {
    const Json* restarts = event.kind == "status" ? container(event).find("restartCount") : nullptr;
    return restarts != nullptr && restarts->as_int() >= 2;
  });
  EXPECT_EQ(output(tag_).find("left"), std::string::npos) << output(tag_);
}

TEST_F(ContainerRuntime, IsNamedByItsRuntimeAndTheIdThatItHasThere) {
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"OnFailure","hostNetwork":true,
      "volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"first","image":"busybox:1","command":["true"]}],
      "containers":[{"name":"main","image":"busybox:1","volumeMounts":[{"name":"v","mountPath":"/v"}],
       "command":["sh","-c","test -e /v/once && exit 0; touch /v/once; exit 3"]}]}})");
  const Event end = wait_finished();
  const std::string id = fs::path(machine_->runtime).filename().string() + "://u1_1.5.main";
  const Json& main = container(end);
  EXPECT_EQ(main.string_at("containerID"), id);
  for (const char* state : {"state", "lastState"}) {
    EXPECT_EQ(main.find(state)->find("terminated")->string_at("containerID"), id) << state;
  }
  EXPECT_TRUE(end.pod_status.find("initContainerStatuses")->as_array()[0].string_at("containerID").ends_with("first"));
}

TEST_F(ContainerRuntime, ACommandOfTheMachineRunsInTheContainerOfTheIdThatIsTold) {
  run(tag_, container_pod("echo up; sleep 1000"));
  const Event running = wait_running();
  const std::string id = container(running).string_at("containerID");
  const std::string keeper = std::to_string(keepers(tag_).front());
  const std::string list = "nsenter -t " + keeper + " -m " + machine_->runtime + " --root " + directory(tag_) +
                           kSandboxDirectory + "/runtime state " + id.substr(id.find("://") + 3) + " >" + root_ +
                           "/state";
  EXPECT_EQ(std::system(list.c_str()), 0) << running.pod_status.dump();
  EXPECT_NE(read(root_ + "/state").find("running"), std::string::npos) << read(root_ + "/state");
}

TEST_F(ContainerRuntime, ExitCodesAndSignalsAreToldAsTheyAre) {
  run(tag_, container_pod("exit 42"));
  Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 42) << end.pod_status.dump();
  EXPECT_EQ(phase(end), "Failed");
  const Tag other{"u2", {1, 6}};
  run(other, container_pod("sleep 1000 & kill -USR1 $!; wait $!"));
  end = wait_for([&](const Event& event) { return event.finished && event.tag == other; });
  EXPECT_EQ(exit_code(end), 138);
}

TEST_F(ContainerRuntime, IsStoppedByTheSignalOfItsImage) {
  import(
      {layer_of(busybox_entries())}, "app:1",
      R"({"Env":["PATH=/bin"],"Cmd":["sh","-c","trap 'echo told > /out/told; exit 5' USR2; echo up; sleep 1000 & wait"],
             "StopSignal":"SIGUSR2"})");
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
                "volumes":[{"name":"out","hostPath":{"path":")" +
                root_ + R"("}}],
                "containers":[{"name":"main","image":"app:1","volumeMounts":[{"name":"out","mountPath":"/out"}]}]}})");
  run_while([&] { return output(tag_).empty(); });
  stop(tag_, 20'000);
  EXPECT_EQ(fs::file_size(root_ + "/told"), 5U);
}

TEST_F(ContainerRuntime, WhatCannotBeRunIsToldByTheRuntimesWords) {
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
                "containers":[{"name":"main","image":"busybox:1","command":["/no/such"]}]}})");
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 128);
  const Json& terminated = *container(end).find("state")->find("terminated");
  EXPECT_EQ(terminated.string_at("reason"), "StartError");
  EXPECT_NE(terminated.string_at("message").find("/no/such"), std::string::npos) << terminated.dump();
}

TEST_F(ContainerRuntime, AStopKillsWhatIgnoresItAndLeavesNothing) {
  run(tag_, container_pod("trap '' TERM; sleep 1000 & sleep 1000 & echo up; while :; do sleep 1; done"));
  wait_running();
  run_while([&] { return output(tag_).empty(); });
  stop(tag_, 0);
  EXPECT_FALSE(fs::exists(directory(tag_)));
  EXPECT_EQ(PodCgroup::names_below(cgroup_of_node("test", node_)), std::vector<std::string>());
}

TEST_F(ContainerRuntime, WhenItsKeeperDiesNothingRunsOnUnseen) {
  run(tag_, container_pod("echo up; sleep 1000"));
  run_while([&] { return output(tag_).empty(); });
  kill(keepers(tag_).front(), SIGKILL);
  const Event end = wait_finished();
  EXPECT_EQ(end.pod_status.string_at("reason"), "KeeperLost");
  EXPECT_EQ(PodCgroup(cgroup_of_node("test", node_) + "/u1@1.5").kill().value(), 0);
}

TEST_F(ContainerRuntime, APodWhoseKeeperDiesRunsAgainUnderAnother) {
  run(tag_, container_pod("echo up; sleep 1000", "", "Always"));
  run_while([&] { return output(tag_).empty(); });
  kill(keepers(tag_).front(), SIGKILL);
  wait_for([](const Event& event) {
    return event.kind == "status" && phase(event) == "Running" && container(event).find("restartCount")->as_int() == 1;
  });
  run_while([&] { return output(tag_) != "up\nup\n"; });
}

TEST_F(ContainerRuntime, ALostDirectoryDoesNotHideWhatRuns) {
  run(tag_, container_pod("echo up; sleep 1000"));
  run_while([&] { return output(tag_).empty(); });
  kill(keepers(tag_).front(), SIGKILL);
  wait_finished();
  // As after a lost state directory: no keeper, no directory, only the group.
  const std::string group = cgroup_of_node("test", node_) + "/u9@1.9";
  for (const char* hierarchy : {"", "/pids", "/unified"}) {
    if (fs::exists(std::string(kCgroupRoot) + hierarchy + "/cgroup.procs")) {
      fs::create_directories(std::string(kCgroupRoot) + hierarchy + group);
    }
  }
  const std::vector<Tag> tags = top().list().value();
  EXPECT_NE(std::find(tags.begin(), tags.end(), Tag{"u9", {1, 9}}), tags.end());
}

TEST_F(ContainerRuntime, ItsLastMessageIsTheOneThatItWrote) {
  run(tag_, container_pod("echo -n 'no disk' > /dev/termination-log; exit 1"));
  const Event end = wait_finished();
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("message"), "no disk");
}

TEST_F(ContainerRuntime, AContainerMayBeCalledLikeAFileOfItsPod) {
  for (const char* name : {"hosts", "shm", "runtime", "bundles"}) {
    const Tag tag{name, {1, 7}};
    Json manifest = Json::parse(container_pod("ls /dev/shm; test -f /etc/hosts")).value();
    manifest.find("spec")->find("containers")->as_array()[0].set("name", name);
    run(tag, manifest.dump());
    const Event end = wait_for([&](const Event& event) { return event.finished && event.tag == tag; });
    EXPECT_EQ(phase(end), "Succeeded") << end.pod_status.dump();
    EXPECT_EQ(read(directory(tag) + "/" + log_name(name)).find("config.json"), std::string::npos);
  }
}

TEST_F(ContainerRuntime, WhatClaimsToBeAKeeperInAContainerIsNone) {
  run(tag_, container_pod("echo up; exec sleep 1000"));
  run_while([&] { return output(tag_).empty(); });
  // As a process in a pod's group, whatever it says of itself.
  const pid_t impostor = fork();
  if (impostor == 0) {
    for (const char* hierarchy : {"", "/pids"}) {
      std::ofstream group(std::string(kCgroupRoot) + hierarchy + cgroup_of_node("test", node_) +
                          "/u1@1.5/main/cgroup.procs");
      group << getpid() << std::flush;
    }
    prctl(PR_SET_NAME, kKeeperName);
    const int tag = memfd_create(kKeeperName, 0);
    dup2(tag, kKeeperTagFd);
    if (ftruncate(kKeeperTagFd, off_t{1} << 40) != 0) _exit(1);
    for (;;) pause();
  }
  run_while([&] { return read("/proc/" + std::to_string(impostor) + "/comm") != std::string(kKeeperName) + "\n"; });
  EXPECT_EQ(keepers(tag_).size(), 1u);
  EXPECT_EQ(top().list().value(), std::vector<Tag>{tag_});
  stop(tag_, 0);
  int status = 0;
  EXPECT_EQ(waitpid(impostor, &status, 0), impostor) << "it ends with the group that it is in";
}

TEST_F(ContainerRuntime, AVolumeInAVolumeIsSeenWhateverTheirOrder) {
  run(tag_, container_pod(
                "ls /a/b; ls /etc/hosts; df /dev/shm | grep -c shm",
                R"("volumeMounts":[{"name":"w","mountPath":"/a/b/"},{"name":"v","mountPath":"/a"},
                                             {"name":"v","mountPath":"/etc"}],)",
                "Never",
                R"("volumes":[{"name":"v","emptyDir":{}},{"name":"w","hostPath":{"path":")" + root_ + R"(/made"}}],)"));
  fs::create_directories(root_ + "/made/inner");
  const Event end = wait_finished();
  EXPECT_EQ(output(tag_), "inner\n/etc/hosts\n1\n") << end.pod_status.dump();
}

TEST_F(ContainerRuntime, MoreMemoryThanItsLimitEndsItAsOOMKilled) {
  run(tag_, container_pod("exec dd if=/dev/zero of=/dev/null bs=64M count=1",
                          R"("resources":{"limits":{"memory":"16Mi"}},)"));
  const Event end = wait_finished();
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("reason"), "OOMKilled")
      << end.pod_status.dump();
}

TEST_F(ContainerRuntime, MoreMemoryThanThePodsLimitEndsAContainerWithoutOneAsOOMKilled) {
  run(tag_, container_pod("exec dd if=/dev/zero of=/dev/null bs=64M count=1", "", "Never",
                          R"("resources":{"limits":{"memory":"16Mi"}},)"));
  const Event end = wait_finished();
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("reason"), "OOMKilled")
      << end.pod_status.dump();
}

TEST_F(ContainerRuntime, AForkBombStaysWithinItsLimitOfProcesses) {
  settings_.pids_limit = 50;
  containers_.reset();
  open_containers();
  run(tag_, container_pod("i=0; while test $i -lt 100; do sleep 1000 & i=$((i+1)); done; echo all of them"));
  const Event end = wait_finished();
  EXPECT_EQ(output(tag_).find("all of them"), std::string::npos);
  EXPECT_EQ(phase(end), "Failed");
}

TEST_F(ContainerRuntime, RunsAsTheUserOfTheManifestWithoutCapabilities) {
  run(tag_, container_pod("id -u; id -g; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status",
                          R"("securityContext":{"runAsUser":1234,"runAsGroup":99,"allowPrivilegeEscalation":false,
                              "capabilities":{"drop":["ALL"]}},)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "1234\n99\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n");
}

TEST_F(ContainerRuntime, AnImageOfRootDoesNotRunWhereThatIsForbidden) {
  run(tag_, container_pod("echo ran", R"("securityContext":{"runAsNonRoot":true},)"));
  const Event waiting = wait_for([](const Event& event) {
    return event.kind == "status" && event.pod_status.dump().find("CreateContainerConfigError") != std::string::npos;
  });
  EXPECT_NE(waiting.pod_status.dump().find("runAsNonRoot"), std::string::npos) << waiting.pod_status.dump();
  EXPECT_EQ(output(tag_), "");
}

TEST_F(ContainerRuntime, AReadOnlyRootCannotBeWritten) {
  run(tag_, container_pod("touch /x 2>&1 || echo refused", R"("securityContext":{"readOnlyRootFilesystem":true},)"));
  wait_finished();
  EXPECT_TRUE(output(tag_).ends_with("refused\n")) << output(tag_);
}

TEST_F(ContainerRuntime, ProbesAndHooksRunInTheContainer) {
  run(tag_, container_pod("echo up; while :; do sleep 1; done",
                          R"("readinessProbe":{"exec":{"command":["test","-f","/ready"]},"periodSeconds":1},
                              "lifecycle":{"postStart":{"exec":{"command":["touch","/ready"]}}},)"));
  const Event ready = wait_for(
      [](const Event& event) { return event.kind == "status" && *container(event).find("ready") == Json(true); });
  EXPECT_EQ(phase(ready), "Running");
}

TEST_F(ContainerRuntime, ACommandOfAProbeThatTakesTooLongIsKilled) {
  run(tag_, container_pod("while :; do sleep 1; done",
                          R"("livenessProbe":{"exec":{"command":["sleep","1000"]},"periodSeconds":1,"timeoutSeconds":1,
                              "failureThreshold":1},)",
                          "Never", R"("terminationGracePeriodSeconds":1,)"));
  const Event end = wait_finished();
  EXPECT_NE(container(end).find("state")->find("terminated")->string_at("message").find("liveness probe"),
            std::string::npos)
      << end.pod_status.dump();
}

TEST_F(ContainerRuntime, APodHasItsOwnNetworkAddressAndName) {
  make_network();
  const std::string manifest =
      R"({"metadata":{"name":"web-0","namespace":"default"},"spec":{"restartPolicy":"Never","containers":[{"name":"main",
          "image":"busybox:1","command":["sh","-c","hostname; cat /etc/hostname; ip -4 -o addr show eth0; cat /etc/hosts"]}]}})";
  run(tag_, manifest);
  const Event end = wait_finished();
  const std::string address = end.pod_status.string_at("podIP");
  ASSERT_FALSE(address.empty()) << end.pod_status.dump();
  const std::string text = output(tag_);
  EXPECT_TRUE(text.starts_with("web-0\nweb-0\n")) << text;
  EXPECT_NE(text.find("inet " + address + "/24"), std::string::npos) << text;
  EXPECT_NE(text.find(address + "\tweb-0\n"), std::string::npos) << text;
}

// As a kubelet, which asks it at status.podIP.
TEST_F(ContainerRuntime, APodWithANetworkOfItsOwnIsProbedAtItsAddress) {
  make_network();
  const auto pod_listening_at = [](const std::string& address) {
    return R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never",
        "terminationGracePeriodSeconds":1,"containers":[{"name":"main","image":"busybox:1",
        "env":[{"name":"POD_IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}],
        "livenessProbe":{"tcpSocket":{"port":8080},"periodSeconds":1,"failureThreshold":3},
        "readinessProbe":{"httpGet":{"port":8080},"periodSeconds":1},
        "command":["sh","-c","echo up >/tmp/index.html; exec busybox httpd -f -h /tmp -p )" +
           address + R"(:8080"]}]}})";
  };
  run(tag_, pod_listening_at("$POD_IP"));
  wait_for([](const Event& event) { return event.kind == "status" && *container(event).find("ready") == Json(true); });
  stop(tag_, 0);
  const Tag other{"u2", {1, 2}};
  run(other, pod_listening_at("127.0.0.1"));
  const Event end = wait_finished();
  EXPECT_NE(end.pod_status.dump().find("failed liveness probe"), std::string::npos) << end.pod_status.dump();
}

TEST_F(ContainerRuntime, ContainersSeeAndSignalEachOthersProcessesIfTheyShareThem) {
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
      "shareProcessNamespace":true,"containers":[{"name":"beside","image":"busybox:1","command":["sleep","4321"]},
      {"name":"main","image":"busybox:1","command":["sh","-c",
       "until ps | grep -q '[s]leep 4321'; do true; done; cat /proc/1/comm; set -- $$(ps | grep '[s]leep 4321'); kill $$1"]}]}})");
  const Event end = wait_finished();
  EXPECT_EQ(output(tag_), "berth-pause\n") << "the first process belongs to no container; " << end.pod_status.dump();
  const std::string status = end.pod_status.dump();
  EXPECT_NE(status.find(R"("signal":15)"), std::string::npos) << status;
  EXPECT_NE(status.find(R"("exitCode":0)"), std::string::npos) << status;
}

TEST_F(ContainerRuntime, AContainerThatSharesProcessesMayNotLookIntoTheFirstOne) {
  const std::string manifest = R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never",
      "hostNetwork":true,"shareProcessNamespace":true,"containers":[{"name":"main","image":"busybox:1",
      "securityContext":{"capabilities":{"add":["SYS_PTRACE"]}},"command":["ls","/proc/1/root/"]}]}})";
  top().prepare(tag_, manifest, {});
  const Event refused = wait_kind("prepared");
  EXPECT_NE(refused.status.message().find("capabilities.add: SYS_PTRACE"), std::string::npos)
      << refused.status.message();
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
      "shareProcessNamespace":true,"containers":[{"name":"main","image":"busybox:1",
      "command":["sh","-c","ls /proc/1/root/ 2>&1 && echo in || echo out"]}]}})");
  wait_finished();
  EXPECT_TRUE(output(tag_).ends_with("out\n")) << output(tag_);
}

TEST_F(ContainerRuntime, WithoutSharingAContainerSeesItsOwnProcessesOnly) {
  run(tag_, container_pod("cat /proc/1/comm; ps | grep -c '[b]erth-pause'"));
  wait_finished();
  EXPECT_EQ(output(tag_), "sh\n0\n");
}

TEST_F(ContainerRuntime, AProcessNamespaceThatHasLostItsFirstProcessIsMadeAgain) {
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"OnFailure","hostNetwork":true,
      "shareProcessNamespace":true,"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"main","image":"busybox:1",
       "volumeMounts":[{"name":"v","mountPath":"/v"}],
       "command":["sh","-c","echo run; test -e /v/once && exit 0; touch /v/once; exec sleep 4321"]}]}})");
  run_while([&] { return output(tag_).empty(); });
  const std::vector<pid_t> first = children_of(keepers(tag_).front(), "berth-pause");
  ASSERT_EQ(first.size(), 1u);
  kill(first.front(), SIGKILL);
  EXPECT_EQ(wait_finished().pod_status.string_at("phase"), "Succeeded");
}

// A runtime whose call number `killed` is killed, before or after it has done what it was called for.
std::string dying_runtime(const std::string& runtime, const std::string& calls, int killed, bool is_before) {
  const std::string die = " [ $n = " + std::to_string(killed) + " ] && kill -9 $$\n";
  return "#!/bin/sh\nn=$(($(cat " + calls + ") + 1)); echo $n >" + calls + "\n" + (is_before ? die : "") + runtime +
         " \"$@\"; code=$?\n" + (is_before ? "" : die) + "exit $code\n";
}

TEST_F(ContainerRuntime, WhicheverCallOfTheRuntimeIsKilledThePodRunsInTheEndAndLeavesNothing) {
  const std::string runtime = machine_->runtime, wrapper = root_ + "/runtime", calls = root_ + "/calls";
  machine_->runtime = wrapper;
  runtime_->planner().set_containers(*machine_, *containers_);
  for (int killed = 1; killed <= 5; ++killed) {
    for (const bool is_before : {true, false}) {
      std::ofstream(wrapper) << dying_runtime(runtime, calls, killed, is_before);
      std::ofstream(calls) << "0\n";
      fs::permissions(wrapper, fs::perms::owner_all);
      const Tag tag{"u-" + std::to_string(killed) + (is_before ? "-before" : "-after"), tag_.epoch};
      run(tag, container_pod("echo ran", "", "OnFailure"));
      wait_for([&](const Event& event) { return event.finished && event.tag == tag; });
      EXPECT_NE(output(tag).find("ran\n"), std::string::npos) << tag.uid;
      stop(tag, 0);
    }
  }
}

TEST_F(ContainerRuntime, TheAddressOfAPodWhoseKeeperDiedIsFreeAgain) {
  make_network();
  const std::string manifest =
      R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","containers":[{"name":"main",
          "image":"busybox:1","command":["sh","-c","echo up; sleep 1000"]}]}})";
  run(tag_, manifest);
  run_while([&] { return output(tag_).empty(); });
  kill(keepers(tag_).front(), SIGKILL);
  wait_finished();
  stop(tag_, 0);
  std::string left;
  for (const auto& entry : fs::recursive_directory_iterator(root_ + "/addresses")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("10.")) left += name + " ";
  }
  EXPECT_EQ(left, "");
}

// A plugin that looked at the keeper's network while the keeper was in the machine's, to start it, took the machine's
// loopback interface down.
TEST_F(ContainerRuntime, APluginIsGivenThePodsNetworkWhereverTheKeeperIsMeanwhile) {
  const std::string plugin = root_ + "/plugins/record";
  fs::create_directories(root_ + "/plugins");
  std::ofstream(plugin) << "#!/bin/sh\ncat >/dev/null\necho $CNI_NETNS $(stat -Lc %i $CNI_NETNS) >>" + root_ +
                               "/seen\necho '{\"cniVersion\":\"1.0.0\",\"ips\":[{\"address\":\"10.1.2.3/24\"}]}'\n";
  fs::permissions(plugin, fs::perms::owner_all);
  std::ofstream(settings_.cni_config_dir + "/10-record.conflist")
      << R"({"cniVersion":"1.0.0","name":"record","plugins":[{"type":"record"}]})";
  machine_->settings.cni_plugin_dirs = {root_ + "/plugins"};
  runtime_->planner().set_containers(*machine_, *containers_);
  run(tag_,
      R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","containers":[{"name":"main",
      "image":"busybox:1","command":["readlink","/proc/self/ns/net"]}]}})");
  wait_finished();
  std::ifstream seen(root_ + "/seen");
  int calls = 0;
  for (std::string path, inode; seen >> path >> inode; ++calls) {
    EXPECT_NE(path.find("/fd/"), std::string::npos) << path << " follows the keeper";
    EXPECT_EQ("net:[" + inode + "]\n", output(tag_));
  }
  EXPECT_EQ(calls, 2) << "to add the pod, and to remove it";
}

TEST_F(ContainerRuntime, WithoutANetworkAPodNeedsThatOfTheMachine) {
  top().prepare(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"containers":[{"name":"main",
                          "image":"busybox:1"}]}})",
                {});
  const Event refused = wait_kind("prepared");
  EXPECT_FALSE(refused.status.is_success());
  EXPECT_NE(refused.status.message().find("hostNetwork"), std::string::npos) << refused.status.message();
}

}  // namespace
}  // namespace berth
