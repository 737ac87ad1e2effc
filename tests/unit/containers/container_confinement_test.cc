// What containers cannot do and reach, and what of the machine they are given if they ask for it.
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/unit/containers/container_fixture.h"

namespace berth {
namespace {

class ContainerConfinement : public ContainerTest {
 protected:
  static std::string with_profile(const std::string& name) {
    return R"("securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":")" + name + R"("}},)";
  }
  std::string refusal_of(const std::string& more) {
    top().prepare(tag_, container_pod("true", more), {});
    return wait_kind("prepared").status.message();
  }
};

TEST_F(ContainerConfinement, AProfileOfTheMachineForbidsSystemCalls) {
  fs::create_directories(root_ + "/seccomp/site");
  std::ofstream(root_ + "/seccomp/site/no-mkdir.json") << R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[
      {"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO","errnoRet":1}]})";
  run(tag_, container_pod("mkdir /made 2>&1; touch /touched && echo touched", with_profile("site/no-mkdir.json")));
  const Event end = wait_finished();
  EXPECT_EQ(output(tag_), "mkdir: can't create directory '/made': Operation not permitted\ntouched\n")
      << end.pod_status.dump();
}

TEST_F(ContainerConfinement, AProfileThatIsNotThereOrElsewhereIsRefused) {
  const std::string context = "spec.containers[0].securityContext.seccompProfile";
  EXPECT_EQ(refusal_of(with_profile("missing.json")),
            context + ": there is no profile " + root_ + "/seccomp/missing.json: create it");
  std::ofstream(root_ + "/outside.json") << R"({"defaultAction":"SCMP_ACT_ALLOW"})";
  for (const std::string& name : {std::string("../outside.json"), root_ + "/outside.json"}) {
    EXPECT_EQ(refusal_of(with_profile(name)), context + ".localhostProfile: must be a relative path without ..");
  }
}

// The runtime follows a link of the image as the container would: below its root.
TEST_F(ContainerConfinement, ALinkOfTheImageLeadsAMountWithinItsRoot) {
  std::vector<MadeEntry> entries = busybox_entries();
  entries.push_back(folder("of-the-image"));
  entries.push_back(symbolic_link("absolute", "/of-the-image"));
  entries.push_back(symbolic_link("up", "../../../../../../../../../../of-the-image"));
  import({layer_of(entries)}, "linked:1");
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
      "volumes":[{"name":"v","emptyDir":{}},{"name":"w","emptyDir":{}}],"containers":[{"name":"main","image":"linked:1",
       "terminationMessagePath":"/up/message","volumeMounts":[{"name":"v","mountPath":"/absolute/a"},{"name":"w","mountPath":"/up/b"}],
       "command":["sh","-c","echo of it > /absolute/a/note; cat /of-the-image/a/note; ls /of-the-image; echo why > /up/message"]}]}})");
  const Event end = wait_finished();
  EXPECT_EQ(output(tag_), "of it\na\nb\nmessage\n") << end.pod_status.dump();
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("message"), "why\n");
}

// Where the image has nothing of that name, runc makes a directory below its root, and crun refuses to start the
// container. In the machine nothing is made, nor hidden.
TEST_F(ContainerConfinement, ALinkOfTheImageDoesNotLeadAMountOutOfItsRoot) {
  const std::string outside = root_ + "/outside";
  fs::create_directories(outside);
  std::vector<MadeEntry> entries = busybox_entries();
  entries.push_back(symbolic_link("settings", "/etc"));
  entries.push_back(symbolic_link("absolute", outside));
  entries.push_back(symbolic_link("up", "../../../../../../../../../.." + outside));
  import({layer_of(entries)}, "hostile:1");
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
      "volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"main","image":"hostile:1",
       "terminationMessagePath":"/up/message","volumeMounts":[{"name":"v","mountPath":"/settings"},
        {"name":"v","mountPath":"/absolute/a"},{"name":"v","mountPath":"/up/b"}],
       "command":["sh","-c","echo of it > /settings/note; cat /etc/note /absolute/a/note /up/b/note"]}]}})");
  const Event end = wait_finished();
  if (container(end).find("state")->find("terminated")->string_at("reason") != "StartError") {
    EXPECT_EQ(output(tag_), "of it\nof it\nof it\n") << end.pod_status.dump();
  }
  EXPECT_TRUE(fs::is_empty(outside)) << fs::directory_iterator(outside)->path();
  EXPECT_FALSE(fs::exists("/etc/note"));
}

TEST_F(ContainerConfinement, ItsLastMessageIsReadFromThePathOfTheManifestAlone) {
  run(tag_, container_pod("test -e /dev/termination-log && echo both; echo -n 'no disk' > /tmp/deep/why; exit 1",
                          R"("terminationMessagePath":"/tmp/deep/why",)"));
  const Event end = wait_finished();
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("message"), "no disk") << end.pod_status.dump();
  EXPECT_EQ(output(tag_), "");
}

TEST_F(ContainerConfinement, TheMachinesSharedMemoryIsForThoseThatAskForIt) {
  const std::string name = "berth-" + std::to_string(getpid());
  std::ofstream("/dev/shm/" + name) << "of the machine\n";
  const std::string script = "cat /dev/shm/" + name + " 2>/dev/null || echo none; readlink /proc/self/ns/ipc";
  const std::string namespace_of_machine = fs::read_symlink("/proc/self/ns/ipc").string() + "\n";
  run(tag_, container_pod(script, "", "Never", R"("hostIPC":true,)"));
  wait_finished();
  EXPECT_EQ(output(tag_), "of the machine\n" + namespace_of_machine);
  const Tag other{"u2", {1, 6}};
  run(other, container_pod(script));
  wait_for([&](const Event& event) { return event.finished && event.tag == other; });
  EXPECT_TRUE(output(other).starts_with("none\nipc:[")) << output(other);
  EXPECT_EQ(output(other).find(namespace_of_machine), std::string::npos) << output(other);
  fs::remove("/dev/shm/" + name);
}

}  // namespace
}  // namespace berth
