// volumeMounts of containers.
#include "firmware-host/agent/volumes/volume_mounts.h"

#include "tests/unit/volumes/volume_fixture.h"

namespace berth {
namespace {

class VolumeMounts : public VolumeTest {
 protected:
  void SetUp() override {
    VolumeTest::SetUp();
    VolumePlan data, secret;
    data.name = "data";
    data.path = folder_ + "/data";
    secret.name = "secret";
    secret.path = folder_ + "/secret";
    secret.read_only = true;
    volumes_ = {data, secret};
    fs::create_directories(data.path + "/logs/web-0");
    std::ofstream(data.path + "/logs/web-0/today") << "today";
  }
  // "source>destination(ro) propagation ..." or the error.
  std::string mounts(const std::string& mounts, const std::string& more = "", const Variables& variables = {}) const {
    const Json container = Json::parse(R"j({"volumeMounts":[)j" + mounts + "]" + more + "}").value_or(Json());
    const auto plans = plan_mounts(container, volumes_, "spec.containers[0]");
    if (!plans) return plans.error().message();
    const auto made = make_mounts(*plans, variables, folder_ + "/subpaths");
    if (!made) return made.error().message();
    std::string text;
    for (const OciMount& mount : *made) {
      text += (text.empty() ? "" : " ") + mount.source.substr(folder_.size()) + ">" + mount.destination +
              (mount.read_only ? "(ro) " : " ") + mount.propagation;
    }
    return text;
  }
  std::vector<VolumePlan> volumes_;
};

TEST_F(VolumeMounts, AreThoseOfTheManifest) {
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/data"},{"name":"data","mountPath":"ro","readOnly":true},
                      {"name":"secret","mountPath":"/s","mountPropagation":"None","recursiveReadOnly":"IfPossible"})j"),
            "/data>/data rprivate /data>/ro(ro) rprivate /secret>/s(ro) rprivate");
}

TEST_F(VolumeMounts, PropagateAsTheyMay) {
  const std::string both = R"j({"name":"data","mountPath":"/d","mountPropagation":"Bidirectional"})j";
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/d","mountPropagation":"HostToContainer"})j"), "/data>/d rslave");
  EXPECT_EQ(mounts(both, R"j(,"securityContext":{"privileged":true})j"),
            "spec.containers[0].volumeMounts[0].mountPropagation: Bidirectional is not supported; use HostToContainer");
}

TEST_F(VolumeMounts, OfASubPathShowThatPart) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  const std::string seen = with_own_mounts([this] {
    const Variables variables{{"POD", "web-0"}};
    std::string text;
    for (int run = 0; run < 2; ++run) {  // the second one in place of the first one
      text += mounts(R"j({"name":"data","mountPath":"/l","subPathExpr":"logs/$(POD)"
    },
                        {"name":"data","mountPath":"/n","subPath":"new"})j",
                     "", variables);
      text += " " + text_of(folder_ + "/subpaths/0/today") + " ";
    }
    return text;
  });
  const std::string once = "/subpaths/0>/l rprivate /subpaths/1>/n rprivate today ";
  EXPECT_EQ(seen, once + once);
  EXPECT_TRUE(fs::is_directory(folder_ + "/data/new"));
}

TEST_F(VolumeMounts, OfASubPathMayBecomeAFileInTheNextRun) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  const std::string seen = with_own_mounts([this] {
    const std::string mount = R"j({"name":"data","mountPath":"/l","subPath":"logs/web-0/)j";
    std::string text = mounts(mount + "dir\"}") + " ";
    text += mounts(mount + "today\"}") + " ";
    text += text_of(folder_ + "/subpaths/0") + " ";
    text += mounts(mount + "dir\"}");
    return text;
  });
  const std::string mounted = "/subpaths/0>/l rprivate";
  EXPECT_EQ(seen, mounted + " " + mounted + " today " + mounted);
}

TEST_F(VolumeMounts, OfASubPathThatLeadsOutAreRefused) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  const std::string at = "spec.containers[0].volumeMounts[0].subPath";
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/l","subPath":"../x"})j"),
            at + ": must be a relative path without '..'");
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/l","subPath":"/x"})j"),
            at + ": must be a relative path without '..'");
  const std::string expr = R"j({"name":"data","mountPath":"/l","subPathExpr":"$(A)"
})j";
  EXPECT_EQ(mounts(expr, "", {{"A", "x/../.."}}), at + "Expr: must be a relative path without '..'");
  EXPECT_EQ(mounts(expr, "", {{"A", ""}}), at + "Expr: missing value for A: set it in env");
  EXPECT_EQ(mounts(expr), at + "Expr: missing value for A: set it in env");
  fs::create_symlink("/etc", folder_ + "/data/out");
  EXPECT_EQ(with_own_mounts([&] { return mounts(R"j({"name":"data","mountPath":"/l","subPath":"out"})j"); }),
            "spec.containers[0].volumeMounts[0]: subPath 'out': leads out of its volume");
}

TEST_F(VolumeMounts, AreRefusedWithTheFieldThatIsWrong) {
  const std::string at = "spec.containers[0].volumeMounts[0].";
  EXPECT_EQ(mounts(R"j({"name":"none","mountPath":"/x"})j"), at + "name: volume 'none' is not in spec.volumes");
  EXPECT_EQ(mounts(R"j({"name":"data"})j"), at + "mountPath: must be a path without ':'");
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/a:b"})j"), at + "mountPath: must be a path without ':'");
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/x","subPath":"a","subPathExpr":"b"})j"),
            at + "subPathExpr: must not be there besides subPath");
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/x","readOnly":true,"recursiveReadOnly":"Enabled"})j"),
            at + "recursiveReadOnly: Enabled is not supported; use IfPossible or Disabled");
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/x","mountPropagation":"Both"})j"),
            at + "mountPropagation: expected None or HostToContainer, got 'Both'");
  EXPECT_EQ(mounts(R"j({"name":"data","mountPath":"/x"},{"name":"secret","mountPath":"/x"})j"),
            "spec.containers[0].volumeMounts[1].mountPath: must be unique, /x is there twice");
  EXPECT_EQ(mounts("", R"j(,"volumeDevices":[{"name":"data","devicePath":"/dev/x"}])j"),
            "spec.containers[0].volumeDevices: raw block devices are not supported; use volumeMounts");
}

}  // namespace
}  // namespace berth
