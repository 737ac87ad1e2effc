// What containers have of the machine's network: how they look names up, and ports of the machine that are theirs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cstdlib>
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

// Where a server is that speaks no TLS.
TEST_F(ContainerNetwork, AProbeOverTlsGoesToThePodInItsOwnNetwork) {
  make_network();
  const std::string curl = find_program("curl", std::getenv("PATH"), "/");
  if (curl.empty()) GTEST_SKIP() << "needs curl";
  runtime_->planner().set_curl(curl);
  run(tag_, R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never",
      "terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"busybox:1",
      "startupProbe":{"tcpSocket":{"port":80},"periodSeconds":1,"failureThreshold":60},
      "livenessProbe":{"httpGet":{"port":80,"scheme":"HTTPS"},"periodSeconds":1,"timeoutSeconds":20,"failureThreshold":1},
      "command":["busybox","httpd","-f","-p","80"]}]}})");
  const std::string end = wait_finished().pod_status.dump();
  EXPECT_TRUE(end.contains("Liveness probe failed: Get \\\"https://10.") && end.contains("wrong version number"))
      << end;
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

// A server at its port 80, which is port 8080 of the machine.
std::string pod_with_a_host_port() {
  return R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","containers":[{"name":"main",
      "image":"busybox:1","ports":[{"containerPort":80,"hostPort":8080}],
      "readinessProbe":{"tcpSocket":{"port":80},"periodSeconds":1},
      "command":["sh","-c","echo up >/tmp/index.html; exec busybox httpd -f -h /tmp -p 80"]}]}})";
}

TEST_F(ContainerNetwork, AHostPortIsRefusedWhereTheNetworkMapsNone) {
  std::ofstream(settings_.cni_config_dir + "/10-plain.conflist")
      << R"({"cniVersion":"1.0.0","name":"plain","plugins":[{"type":"bridge"}]})";
  top().prepare(tag_, pod_with_a_host_port(), {});
  EXPECT_EQ(wait_kind("prepared").status.message(), "spec.containers[].ports[].hostPort: network plain in " +
                                                        settings_.cni_config_dir +
                                                        " maps no ports: add plugin portmap to it");
}

// A machine whose network is the test's own, with the rules that portmap makes there.
class MachineWithPorts : public ContainerTest {
 protected:
  void SetUp() override {
    if (!is_possible()) GTEST_SKIP() << "needs root, skopeo, busybox-static, and runc or crun";
    if (!fs::exists("/usr/lib/cni/portmap")) GTEST_SKIP() << "needs containernetworking-plugins";
    network_ = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(unshare(CLONE_NEWNET), 0);
    if (!succeeds("iptables -t nat -S")) {
      leave();
      GTEST_SKIP() << "needs iptables, and a kernel with its nat table";
    }
    ASSERT_TRUE(succeeds("ip link set lo up"));
    ContainerTest::SetUp();
    std::ofstream(settings_.cni_config_dir + "/10-ports.conflist")
        << R"({"cniVersion":"1.0.0","name":"ports","plugins":[{"type":"bridge","bridge":"ports0","isGateway":true,
               "ipam":{"type":"host-local","dataDir":")"
        << root_ << R"(/addresses","subnet":"10.99.0.0/24"}},
               {"type":"portmap","snat":true,"capabilities":{"portMappings":true}}]})";
  }
  void TearDown() override {
    ContainerTest::TearDown();
    leave();
  }

  static bool succeeds(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }
  // At the machine's address among its pods.
  static bool is_served() { return succeeds("curl --silent --max-time 5 http://10.99.0.1:8080/ | grep -x up"); }

 private:
  void leave() {
    if (network_ < 0) return;
    EXPECT_EQ(setns(network_, CLONE_NEWNET), 0);
    close(network_);
    network_ = -1;
  }

  int network_ = -1;
};

TEST_F(MachineWithPorts, AHostPortLeadsToThePodForAsLongAsItRuns) {
  run(tag_, pod_with_a_host_port());
  wait_for([](const Event& event) { return event.kind == "status" && *container(event).find("ready") == Json(true); });
  EXPECT_TRUE(is_served());
  stop(tag_, 0);
  EXPECT_FALSE(is_served());
  EXPECT_FALSE(succeeds("iptables -t nat -S | grep 8080")) << "a rule of the pod is left";
}

}  // namespace
}  // namespace berth
