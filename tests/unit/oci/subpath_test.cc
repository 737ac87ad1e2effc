// Subpaths of volumes, hostile ones too.
#include "firmware-host/agent/oci/subpath.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace berth {
namespace {

namespace fs = std::filesystem;

class Subpath : public testing::Test {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    fs::create_directories(volume() + "/data/logs");
    fs::create_directories(folder_ + "/outside");
    std::ofstream(folder_ + "/outside/secret") << "secret";
    std::ofstream(volume() + "/data/file") << "content";
  }
  void TearDown() override {
    if (fs::exists(folder_)) fs::remove_all(folder_);
  }
  std::string volume() const { return folder_ + "/volume"; }
  std::string target() const { return folder_ + "/target"; }

  // In a process with mounts of its own: binds, and answers the error, or what `look` finds.
  std::string bind(const std::string& subpath, const std::function<std::string()>& look) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      std::string answer = "cannot separate mounts";
      if (unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
        const Status bound = bind_subpath(volume(), subpath, target());
        answer = bound.is_success() ? look() : bound.message();
      }
      _exit(write(ends[1], answer.data(), answer.size()) < 0 ? 1 : 0);
    }
    close(ends[1]);
    std::array<char, 4096> answer{};
    const ssize_t got = ::read(ends[0], answer.data(), answer.size());
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return {answer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }
  std::string names_in_target() const {
    std::string names;
    for (const auto& entry : fs::directory_iterator(target())) names += entry.path().filename().string() + " ";
    return names;
  }

  std::string folder_ = (fs::temp_directory_path() / "berth-subpath-XXXXXX").string();
};

TEST_F(Subpath, OfADirectoryShowsIt) {
  EXPECT_EQ(bind("data", [this] { return std::to_string(fs::exists(target() + "/logs")); }), "1");
}

TEST_F(Subpath, OfAFileShowsIt) {
  EXPECT_EQ(bind("data/file",
                 [this] {
                   std::ifstream file(target());
                   return std::string(std::istreambuf_iterator<char>(file), {});
                 }),
            "content");
}

TEST_F(Subpath, ThatIsMissingIsMadeLikeTheVolume) {
  ASSERT_EQ(chmod(volume().c_str(), 0770), 0);
  ASSERT_EQ(chown(volume().c_str(), 1000, 1001), 0);
  EXPECT_EQ(bind("new/deep", [this] { return names_in_target(); }), "");
  struct stat made{};
  ASSERT_EQ(stat((volume() + "/new/deep").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, 1000u);
  EXPECT_EQ(made.st_gid, 1001u);
  EXPECT_EQ(made.st_mode & 0777, 0770u) << "the umask counts";
}

TEST_F(Subpath, ALinkThatLeadsOutOfTheVolumeIsRefused) {
  const auto look = [this] { return names_in_target(); };
  fs::create_symlink(folder_ + "/outside", volume() + "/absolute");
  fs::create_symlink("../outside", volume() + "/relative");
  fs::create_symlink("/proc/self/root", volume() + "/magic");
  EXPECT_EQ(bind("absolute", look), "subPath 'absolute': leads out of its volume");
  EXPECT_EQ(bind("relative", look), "subPath 'relative': leads out of its volume");
  EXPECT_EQ(bind("relative/new", look), "subPath 'relative/new': leads out of its volume");
  EXPECT_EQ(bind("magic/etc", look), "subPath 'magic/etc': leads out of its volume");
  EXPECT_FALSE(fs::exists(folder_ + "/outside/new"));
}

TEST_F(Subpath, ALinkWithinTheVolumeIsFollowed) {
  fs::create_symlink("data/logs", volume() + "/current");
  std::ofstream(volume() + "/data/logs/today") << "";
  EXPECT_EQ(bind("current", [this] { return names_in_target(); }), "today ");
}

TEST_F(Subpath, WithDotsOrFromTheRootOrThroughAFileIsRefused) {
  const auto look = [] { return std::string("bound"); };
  EXPECT_EQ(bind("data/../../outside", look), "subPath 'data/../../outside': must be without ..");
  EXPECT_EQ(bind("/etc", look), "subPath '/etc': must be a relative path");
  EXPECT_EQ(bind("data/file/deeper", look), "subPath 'data/file/deeper': Not a directory");
  EXPECT_EQ(bind(".", look), "subPath '.': names the volume itself");
}

}  // namespace
}  // namespace berth
