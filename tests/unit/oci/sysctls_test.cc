// Which kernel parameters a pod may set.
#include "firmware-host/agent/oci/sysctls.h"

#include <gtest/gtest.h>

#include "core/json/json.h"

namespace berth {
namespace {

std::string check(const std::string& name, const std::string& spec = "{}",
                  const std::vector<std::string>& allowed = {}) {
  return check_sysctls(*Json::parse(spec), {{name, "1"}}, allowed).message();
}

TEST(Sysctls, ThoseThatConcernThePodAloneAreAllowed) {
  EXPECT_EQ(check("net.ipv4.ip_unprivileged_port_start"), "");
  EXPECT_EQ(check("net/ipv4/tcp_syncookies"), "");
  EXPECT_EQ(check("kernel.shm_rmid_forced"), "");
}

TEST(Sysctls, OthersNeedToBeAllowedByTheDevicesOwner) {
  EXPECT_EQ(
      check("net.core.somaxconn"),
      "spec.securityContext.sysctls[0]: forbidden sysctl: net.core.somaxconn is not allowed on this node: add it to "
      "containers.allowed_unsafe_sysctls there");
  EXPECT_EQ(check("net.core.somaxconn", "{}", {"net.core.somaxconn"}), "");
  EXPECT_EQ(check("kernel.msgmax", "{}", {"kernel.msg*"}), "");
  EXPECT_NE(check("net.core.somaxconn", "{}", {"net.core.som"}), "") << "a name is matched whole";
}

TEST(Sysctls, NothingOfTheWholeMachineIsAllowed) {
  EXPECT_NE(check("vm.swappiness", "{}", {"*"}).find("the whole machine's"), std::string::npos);
  EXPECT_NE(check("kernel.core_pattern", "{}", {"kernel.*"}).find("the whole machine's"), std::string::npos);
}

TEST(Sysctls, ThoseOfANamespaceThatIsTheMachinesAreRefused) {
  EXPECT_NE(check("net.ipv4.tcp_syncookies", R"({"hostNetwork":true})").find("hostNetwork"), std::string::npos);
  EXPECT_EQ(check("net.ipv4.tcp_syncookies", R"({"hostIPC":true})"), "");
  EXPECT_NE(check("kernel.shm_rmid_forced", R"({"hostIPC":true})").find("hostIPC"), std::string::npos);
}

TEST(Sysctls, ANameThatIsNoneIsNamed) {
  for (const char* name : {"", "net..core", "../vm.swappiness", "net.core.", "NET.core", "net core"}) {
    EXPECT_NE(check(name, "{}", {"*"}).find(".name: expected a name"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace berth
