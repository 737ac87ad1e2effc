// What securityContexts of a pod and a container ask for together, and the capabilities that follow.
#include "firmware-host/agent/oci/security_context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "firmware-host/agent/oci/capabilities.h"

namespace berth {
namespace {

constexpr unsigned kLast = 40;

Result<Security> read(const std::string& pod, const std::string& container) {
  return security_of(Json::parse(R"({"securityContext":)" + pod + "}").value(),
                     Json::parse(R"({"securityContext":)" + container + "}").value(), "spec.containers[0]");
}

std::string refusal(const std::string& pod, const std::string& container) {
  const Result<Security> security = read(pod, container);
  return security ? "" : security.error().message();
}

std::vector<std::string> capabilities(const std::string& container) {
  return capabilities_of(read("{}", container).value(), kLast).value();
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(SecurityContext, WhatAContainerSaysGoesBeforeWhatItsPodSays) {
  const Security security = read(R"({"runAsUser":1000,"runAsGroup":1001,"runAsNonRoot":true,
      "seccompProfile":{"type":"Unconfined"}})",
                                 R"({"runAsUser":2000,"seccompProfile":{"type":"RuntimeDefault"}})")
                                .value();
  EXPECT_EQ(security.user, 2000u);
  EXPECT_EQ(security.group, 1001u);
  EXPECT_TRUE(security.must_not_be_root);
  EXPECT_EQ(security.seccomp, Security::Seccomp::runtime_default);
}

TEST(SecurityContext, WithoutOneTheDefaultProfileApplies) {
  const Security security = read("null", "null").value();
  EXPECT_EQ(security.seccomp, Security::Seccomp::runtime_default);
  EXPECT_FALSE(security.no_new_privileges);
  EXPECT_FALSE(security.user.has_value());
}

TEST(SecurityContext, SupplementalGroupsAndTheGroupOfVolumesAddUp) {
  EXPECT_EQ(read(R"({"supplementalGroups":[20,44],"fsGroup":2000})", "{}").value().groups,
            (std::vector<std::uint32_t>{20, 44, 2000}));
}

TEST(SecurityContext, APodsHasNoFieldsOfAContainersAndTheOtherWayRound) {
  const Security security =
      read(R"({"privileged":true,"capabilities":{"add":["ALL"]},"procMount":"Unmasked"})",
           R"({"fsGroup":1,"supplementalGroups":[2],"sysctls":[{"name":"kernel.x","value":"1"}]})")
          .value();
  EXPECT_FALSE(security.privileged);
  EXPECT_FALSE(security.proc_unmasked);
  EXPECT_TRUE(security.added.empty());
  EXPECT_TRUE(security.groups.empty());
  EXPECT_TRUE(security.sysctls.empty());
}

TEST(SecurityContext, PrivilegesThatAContainerMustNotGainStayForbiddenUnlessItSaysOtherwise) {
  EXPECT_TRUE(read("{}", R"({"allowPrivilegeEscalation":false})").value().no_new_privileges);
  EXPECT_FALSE(read("{}", R"({"allowPrivilegeEscalation":true})").value().no_new_privileges);
}

TEST(SecurityContext, EveryFaultNamesItsField) {
  EXPECT_EQ(refusal(R"({"runAsUser":-1})", "{}"),
            "spec.securityContext.runAsUser: must be a number from 0 to 2147483647");
  EXPECT_EQ(refusal("{}", R"({"runAsUser":"app"})"),
            "spec.containers[0].securityContext.runAsUser: must be a number from 0 to 2147483647");
  EXPECT_EQ(refusal("{}", R"({"privileged":"yes"})"),
            "spec.containers[0].securityContext.privileged: must be true or false");
  EXPECT_EQ(refusal("{}", R"({"seccompProfile":{"type":"None"}})"),
            "spec.containers[0].securityContext.seccompProfile.type: expected RuntimeDefault, Localhost or Unconfined, "
            "got 'None'");
  EXPECT_EQ(refusal("{}", R"({"seccompProfile":{"type":"Localhost"}})"),
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: names the file of the profile");
  EXPECT_EQ(refusal("{}", R"({"capabilities":{"add":"NET_ADMIN"}})"),
            "spec.containers[0].securityContext.capabilities.add: must be a list of names such as NET_ADMIN");
  EXPECT_EQ(refusal("{}", R"({"privileged":true,"allowPrivilegeEscalation":false})"),
            "spec.containers[0].securityContext.allowPrivilegeEscalation: cannot be false in a privileged container");
  EXPECT_EQ(refusal("{}", R"({"runAsUser":0,"runAsNonRoot":true})"),
            "spec.containers[0].securityContext.runAsUser: is 0, and runAsNonRoot is true");
  EXPECT_EQ(refusal(R"({"sysctls":[{"value":"1"}]})", "{}"),
            "spec.securityContext.sysctls: each needs a name, such as net.core.somaxconn");
}

TEST(Capabilities, AContainerHasTheUsualFourteen) {
  const auto names = capabilities("{}");
  EXPECT_EQ(names.size(), 14u);
  EXPECT_TRUE(has(names, "CAP_NET_BIND_SERVICE"));
  EXPECT_FALSE(has(names, "CAP_SYS_ADMIN"));
}

TEST(Capabilities, AllAreDroppedBeforeSingleOnesAreAdded) {
  EXPECT_EQ(capabilities(R"({"capabilities":{"drop":["ALL"],"add":["NET_ADMIN","CAP_CHOWN"]}})"),
            (std::vector<std::string>{"CAP_CHOWN", "CAP_NET_ADMIN"}));
}

TEST(Capabilities, AllAreAddedBeforeSingleOnesAreDropped) {
  const auto names = capabilities(R"({"capabilities":{"add":["ALL"],"drop":["SYS_MODULE"]}})");
  EXPECT_EQ(names.size(), 40u);
  EXPECT_FALSE(has(names, "CAP_SYS_MODULE"));
}

TEST(Capabilities, APrivilegedContainerHasAllOfTheKernels) {
  EXPECT_EQ(capabilities(R"({"privileged":true,"capabilities":{"drop":["CHOWN"]}})").size(), 41u);
  EXPECT_EQ(capabilities_of(read("{}", R"({"privileged":true})").value(), 37).value().size(), 38u);
}

TEST(Capabilities, OneThatTheKernelDoesNotHaveIsRefused) {
  const auto names = capabilities_of(read("{}", R"({"capabilities":{"add":["BPF"]}})").value(), 37);
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().message(), "securityContext.capabilities: this kernel has no capability CAP_BPF");
}

}  // namespace
}  // namespace berth
