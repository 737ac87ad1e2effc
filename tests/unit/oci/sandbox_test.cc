// What the containers of a pod share, with a real OCI runtime.
#include "firmware-host/agent/oci/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "firmware-host/agent/oci/oci_run.h"
#include "tests/unit/oci/busybox_bundle.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class SandboxTest : public BusyboxBundle {
 protected:
  void SetUp() override {
    BusyboxBundle::SetUp();
    if (IsSkipped()) return;
    options_.directory = folder_ + "/sandbox";
    fs::create_directories(options_.directory);
    options_.hostname = "web-0";
  }

  // What a process that is the keeper of a pod prints: `keep` runs in it, once it has entered.
  std::string in_keeper(const std::function<void()>& keep) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t keeper = fork();
    if (keeper == 0) {
      output_ = ends[1];
      prctl(PR_SET_CHILD_SUBREAPER, 1);
      const Status entered = enter_sandbox(options_);
      if (entered.is_success()) {
        keep();
      } else {
        say(entered.message());
      }
      _exit(0);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    close(ends[0]);
    waitpid(keeper, nullptr, 0);
    return text;
  }
  // In the keeper: runs a container to its end.
  void run(const std::string& name, const std::string& script) {
    container_.namespaces = namespaces_in_sandbox(options_, getpid());
    container_.mounts = {shared_memory_of(options_)};
    container_.cgroup = "/" + id() + name;
    write_config(script);
    OciRun run({runtime(), folder_ + "/state", folder_, id() + name}, output_, output_);
    if (Status begun = run.begin(); !begun.is_success()) return say(begun.message());
    int status = 0;
    for (pid_t ended = 0; run.phase() != OciRun::Phase::ended && (ended = waitpid(-1, &status, 0)) > 0;) {
      run.take_exit(ended, status);
    }
    say(run.failure());
  }
  void say(const std::string& text) const { EXPECT_GE(write(output_, text.data(), text.size()), 0); }

  SandboxOptions options_;
  int output_ = -1;
};

TEST_F(SandboxTest, ContainersOfAPodShareNetworkNameAndMemoryAndNotTheirProcesses) {
  const std::string output = in_keeper([this] {
    run("a",
        "echo kept > /dev/shm/note; hostname; busybox readlink /proc/self/ns/net; busybox ps > /dev/shm/ps; busybox wc "
        "-l < /dev/shm/ps");
    run("b",
        "cat /dev/shm/note; hostname; busybox readlink /proc/self/ns/net; busybox ps > /dev/shm/ps; busybox wc -l < "
        "/dev/shm/ps");
  });
  std::array<std::string, 7> lines;
  std::istringstream text(output);
  for (std::string& line : lines) std::getline(text, line);
  const std::string processes = "3";  // with the heading: sh and ps; of a pipe, the other end may not be there yet
  EXPECT_EQ(lines, (std::array<std::string, 7>{"web-0", lines[1], processes, "kept", "web-0", lines[1], processes}));
}

TEST_F(SandboxTest, TheNetworkIsThePodsOwnWithALoopbackInterfaceThatIsUp) {
  const std::string output =
      in_keeper([this] { run("a", "busybox readlink /proc/self/ns/net; busybox ip link show lo"); });
  EXPECT_EQ(output.find(fs::read_symlink("/proc/self/ns/net").string()), std::string::npos) << output;
  EXPECT_NE(output.find("LOOPBACK,UP"), std::string::npos) << output;
}

TEST_F(SandboxTest, APodOnTheMachinesNetworkHasItsNameToo) {
  options_.host_network = true;
  const std::string output = in_keeper([this] { run("a", "busybox readlink /proc/self/ns/net; hostname"); });
  EXPECT_NE(output.find(fs::read_symlink("/proc/self/ns/net").string()), std::string::npos) << output;
  EXPECT_EQ(output.find("web-0"), std::string::npos) << output;
}

TEST_F(SandboxTest, ARootShowsTheUpperLayersFilesAndKeepsWhatIsWrittenApart) {
  fs::create_directories(folder_ + "/layer:1/etc");
  fs::create_directories(folder_ + "/layer,2/etc");
  std::ofstream(folder_ + "/layer:1/etc/name") << "lower";
  std::ofstream(folder_ + "/layer:1/etc/other") << "other";
  std::ofstream(folder_ + "/layer,2/etc/name") << "upper";
  fs::create_directories(folder_ + "/container");
  const std::string output = in_keeper([this] {
    const Status mounted = mount_root({root(), folder_ + "/layer:1", folder_ + "/layer,2"}, folder_ + "/container");
    if (!mounted.is_success()) return say(mounted.message());
    container_.root = folder_ + "/container/root";
    run("a", "cat /etc/name /etc/other; echo; echo new > /etc/name; cat /etc/name");
  });
  EXPECT_EQ(output, "upperother\nnew\n");
  EXPECT_TRUE(fs::exists(folder_ + "/container/upper/etc/name"));
  EXPECT_TRUE(fs::is_empty(folder_ + "/container/root")) << "a mount of the sandbox is seen outside";
  std::string kept;
  std::getline(std::ifstream(folder_ + "/layer,2/etc/name"), kept);
  EXPECT_EQ(kept, "upper");
}

TEST_F(SandboxTest, AnImageWithMoreLayersThanAMountCanNameIsRefused) {
  const std::string output = in_keeper([this] {
    say(mount_root(std::vector<std::string>(200, folder_ + "/a-layer-with-a-name-that-is-long"), folder_).message());
  });
  EXPECT_EQ(output, "the image has 200 layers, more than one mount can name: build it with fewer");
}

TEST_F(SandboxTest, AnImageOfAsManyLayersAsAreUsualIsMountedWhereverTheStoreIs) {
  std::vector<std::string> layers;
  for (int i = 0; i < 50; ++i) {
    layers.push_back(folder_ + "/" + std::string(64, 'a') + "/layers/" + std::string(60, 'b') + std::to_string(i));
    fs::create_directories(layers.back());
  }
  std::ofstream(layers.back() + "/top") << "seen";
  fs::create_directories(folder_ + "/container");
  const std::string output = in_keeper([&] {
    say(mount_root(layers, folder_ + "/container").message());
    std::string text;
    std::getline(std::ifstream(folder_ + "/container/root/top"), text);
    say(text + " in " + fs::current_path().string());
  });
  EXPECT_EQ(output, "seen in " + fs::current_path().string());
}

TEST_F(SandboxTest, AMissingLayerIsNamedByThePlaceOfItsMount) {
  const std::string output = in_keeper([this] { say(mount_root({folder_ + "/none"}, folder_).message()); });
  EXPECT_TRUE(output.starts_with("cannot mount the image's layers at ")) << output;
}

}  // namespace
}  // namespace berth
