// Volumes of all kinds, made with real files and mounts.
#include "firmware-host/agent/volumes/volume_make.h"

#include <sys/statvfs.h>

#include "tests/unit/volumes/volume_fixture.h"

namespace berth {
namespace {

class VolumeMake : public VolumeTest {
 protected:
  void SetUp() override {
    VolumeTest::SetUp();
    objects_.set(PodObjectKind::secret, "tls", {{"key", "one"}});
  }
  Status make(const std::string& volumes, const std::string& more = "") {
    pod_ = pod_with(volumes, "{}", more);
    const PodFacts facts = facts_of(pod_);
    const Result<std::vector<VolumePlan>> plans = plan_volumes(facts, bound_, folder_);
    return plans ? make_volumes(facts, objects_, *plans) : plans.error();
  }
  Status update() {
    const PodFacts facts = facts_of(pod_);
    const Result<std::vector<VolumePlan>> plans = plan_volumes(facts, bound_, folder_);
    return plans ? update_volumes(facts, objects_, *plans) : plans.error();
  }
  std::string path(const std::string& name) const { return folder_ + "/volumes/" + name; }

  ObjectsInMemory objects_;
  std::vector<BoundVolume> bound_;
  Json pod_;
};

TEST_F(VolumeMake, AnEmptyDirMayBeUsedByAnybodyAndStaysAsItIs) {
  ASSERT_TRUE(make(R"({"name":"tmp","emptyDir":{}})").is_success());
  EXPECT_EQ(mode_of(path("tmp")).substr(0, 4), "0777");
  std::ofstream(path("tmp") + "/kept") << "kept";
  ASSERT_EQ(chmod(path("tmp").c_str(), 0700), 0);
  ASSERT_TRUE(make(R"({"name":"tmp","emptyDir":{}})").is_success());
  EXPECT_EQ(text_of(path("tmp") + "/kept"), "kept");
  EXPECT_EQ(mode_of(path("tmp")).substr(0, 4), "0700") << "a container has changed it";
}

TEST_F(VolumeMake, AnEmptyDirThatWasHalfMadeIsFinished) {
  fs::create_directories(path("tmp.new"));
  ASSERT_TRUE(make(R"({"name":"tmp"})").is_success());
  EXPECT_EQ(mode_of(path("tmp")).substr(0, 4), "0777");
  EXPECT_FALSE(fs::exists(path("tmp.new")));
}

TEST_F(VolumeMake, AGroupGetsAnEmptyDirAndABoundVolume) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  fs::create_directories(folder_ + "/disk");
  std::ofstream(folder_ + "/disk/file") << "x";
  bound_ = {{"shop/data", "pv-1", folder_ + "/disk"}};
  ASSERT_TRUE(make(R"({"name":"tmp"},{"name":"d","persistentVolumeClaim":{"claimName":"data"}})",
                   R"(,"securityContext":{"fsGroup":2000})")
                  .is_success());
  EXPECT_EQ(mode_of(path("tmp")), "2777:2000");
  EXPECT_EQ(mode_of(folder_ + "/disk/file"), "0664:2000");
}

TEST_F(VolumeMake, HostPathsAreWhatTheirTypeSays) {
  fs::create_directories(folder_ + "/there");
  std::ofstream(folder_ + "/file") << "x";
  const auto host = [&](const std::string& name, const std::string& type) {
    return make(R"({"name":"h","hostPath":{"path":")" + folder_ + name + R"(","type":")" + type + R"("}})").message();
  };
  const std::string failed = "MountVolume.SetUp failed for volume \"h\" : ";
  EXPECT_EQ(host("/there", ""), "");
  EXPECT_EQ(host("/there", "Directory"), "");
  EXPECT_EQ(host("/there", "DirectoryOrCreate"), "");
  EXPECT_EQ(host("/file", "File"), "");
  EXPECT_EQ(host("/file", "FileOrCreate"), "");
  EXPECT_EQ(host("/file", "DirectoryOrCreate"),
            failed + folder_ + "/file on node edge-a is no directory, which hostPath.type demands");
  EXPECT_EQ(host("/there", "Socket"),
            failed + folder_ + "/there on node edge-a is no socket, which hostPath.type demands");
  EXPECT_EQ(host("/none", "Directory"),
            failed + "directory " + folder_ + "/none does not exist on node edge-a: create it");
  EXPECT_FALSE(fs::exists(folder_ + "/none"));
  EXPECT_EQ(host("/none/file", "FileOrCreate"),
            failed + "file " + folder_ + "/none/file does not exist on node edge-a: create it")
      << "only the file itself is made";
  EXPECT_EQ(host("/own", "FileOrCreate"), "");
  EXPECT_TRUE(fs::is_regular_file(folder_ + "/own"));
  EXPECT_EQ(host("/any", ""), "");
  EXPECT_TRUE(fs::is_directory(folder_ + "/any"));
  const mode_t mask = umask(077);
  EXPECT_EQ(host("/new/deep", "DirectoryOrCreate"), "");
  umask(mask);
  EXPECT_EQ(mode_of(folder_ + "/new").substr(0, 4), "0755");
  EXPECT_EQ(mode_of(folder_ + "/new/deep").substr(0, 4), "0755");
}

TEST_F(VolumeMake, MemoryHoldsNoMoreThanItsLimit) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  const std::string seen = with_own_mounts([this] {
    for (int i = 0; i < 2; ++i) {  // the second time nothing is mounted over it
      const Status made = make(R"({"name":"m","emptyDir":{"medium":"Memory","sizeLimit":"64Ki"}})");
      if (!made.is_success()) return made.message();
      if (i == 0) std::ofstream(path("m") + "/kept") << "kept";
    }
    std::ofstream large(path("m") + "/large");
    large << std::string(100'000, 'x') << std::flush;
    struct statvfs system{};
    statvfs(path("m").c_str(), &system);
    return text_of(path("m") + "/kept") + " " + mode_of(path("m")).substr(0, 4) + " " +
           std::to_string(system.f_blocks * system.f_frsize) + (large ? " fits" : " full");
  });
  EXPECT_EQ(seen, "kept 0777 65536 full");
  EXPECT_TRUE(fs::is_empty(path("m"))) << "it is gone with the process";
}

TEST_F(VolumeMake, ASecretIsInMemoryAndFollowsItsObject) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  const std::string seen = with_own_mounts([this] {
    const Status made = make(R"({"name":"s","secret":{"secretName":"tls","defaultMode":256}})",
                             R"(,"securityContext":{"fsGroup":2000})");
    if (!made.is_success()) return made.message();
    const std::string key = path("s") + "/key";
    std::string text = text_of(key) + " " + mode_of(path("s") + "/..data/key") + " " + mode_of(path("s"));
    const fs::path before = fs::read_symlink(path("s") + "/..data");
    if (!update().is_success() || fs::read_symlink(path("s") + "/..data") != before) return std::string("was written");
    objects_.set(PodObjectKind::secret, "tls", {{"key", "two"}});
    text += update().message() + " ";
    text += text_of(key) + " ";
    objects_.remove(PodObjectKind::secret, "tls");
    text += update().message() + " ";
    return text + text_of(key);
  });
  EXPECT_EQ(seen,
            "one 0440:2000 2777:2000 two MountVolume.SetUp failed for volume \"s\" : secret \"tls\" not found two");
  EXPECT_TRUE(fs::is_empty(path("s"))) << "nothing of it is on the disk";
}

TEST_F(VolumeMake, AVolumeOfAMissingObjectIsMadeOnceItIsThere) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  const std::string seen = with_own_mounts([this] {
    const std::string volume = R"({"name":"c","configMap":{"name":"app"}})";
    const Status missing = make(volume);
    objects_.set(PodObjectKind::config_map, "app", {{"a", "A"}});
    const std::string kind = missing.code() == Code::pending ? "pending: " : "error: ";
    const std::string later = make(volume).message();
    return kind + missing.message() + " " + later + text_of(path("c") + "/a");
  });
  EXPECT_EQ(seen, "pending: MountVolume.SetUp failed for volume \"c\" : configmap \"app\" not found A");
}

}  // namespace
}  // namespace berth
