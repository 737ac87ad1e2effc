// The network of a pod by CNI plugins: configurations, and real plugins of this machine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "firmware-host/agent/cni/cni_config.h"
#include "firmware-host/agent/cni/cni_run.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class Cni : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { fs::remove_all(folder_); }
  void write_file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string refusal() const {
    const Result<CniNetwork> network = find_network(folder_);
    return network ? "" : network.error().message();
  }
  // Until it is done.
  static void finish(CniRun& run) {
    int status = 0;
    for (pid_t ended = 0; !run.is_done() && (ended = waitpid(-1, &status, 0)) > 0;) run.take_exit(ended, status);
    ASSERT_TRUE(run.is_done());
  }

  std::string folder_ = (fs::temp_directory_path() / "berth-cni-XXXXXX").string();
};

TEST_F(Cni, TheFirstConfigurationByNameIsTheNetwork) {
  write_file("20-other.conflist", R"({"name":"other","cniVersion":"1.0.0","plugins":[{"type":"bridge"}]})");
  write_file("10-pods.conflist", R"({"name":"pods","cniVersion":"0.4.0","plugins":[{"type":"bridge"},{"type":"portmap",
      "capabilities":{"portMappings":true}}]})");
  write_file("00-readme.txt", "not this one");
  const CniNetwork network = find_network(folder_).value();
  EXPECT_EQ(network.name, "pods");
  EXPECT_EQ(network.version, "0.4.0");
  ASSERT_EQ(network.plugins.size(), 2u);
  EXPECT_TRUE(network.maps_ports());
}

TEST_F(Cni, AFileOfOnePluginIsANetworkToo) {
  write_file("lo.conf", R"({"name":"lo","cniVersion":"1.0.0","type":"loopback"})");
  const CniNetwork network = find_network(folder_).value();
  ASSERT_EQ(network.plugins.size(), 1u);
  EXPECT_FALSE(network.maps_ports());
}

TEST_F(Cni, EveryFaultNamesTheFileAndTheFix) {
  EXPECT_EQ(refusal(),
            "no network for pods: " + folder_ + " has no CNI configuration; install one, or use hostNetwork: true");
  const std::string file = folder_ + "/a.conflist";
  write_file("a.conflist", "{");
  EXPECT_TRUE(refusal().starts_with(file + ": ")) << refusal();
  write_file("a.conflist", R"({"cniVersion":"1.0.0","plugins":[{"type":"bridge"}]})");
  EXPECT_EQ(refusal(), file + ": name: missing");
  write_file("a.conflist", R"({"name":"a","plugins":[]})");
  EXPECT_EQ(refusal(), file + ": plugins: needs at least one");
  write_file("a.conflist", R"({"name":"a","plugins":[{"type":"../../bin/sh"}]})");
  EXPECT_EQ(refusal(), file + ": plugins: each needs a type, its program's name");
}

TEST_F(Cni, APluginReadsPortsOnlyIfItMapsThemAndTheResultBeforeIt) {
  const CniNetwork network{"pods",
                           "1.0.0",
                           {Json::parse(R"({"type":"bridge"})").value(),
                            Json::parse(R"({"type":"portmap","capabilities":{"portMappings":true}})").value()}};
  const std::vector<PortMapping> ports{{8080, 80, "tcp", ""}, {53, 5353, "udp", "127.0.0.1"}};
  EXPECT_EQ(input_of(network, 0, ports, {}), R"({"type":"bridge","cniVersion":"1.0.0","name":"pods"})");
  EXPECT_EQ(input_of(network, 1, ports, Json::parse(R"({"ips":[]})").value()),
            R"({"type":"portmap","cniVersion":"1.0.0","name":"pods","runtimeConfig":{"portMappings":[)"
            R"({"hostPort":8080,"containerPort":80,"protocol":"tcp"},)"
            R"({"hostPort":53,"containerPort":5353,"protocol":"udp","hostIP":"127.0.0.1"}]},"prevResult":{"ips":[]}})");
}

