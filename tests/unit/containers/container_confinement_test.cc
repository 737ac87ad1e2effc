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

}  // namespace
}  // namespace berth
