#include "firmware-host/agent/containers/container_machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "core/api/features.h"
#include "firmware-host/agent/processes/process_machine.h"
#include "tests/unit/transports/mosquitto_child.h"

namespace berth {
namespace {

class ContainerMachineTest : public testing::Test {
 protected:
  // With a skopeo of which the script is all that there is.
  Result<ContainerMachine> found_with(const std::string& script) {
    ContainerSettings settings;
    settings.skopeo = directory_.file("skopeo");
    std::ofstream(settings.skopeo) << "#!/bin/sh\n" << script << "\n";
    EXPECT_EQ(chmod(settings.skopeo.c_str(), 0755), 0);
    return find_container_machine(settings, std::getenv("PATH"));
  }

  TempDir directory_;
};

TEST_F(ContainerMachineTest, AnOldSkopeoIsNamedWithWhatToDo) {
  if (geteuid() != 0) GTEST_SKIP() << "containers need root";
  const Result<ContainerMachine> usable = found_with("echo skopeo version 1.9.3");
  if (!usable) GTEST_SKIP() << "no containers are run here: " << usable.error().message();
  const Result<ContainerMachine> old = found_with("echo skopeo version 1.2.2");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().message(), "program " + directory_.file("skopeo") +
                                       ": it is of version 1.2.2, expected 1.6 or newer, as Debian 12 has it; install "
                                       "another, or name its path in containers.skopeo");
  const Result<ContainerMachine> broken = found_with("echo no such library >&2; exit 1");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message().find("no such library"), std::string::npos) << broken.error().message();
}

// Gateways refuse the state of a device that names more.
TEST(DeviceFeatures, AreNoMoreThanAGatewayTakesWhateverTheDeviceHas) {
  std::set<std::string> all{"httpsHandlers", of_processes("httpsHandlers"), "runtimes/crun-1.8.1",
                            "runtimes/bwrap-0.8.0"};
  all.insert(container_features().begin(), container_features().end());
  for (const std::string& feature : sandboxed_process_features()) all.insert({feature, of_processes(feature)});
  EXPECT_LE(all.size(), kMaxFeatures);
}

}  // namespace
}  // namespace berth