// Plugins that are scripts, which write down how they are called.
class ScriptedCni : public Cni {
 protected:
  void add_plugin(const std::string& name, const std::string& script) const {
    write_file(name, "#!/bin/sh\necho \"" + name + " $CNI_COMMAND $CNI_CONTAINERID $CNI_IFNAME\" >> " + folder_ +
                         "/calls\ncat > " + folder_ + "/input-" + name + "-$CNI_COMMAND\n" + script);
    fs::permissions(folder_ + "/" + name, fs::perms::owner_all);
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::unique_ptr<CniRun> make_run(const std::vector<std::string>& types) const {
    CniNetwork network{"pods", "1.0.0", {}};
    for (const std::string& type : types) network.plugins.push_back(Json::object().set("type", type));
    return std::make_unique<CniRun>(network, std::vector<std::string>{folder_ + "/none", folder_},
                                    CniRun::Pod{"pod-1", "/proc/1/ns/net", "K8S_POD_NAME=web-0", {}});
  }
};

TEST_F(ScriptedCni, PluginsAddInOrderEachWithTheResultBeforeIt) {
  add_plugin("first", R"(echo '{"ips":[{"address":"10.88.0.7/16"}],"by":"first"}')");
  add_plugin("second", R"(echo '{"ips":[{"address":"10.88.0.7/16"},{"address":"fd00::7/64"}],"by":"second"}')");
  const auto run = make_run({"first", "second"});
  run->add();
  finish(*run);
  EXPECT_EQ(run->error(), "");
  EXPECT_EQ(text_of("calls"), "first ADD pod-1 eth0\nsecond ADD pod-1 eth0\n");
  EXPECT_EQ(run->addresses(), (std::vector<std::string>{"10.88.0.7", "fd00::7"}));
  EXPECT_NE(text_of("input-second-ADD").find(R"("by":"first")"), std::string::npos);
}

TEST_F(ScriptedCni, WhenOneFailsAllRemoveWhatThereIsInReverse) {
  add_plugin("first", "echo '{}'");
  add_plugin("second", R"([ $CNI_COMMAND = DEL ] || { echo '{"code":11,"msg":"no address is left"}'; exit 1; })");
  const auto run = make_run({"first", "second", "third"});
  run->add();
  finish(*run);
  EXPECT_EQ(run->error(), "network pods: plugin second failed: no address is left");
  EXPECT_EQ(text_of("calls"),
            "first ADD pod-1 eth0\nsecond ADD pod-1 eth0\nsecond DEL pod-1 eth0\nfirst DEL pod-1 eth0\n");
}

TEST_F(ScriptedCni, OneThatFailsToRemoveDoesNotKeepTheOthersFromIt) {
  add_plugin("first", "true");
  add_plugin("second", "exit 1");
  const auto run = make_run({"first", "second"});
  run->remove(Json::parse(R"({"ips":[]})").value());
  finish(*run);
  EXPECT_EQ(run->error(), "network pods: plugin second failed");
  EXPECT_EQ(text_of("calls"), "second DEL pod-1 eth0\nfirst DEL pod-1 eth0\n");
  EXPECT_NE(text_of("input-first-DEL").find(R"("prevResult":{"ips":[]})"), std::string::npos);
}

TEST_F(ScriptedCni, APluginThatIsNotInstalledIsNamed) {
  const auto run = make_run({"missing"});
  run->add();
  EXPECT_TRUE(run->is_done());
  EXPECT_EQ(run->error(), "network pods: no plugin missing in " + folder_ + "/none:" + folder_);
}

TEST_F(ScriptedCni, APluginThatHangsIsEndedAndFloodsNothing) {
  add_plugin("flood", "[ $CNI_COMMAND = DEL ] && exit 0; cat /bin/sh /bin/sh /bin/sh || touch " + folder_ +
                          "/refused; exec sleep 1000");
  const auto run = make_run({"flood"});
  run->add();
  while (!fs::exists(folder_ + "/refused")) sched_yield();
  run->kill();
  finish(*run);
  EXPECT_EQ(run->error(), "network pods: plugin flood failed");
}

// Real plugins, between two namespaces that the test makes.
class RealCni : public Cni {
 protected:
  static constexpr const char* kPlugins = "/usr/lib/cni";

  void SetUp() override {
    Cni::SetUp();
    if (getuid() != 0) GTEST_SKIP() << "needs root";
    if (!fs::exists(std::string(kPlugins) + "/bridge")) GTEST_SKIP() << "needs containernetworking-plugins";
    // The machine of the test: its bridge is nobody else's.
    ASSERT_EQ(unshare(CLONE_NEWNET), 0);
    write_file("10-pods.conflist", R"({"name":"pods","cniVersion":"1.0.0","plugins":[{"type":"bridge","bridge":"pods0",
        "isGateway":true,"ipam":{"type":"host-local","ranges":[[{"subnet":"10.99.0.0/24"}]],"dataDir":")" +
                                       folder_ + R"("}}]})");
    for (pid_t& pod : pods_) pod = begin_pod();
  }
  void TearDown() override {
    for (const pid_t pod : pods_) {
      if (pod > 0) kill(pod, SIGKILL);
      if (pod > 0) waitpid(pod, nullptr, 0);
    }
    Cni::TearDown();
  }
  // A process that holds a network namespace.
  static pid_t begin_pod() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t pod = fork();
    if (pod == 0) {
      if (unshare(CLONE_NEWNET) != 0 || write(ends[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char ready = 0;
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return pod;
  }
  std::unique_ptr<CniRun> run_for(std::size_t pod) {
    return std::make_unique<CniRun>(
        find_network(folder_).value(), std::vector<std::string>{kPlugins},
        CniRun::Pod{
            "pod-" + std::to_string(pod), "/proc/" + std::to_string(pods_[pod]) + "/ns/net", "IgnoreUnknown=1", {}});
  }
  static int in_namespace(pid_t pod, const std::string& command) {
    return std::system(("nsenter -t " + std::to_string(pod) + " -n " + command + " > /dev/null 2>&1").c_str());
  }

  std::array<pid_t, 2> pods_{};
};

TEST_F(RealCni, TwoPodsReachEachOtherUntilOneIsRemoved) {
  std::array<Json, 2> results;
  std::array<std::string, 2> addresses;
  for (std::size_t pod = 0; pod < 2; ++pod) {
    const auto run = run_for(pod);
    run->add();
    finish(*run);
    ASSERT_EQ(run->error(), "");
    ASSERT_EQ(run->addresses().size(), 1u);
    results[pod] = run->result();
    addresses[pod] = run->addresses().front();
  }
  EXPECT_TRUE(addresses[0].starts_with("10.99.0.")) << addresses[0];
  EXPECT_NE(addresses[0], addresses[1]);
  EXPECT_EQ(in_namespace(pods_[0], "/bin/busybox ping -c 1 -w 10 " + addresses[1]), 0);
  const auto removal = run_for(1);
  removal->remove(results[1]);
  finish(*removal);
  EXPECT_EQ(removal->error(), "");
  EXPECT_FALSE(fs::exists(folder_ + "/pods/" + addresses[1])) << "the address is not given back";
  EXPECT_NE(in_namespace(pods_[1], "/bin/busybox ip link show eth0"), 0);
}

TEST_F(RealCni, WhatIsNotThereIsRemovedWithoutAnError) {
  const auto removal = run_for(0);
  removal->remove(Json());
  finish(*removal);
  EXPECT_EQ(removal->error(), "");
}

}  // namespace
}  // namespace berth
