// Volumes and the environment of pods that run as containers.
#include <gtest/gtest.h>

#include <sys/mount.h>

#include <fstream>
#include <string>
#include <utility>

#include "tests/unit/containers/container_fixture.h"

namespace berth {
namespace {

class ContainerVolumes : public ContainerTest {
 protected:
  // A pod with one volume "v", mounted at /v of its only container.
  static std::string pod_with(const std::string& volume, const std::string& script, const std::string& of_mount = "",
                              const std::string& more = "") {
    return container_pod(script, R"("volumeMounts":[{"name":"v","mountPath":"/v")" + of_mount + "}]," + more, "Never",
                         R"("volumes":[{"name":"v",)" + volume + "}],");
  }
};

TEST_F(ContainerVolumes, ContainersOfAPodShareADirectoryOfItsOwn) {
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
                "volumes":[{"name":"v","emptyDir":{}}],
                "initContainers":[{"name":"first","image":"busybox:1","command":["sh","-c","echo kept > /a/note"],
                  "volumeMounts":[{"name":"v","mountPath":"/a"}]}],
                "containers":[{"name":"main","image":"busybox:1","command":["sh","-c","cat /b/note; touch /b/x 2>&1 || echo no"],
                  "volumeMounts":[{"name":"v","mountPath":"/b","readOnly":true}]}]}})");
  wait_finished();
  EXPECT_EQ(output(tag_), "kept\ntouch: /b/x: Read-only file system\nno\n");
}

TEST_F(ContainerVolumes, AVolumeInMemoryIsAsLargeAsTheMemoryOfThePod) {
  run(tag_, pod_with(R"("emptyDir":{"medium":"Memory"})", "grep ' /v ' /proc/mounts", "",
                     R"("resources":{"limits":{"memory":"64Mi"}},)"));
  wait_finished();
  EXPECT_NE(output(tag_).find("size=65536k"), std::string::npos) << output(tag_);
  EXPECT_NE(output(tag_).find(" /v tmpfs"), std::string::npos) << output(tag_);
}

TEST_F(ContainerVolumes, ABoundVolumeIsSeenWhereTheManifestWantsItAndOutlivesThePod) {
  fs::create_directories(root_ + "/disk");
  run(tag_,
      pod_with(R"("persistentVolumeClaim":{"claimName":"c"})", "echo data > /v/sub/file", R"(,"subPath":"deep")",
               R"("lifecycle":{},)"),
      {{"default/c", "pv", root_ + "/disk"}});
  Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 1) << "there is no directory sub in it";
  stop(tag_, 0);
  const Tag other{"u2", {1, 6}};
  run(other, pod_with(R"("persistentVolumeClaim":{"claimName":"c"})", "echo data > /v/file", R"(,"subPath":"deep")"),
      {{"default/c", "pv", root_ + "/disk"}});
  end = wait_for([&](const Event& event) { return event.finished && event.tag == other; });
  EXPECT_EQ(exit_code(end), 0);
  EXPECT_EQ(read(root_ + "/disk/deep/file"), "data\n");
}

