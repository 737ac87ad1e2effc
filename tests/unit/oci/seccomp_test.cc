// From profiles with conditions to what an OCI runtime is told.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "firmware-host/agent/oci/seccomp_profile.h"

namespace berth {
namespace {

constexpr const char* kProfile = R"({
  "defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38,"defaultErrno":"ENOSYS",
  "archMap":[{"architecture":"SCMP_ARCH_X86_64","subArchitectures":["SCMP_ARCH_X86"]},
             {"architecture":"SCMP_ARCH_AARCH64","subArchitectures":["SCMP_ARCH_ARM"]}],
  "syscalls":[
    {"names":["read"],"action":"SCMP_ACT_ALLOW","args":[],"includes":{},"excludes":{}},
    {"names":["arm_sync"],"action":"SCMP_ACT_ALLOW","includes":{"arches":["arm","arm64"]}},
    {"names":["mount"],"action":"SCMP_ACT_ALLOW","includes":{"caps":["CAP_SYS_ADMIN"]}},
    {"names":["mount"],"action":"SCMP_ACT_ERRNO","errnoRet":1,"excludes":{"caps":["CAP_SYS_ADMIN"]}},
    {"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":8,"valueTwo":0,"op":"SCMP_CMP_EQ"}]}]})";

Json made(const std::string& architecture, const std::vector<std::string>& capabilities) {
  return seccomp_of(Json::parse(kProfile).value(), architecture, capabilities).value();
}

std::string refusal_of_profile(const std::string& profile) {
  const Result<Json> read = seccomp_of(Json::parse(profile).value(), "amd64", {});
  return read ? "" : read.error().message();
}

TEST(SeccompProfile, RulesOfOtherArchitecturesAreLeftOut) {
  EXPECT_EQ(made("amd64", {}).dump().find("arm_sync"), std::string::npos);
  EXPECT_NE(made("arm", {}).dump().find("arm_sync"), std::string::npos);
  EXPECT_EQ(made("amd64", {}).find("architectures")->dump(), R"(["SCMP_ARCH_X86_64","SCMP_ARCH_X86"])");
  EXPECT_EQ(made("arm", {}).find("architectures")->dump(), R"(["SCMP_ARCH_ARM"])");
}

TEST(SeccompProfile, RulesFollowWhatTheContainerMayDo) {
  const std::string denied = R"({"names":["mount"],"action":"SCMP_ACT_ERRNO","errnoRet":1})";
  const std::string allowed = R"({"names":["mount"],"action":"SCMP_ACT_ALLOW"})";
  const std::string without = made("amd64", {"CAP_CHOWN"}).dump(), with = made("amd64", {"CAP_SYS_ADMIN"}).dump();
  EXPECT_NE(without.find(denied), std::string::npos) << without;
  EXPECT_EQ(without.find(allowed), std::string::npos) << without;
  EXPECT_EQ(with.find(denied), std::string::npos) << with;
  EXPECT_NE(with.find(allowed), std::string::npos) << with;
}

TEST(SeccompProfile, ArgumentsAndNumbersOfErrorsStay) {
  const std::string text = made("amd64", {}).dump();
  EXPECT_NE(text.find(R"("args":[{"index":0,"value":8,"valueTwo":0,"op":"SCMP_CMP_EQ"}])"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("defaultErrnoRet":38)"), std::string::npos) << text;
}

TEST(SeccompProfile, WithoutItsPartsIsRefused) {
  EXPECT_EQ(refusal_of_profile(R"({"syscalls":[]})"), "seccomp profile: defaultAction: missing");
  EXPECT_EQ(refusal_of_profile(R"({"defaultAction":"SCMP_ACT_ALLOW"})"), "seccomp profile: syscalls: must be a list");
  EXPECT_EQ(refusal_of_profile(R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"]}]})"),
            "seccomp profile: syscalls: each needs names and an action");
}

}  // namespace
}  // namespace berth
