// Whether something is mounted at a directory.
#include "firmware-host/agent/mount_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace berth {
namespace {

constexpr const char* kTable =
    "36 35 98:0 /mnt1 / rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
    "37 36 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n"
    "38 36 8:2 /srv/other /srv/with\\040space rw - ext4 /dev/sda2 rw\n";

TEST(MountTable, TellsAMountPointFromADirectoryBelowOrAboveOne) {
  EXPECT_TRUE(has_mount(kTable, "/"));
  EXPECT_TRUE(has_mount(kTable, "/srv/data"));
  EXPECT_FALSE(has_mount(kTable, "/srv"));
  EXPECT_FALSE(has_mount(kTable, "/srv/data/below"));
  EXPECT_FALSE(has_mount(kTable, "/srv/other")) << "the root of a mount is no mount point";
}

TEST(MountTable, NamesTheDeviceOfAFileSystem) {
  EXPECT_EQ(device_in(kTable, 98, 0), "/dev/root");
  EXPECT_EQ(device_in(kTable, 8, 2), "/dev/sda2");
  EXPECT_EQ(device_in(kTable, 8, 3), "");
  EXPECT_EQ(device_in("36 35 8:3 / /srv rw", 8, 3), "") << "cut off";
}

TEST(MountTable, ReadsEscapedNames) { EXPECT_TRUE(has_mount(kTable, "/srv/with space")); }

TEST(MountTable, IsNotConfusedByAnythingElse) {
  for (const char* junk : {"", "\n", "1", "1 2 3 4", "1 2 3 4 \\0", "1 2 3 4 \\999 rw"}) {
    EXPECT_FALSE(has_mount(junk, "/srv")) << junk;
  }
}

TEST(MountTable, AsksTheKernelAndFollowsLinks) {
  EXPECT_TRUE(is_mount_point("/proc").value());
  EXPECT_FALSE(is_mount_point("/proc/self/fd").value());
  std::string pattern = std::filesystem::temp_directory_path() / "berth-mounts-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  EXPECT_FALSE(is_mount_point(folder).value());
  std::filesystem::create_directory_symlink("/proc", folder + "/link");
  EXPECT_TRUE(is_mount_point(folder + "/link").value());
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(is_mount_point(folder).has_value()) << "it is gone";
}

}  // namespace
}  // namespace berth
