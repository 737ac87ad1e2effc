// What containers have of the machine's network: how they look names up, and ports of the machine that are theirs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <string>

#include "tests/unit/containers/container_fixture.h"

namespace berth {
namespace {

using ContainerNetwork = ContainerTest;

TEST_F(ContainerNetwork, APodLooksNamesUpAsTheConfigurationSays) {
  machine_->settings.resolv_conf = root_ + "/resolv.conf";
  runtime_->planner().set_containers(*machine_, *containers_);
  run(tag_, container_pod("cat /etc/resolv.conf"));
  EXPECT_EQ(wait_delayed().pod_status.string_at("message"),
            "containers.resolv_conf: cannot read " + root_ + "/resolv.conf: No such file or directory");
  std::ofstream(root_ + "/resolv.conf") << "nameserver 10.0.0.1\n";
  wait_finished();
  EXPECT_EQ(output(tag_), "nameserver 10.0.0.1\n");
}

// A machine with systemd-resolved: the file with the servers behind its stub is there in a mount namespace of the test.
class MachineWithStub : public ContainerTest {
 protected:
  void SetUp() override {
    if (!is_possible()) GTEST_SKIP() << "needs root, skopeo, busybox-static, and runc or crun";
    mounts_ = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(mount("tmpfs", "/run", "tmpfs", 0, nullptr), 0);
    fs::create_directories("/run/systemd/resolve");
    std::ofstream("/run/systemd/resolve/resolv.conf") << "nameserver 10.0.0.1\nsearch plant.lan\n";
    settings_.resolv_conf = root_ + "/resolv.conf";
    std::ofstream(settings_.resolv_conf) << "nameserver 127.0.0.53\nsearch plant.lan\n";
    ContainerTest::SetUp();
  }
  void TearDown() override {
    ContainerTest::TearDown();
    if (mounts_ < 0) return;
    const fs::path before = fs::current_path();
    EXPECT_EQ(setns(mounts_, CLONE_NEWNS), 0);
    fs::current_path(before);
    close(mounts_);
  }

 private:
  int mounts_ = -1;
};

TEST_F(MachineWithStub, APodWithANetworkOfItsOwnAsksTheServersBehindIt) {
  make_network();
  Json manifest = Json::parse(container_pod("cat /etc/resolv.conf")).value();
  run(tag_, manifest.dump());
  wait_finished();
  EXPECT_EQ(output(tag_), "search plant.lan\nnameserver 127.0.0.53\n") << "it is in the machine's network";
  manifest.find("spec")->set("hostNetwork", false);
  const Tag other{"u2", {1, 2}};
  run(other, manifest.dump());
  wait_finished();
  EXPECT_EQ(output(other), "search plant.lan\nnameserver 10.0.0.1\n");
}

}  // namespace
}  // namespace berth