TEST_F(ContainerVolumes, APathOfTheMachineCanBeSeenReadOnly) {
  fs::create_directories(root_ + "/there");
  std::ofstream(root_ + "/there/file") << "of the machine";
  run(tag_, pod_with(R"("hostPath":{"path":")" + root_ + R"(/there","type":"Directory"})",
                     "cat /v/file; touch /v/x 2>/dev/null || echo ' kept'", R"(,"readOnly":true)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "of the machine kept\n");
}

TEST_F(ContainerVolumes, AVolumeBelongsToTheGroupThatThePodAsksFor) {
  run(tag_, container_pod("touch /v/own; ls -ln /v | grep own; id -G",
                          R"("volumeMounts":[{"name":"v","mountPath":"/v"}],)", "Never",
                          R"("volumes":[{"name":"v","emptyDir":{}}],
                             "securityContext":{"runAsUser":1000,"runAsGroup":1001,"fsGroup":2000},)"));
  wait_finished();
  EXPECT_NE(output(tag_).find("1000     2000"), std::string::npos) << output(tag_);
  EXPECT_NE(output(tag_).find("1001 2000"), std::string::npos) << output(tag_);
}

TEST_F(ContainerVolumes, APodKnowsItselfByItsEnvironmentAndFiles) {
  run(tag_, R"({"metadata":{"name":"web","namespace":"default","labels":{"app":"w"}},"spec":{"restartPolicy":"Never",
                "hostNetwork":true,
                "volumes":[{"name":"v","downwardAPI":{"items":[{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}}]}}],
                "containers":[{"name":"main","image":"busybox:1","resources":{"limits":{"memory":"64Mi","cpu":"1500m"}},
                  "env":[{"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},
                         {"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}},
                         {"name":"MEMORY","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"1Mi"}}}],
                  "volumeMounts":[{"name":"v","mountPath":"/v"}],
                  "command":["sh","-c","echo $POD $CPU $MEMORY; cat /v/labels"]}]}})");
  const Event end = wait_finished();
  EXPECT_EQ(output(tag_), "web 2 64\napp=\"w\"\n") << end.pod_status.dump();
}

TEST_F(ContainerVolumes, AChangedObjectReachesTheFilesOfARunningPod) {
  objects_.made[{PodObjectKind::config_map, "settings"}] = {{"color", "blue"}};
  objects_.made[{PodObjectKind::secret, "token"}] = {{"key", std::string("s\0t", 3)}};
  run(tag_, R"json({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
                "volumes":[{"name":"v","configMap":{"name":"settings"}},{"name":"s","secret":{"secretName":"token"}}],
                "containers":[{"name":"main","image":"busybox:1",
                  "env":[{"name":"COLOR","valueFrom":{"configMapKeyRef":{"name":"settings","key":"color"}}}],
                  "volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"s","mountPath":"/s"}],
                  "command":["sh","-c",
                    "stat -L -c %s /s/key; until grep -q red /v/color; do sleep 0.05; done; echo $COLOR then $(cat /v/color)"]}]}})json");
  run_while([&] { return output(tag_).empty(); });
  objects_.made[{PodObjectKind::config_map, "settings"}] = {{"color", "red"}};
  top().objects_changed(tag_);
  wait_finished();
  EXPECT_EQ(output(tag_), "3\nblue then red\n");
  EXPECT_EQ(read(directory(tag_) + "/state.json").find("blue"), std::string::npos);
  stop(tag_, 0);
  EXPECT_TRUE(!fs::exists("/dev/shm" + root_) || fs::is_empty("/dev/shm" + root_)) << "objects of a pod that is gone";
}

TEST_F(ContainerVolumes, APodStartsOnceItsObjectHasCome) {
  const std::string manifest = container_pod(
      "echo $KEY", R"("env":[{"name":"KEY","valueFrom":{"configMapKeyRef":{"name":"settings","key":"k"}}}],)");
  run(tag_, manifest);
  wait_for([](const Event& event) {
    return event.kind == "status" && event.pod_status.dump().find("CreateContainerConfigError") != std::string::npos;
  });
  objects_.made[{PodObjectKind::config_map, "settings"}] = {{"k", "come"}};
  top().objects_changed(tag_);
  wait_finished();
  EXPECT_EQ(output(tag_), "come\n");
  EXPECT_TRUE(fs::exists(directory(tag_) + "/containers/main/1")) << "each attempt made a directory of its own";
}

TEST_F(ContainerVolumes, APodWaitsForAnObjectThatIsNotThere) {
  const std::string manifest =
      container_pod("true", R"("env":[{"name":"KEY","valueFrom":{"configMapKeyRef":{"name":"settings","key":"k"}}}],)");
  ASSERT_TRUE(top().start(tag_, manifest, {}));
  top().go(tag_);
  const Event waiting = wait_for([](const Event& event) {
    if (event.kind != "status") return false;
    const Json* state = container(event).find("state")->find("waiting");
    return state != nullptr && state->string_at("reason") == "CreateContainerConfigError";
  });
  EXPECT_NE(waiting.pod_status.dump().find("configmap \\\"settings\\\" not found"), std::string::npos)
      << waiting.pod_status.dump();
}

TEST_F(ContainerVolumes, AKilledKeepersVolumesOnDiskAreThereForTheNext) {
  run(tag_, container_pod("cat /v/note 2>/dev/null && exit 0; echo first > /v/note; echo up; sleep 1000",
                          R"("volumeMounts":[{"name":"v","mountPath":"/v"}],)", "OnFailure",
                          R"("volumes":[{"name":"v","emptyDir":{}}],)"));
  run_while([&] { return output(tag_).empty(); });
  kill(keepers(tag_).front(), SIGKILL);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_EQ(output(tag_), "up\nfirst\n");
}

TEST_F(ContainerVolumes, ASubPathThatLeadsOutOfItsVolumeIsNotFollowed) {
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
                "volumes":[{"name":"v","emptyDir":{}}],
                "initContainers":[{"name":"first","image":"busybox:1","command":["/bin/busybox","ln","-s","/","/a/out"],
                  "volumeMounts":[{"name":"v","mountPath":"/a"}]}],
                "containers":[{"name":"main","image":"busybox:1","command":["ls","/b"],
                  "volumeMounts":[{"name":"v","mountPath":"/b","subPath":"out"}]}]}})");
  const Event end = wait_for([](const Event& event) {
    return event.finished || event.pod_status.dump().find("subPath") != std::string::npos;
  });
  EXPECT_NE(end.pod_status.dump().find("subPath"), std::string::npos) << end.pod_status.dump();
  EXPECT_EQ(output(tag_).find("proc"), std::string::npos) << output(tag_);
}

// A directory whose mounts other mount namespaces may follow, wherever the tests run; unmounted with all in it.
class SharedDirectory {
 public:
  explicit SharedDirectory(std::string path) : path_(std::move(path)) {
    fs::create_directories(path_);
    EXPECT_EQ(mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr), 0);
    EXPECT_EQ(mount(nullptr, path_.c_str(), nullptr, MS_SHARED, nullptr), 0);
  }
  ~SharedDirectory() { EXPECT_EQ(umount2(path_.c_str(), MNT_DETACH), 0); }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;

 private:
  const std::string path_;
};

TEST_F(ContainerVolumes, ALaterMountOfTheMachineIsSeenByThoseThatAskForIt) {
  const SharedDirectory shared(root_ + "/media");
  fs::create_directories(root_ + "/media/disk");
  run(tag_, container_pod("echo up; until test -e /follows/disk/mark; do sleep 0.05; done; ls /alone/disk; echo seen",
                          R"("volumeMounts":[{"name":"v","mountPath":"/follows","mountPropagation":"HostToContainer"},
                                             {"name":"v","mountPath":"/alone"}],)",
                          "Never", R"("volumes":[{"name":"v","hostPath":{"path":")" + root_ + R"(/media"}}],)"));
  run_while([&] { return output(tag_).empty(); });
  ASSERT_EQ(mount("disk", (root_ + "/media/disk").c_str(), "tmpfs", 0, nullptr), 0);
  std::ofstream(root_ + "/media/disk/mark") << "x";
  wait_finished();
  EXPECT_EQ(output(tag_), "up\nseen\n") << "without mountPropagation there is nothing in it";
  stop(tag_, 0);
}

}  // namespace
}  // namespace berth
