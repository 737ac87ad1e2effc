// What a container sees: config.json run by a real OCI runtime, with busybox as its only program.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "firmware-host/agent/oci/capabilities.h"
#include "firmware-host/agent/oci/limits.h"
#include "firmware-host/agent/oci/oci_spec.h"
#include "firmware-host/agent/oci/seccomp_profile.h"
#include "tests/unit/oci/busybox_bundle.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultProfile = "/usr/share/containers/seccomp.json";

class OciSpec : public BusyboxBundle {
 protected:
  // What a shell in the container prints, both outputs.
  std::string run(const std::string& script) {
    write_config(script);
    const std::string command =
        runtime() + " --root " + folder_ + "/state run --bundle " + folder_ + " " + id() + " 2>&1 </dev/null";
    std::FILE* const pipe = popen(command.c_str(), "re");
    std::string output;
    std::array<char, 4096> part{};
    for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
      output.append(part.data(), got);
    status_ = WEXITSTATUS(pclose(pipe));
    return output;
  }

  int status_ = 0;
};

TEST_F(OciSpec, AContainerHasItsUserDirectoryHostnameAndEnvironmentAndItsExitCodeComesBack) {
  container_.user = {1000, 1001, {20, 44}, "/"};
  container_.hostname = "web-0";
  container_.directory = "/data";
  EXPECT_EQ(run("id -u; id -G; hostname; pwd; echo $COLOR; exit 3"), "1000\n1001 20 44\nweb-0\n/data\nblue\n");
  EXPECT_EQ(status_, 3);
}

TEST_F(OciSpec, AContainerHasTheUsualCapabilitiesAndNoOthers) {
  EXPECT_EQ(run("grep CapEff /proc/self/status"), "CapEff:\t00000000a80425fb\n");
}

TEST_F(OciSpec, APrivilegedContainerHasDevicesAndSeesAllOfProc) {
  container_.privileged = true;
  container_.devices = devices_below("/dev").value();
  const auto null = std::find_if(container_.devices.begin(), container_.devices.end(),
                                 [](const OciDevice& each) { return each.path == "/dev/null"; });
  ASSERT_NE(null, container_.devices.end());
  EXPECT_EQ(null->major, 1);
  EXPECT_EQ(null->minor, 3);
  EXPECT_EQ(run("mount | grep -c ' on /proc/'; true"), "0\n") << "something is masked";
}

TEST_F(OciSpec, AnOrdinaryContainerCannotReadWhatIsMaskedOrWriteSysctls) {
  EXPECT_NE(run("mount | grep -c ' on /proc/'"), "0\n");
  EXPECT_EQ(run("ls /sys/firmware"), "");
  EXPECT_NE(run("echo 1 > /proc/sys/kernel/panic").find("Read-only file system"), std::string::npos);
}

TEST_F(OciSpec, AReadOnlyRootIsReadOnlyAndItsMountsNeedNotBe) {
  container_.read_only_root = true;
  fs::create_directories(folder_ + "/volume");
  fs::create_directories(folder_ + "/fixed");
  fs::create_directories(root() + "/fixed");
  container_.mounts = {{folder_ + "/volume", "/data"}, {folder_ + "/fixed", "/fixed", true}};
  const std::string output = run("touch /tmp/x; touch /data/x && echo written; touch /fixed/x");
  EXPECT_NE(output.find("touch: /tmp/x: Read-only file system"), std::string::npos) << output;
  EXPECT_NE(output.find("written"), std::string::npos) << output;
  EXPECT_NE(output.find("touch: /fixed/x: Read-only file system"), std::string::npos) << output;
  EXPECT_TRUE(fs::exists(folder_ + "/volume/x"));
}

TEST_F(OciSpec, NoNewPrivilegesAndTheDefaultSeccompProfileApply) {
  if (!fs::exists(kDefaultProfile)) GTEST_SKIP() << "needs " << kDefaultProfile;
  std::ifstream file(kDefaultProfile);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  container_.no_new_privileges = true;
  std::vector<std::string> known = capabilities_of({}, 40).value();
  std::erase(known, "CAP_SYS_CHROOT");
  container_.seccomp = seccomp_of(Json::parse(text).value(), seccomp_architecture(), known).value();
  const std::string output = run("grep -E 'NoNewPrivs|Seccomp:' /proc/self/status; chroot / true");
  EXPECT_NE(output.find("NoNewPrivs:\t1\n"), std::string::npos) << output;
  EXPECT_NE(output.find("Seccomp:\t2\n"), std::string::npos) << output;
  // The profile was made for a container without CAP_SYS_CHROOT: the call itself is refused.
  EXPECT_NE(output.find("Operation not permitted"), std::string::npos) << output;
}

TEST_F(OciSpec, WithoutANetworkNamespaceOfItsOwnItSeesTheMachines) {
  const std::string own = run("ls -l /proc/self/ns/net");
  container_.namespaces.network.reset();
  EXPECT_NE(run("ls -l /proc/self/ns/net"), own);
  EXPECT_NE(run("ls -l /proc/self/ns/net").find(fs::read_symlink("/proc/self/ns/net").string()), std::string::npos);
}

TEST_F(OciSpec, ASysctlOfItsNetworkNamespaceIsSet) {
  container_.sysctls = {{"net.ipv4.ip_forward", "1"}};
  EXPECT_EQ(run("cat /proc/sys/net/ipv4/ip_forward"), "1\n");
}

TEST_F(OciSpec, TheScoreForWhenMemoryRunsOutIsSet) {
  container_.oom_score_adj = 500;
  EXPECT_EQ(run("cat /proc/self/oom_score_adj"), "500\n");
}

TEST_F(OciSpec, AContainerThatTakesMoreMemoryThanItMayIsEnded) {
  ContainerLimits limits;
  limits.limits.memory_bytes = 16 << 20;
  container_.resources = resources_json(limits, 0);
  run("busybox dd if=/dev/zero of=/dev/null bs=64M count=1");
  EXPECT_EQ(status_, 137);
}

TEST_F(OciSpec, AForkBombReachesItsLimitAndNobodyElse) {
  container_.resources = resources_json({}, 16);
  const std::string output =
      run("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat /dev/zero >/dev/null & done; echo all");
  EXPECT_NE(output.find("Resource temporarily unavailable"), std::string::npos) << output;
}

}  // namespace
}  // namespace berth
