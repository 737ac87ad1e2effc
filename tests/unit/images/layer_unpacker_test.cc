// Layers that the tests make, unpacked by a real child. Needs root: chroot, whiteouts and trusted attributes do.
#include "firmware-host/agent/images/layer_unpacker.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "tests/unit/images/images_loop.h"
#include "tests/unit/images/made_layer.h"
#include "tests/unit/images/small_disk.h"
#include "tests/unit/transports/mosquitto_child.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class LayerUnpackTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "unpacking needs root: chroot(2), mknod(2) and trusted.* attributes";
    fs::create_directory(outside());
    write_file(outside() + "/secret", "secret");
  }

  std::string root() const { return directory_.file("layer"); }
  std::string at(const std::string& path) const { return root() + "/" + path; }
  std::string outside() const { return directory_.file("outside"); }

  UnpackEnd unpack(const MadeLayer& layer, const UnpackLimits& limits = {.bytes = 64 << 20, .entries = 1000},
                   const std::vector<std::string>& lower = {}) {
    write_file(directory_.file("blob"), layer.blob);
    std::optional<UnpackEnd> ended;
    auto started = LayerUnpack::start(loop_.context(),
                                      {.blob = directory_.file("blob"),
                                       .digest = layer.digest,
                                       .diff_id = layer.diff_id,
                                       .directory = root(),
                                       .lower = lower,
                                       .limits = limits},
                                      [&](UnpackEnd end) { ended = std::move(end); });
    EXPECT_TRUE(started) << started.error().message();
    loop_.run_until([&] { return ended.has_value(); });
    EXPECT_FALSE(fs::exists(root() + LayerUnpack::kPartial));
    EXPECT_EQ(fs::exists(root()), ended->status.is_success()) << ended->status.message();
    return *ended;
  }
  UnpackEnd unpack(const std::vector<MadeEntry>& entries) { return unpack(layer_of(entries)); }
  // Over others, the lowest first, which are unpacked before.
  UnpackEnd unpack_over(const std::vector<std::vector<MadeEntry>>& others, const std::vector<MadeEntry>& entries) {
    std::vector<std::string> lower;
    for (const std::vector<MadeEntry>& other : others) {
      const UnpackEnd end = unpack(layer_of(other), {.bytes = 1 << 20, .entries = 100}, lower);
      EXPECT_TRUE(end.status.is_success()) << end.status.message();
      lower.insert(lower.begin(), directory_.file("lower" + std::to_string(lower.size())));
      fs::rename(root(), lower.front());
    }
    return unpack(layer_of(entries), {.bytes = 1 << 20, .entries = 100}, lower);
  }

  void expect_refused(const std::vector<MadeEntry>& entries, const std::string& part) {
    const UnpackEnd end = unpack(entries);
    EXPECT_FALSE(end.status.is_success());
    EXPECT_NE(end.status.message().find(part), std::string::npos) << end.status.message();
    EXPECT_FALSE(end.is_damaged);
    EXPECT_EQ(fs::directory_iterator(outside())->path().filename(), "secret");
    EXPECT_EQ(contents(outside() + "/secret"), "secret");
  }

  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  struct stat status_of(const std::string& path) const {
    struct stat found{};
    EXPECT_EQ(lstat(at(path).c_str(), &found), 0) << path;
    return found;
  }
  std::string attribute(const std::string& path, const std::string& name) const {
    std::array<char, 256> value;
    const ssize_t n = lgetxattr(at(path).c_str(), name.c_str(), value.data(), value.size());
    return n < 0 ? "" : std::string(value.data(), static_cast<std::size_t>(n));
  }
  bool is_opaque(const std::string& path) const { return attribute(path, "trusted.overlay.opaque") == "y"; }
  bool is_whiteout(const std::string& path) const {
    const struct stat found = status_of(path);
    return S_ISCHR(found.st_mode) && found.st_rdev == makedev(0, 0);
  }

  TempDir directory_;
  ImagesLoop loop_;
};

TEST_F(LayerUnpackTest, WritesFilesFoldersAndLinksWithOwnersModesAndTimes) {
  MadeEntry program = file("bin/su", "program");
  program.mode = 04755;
  program.uid = 12;
  program.gid = 34;
  MadeEntry named = folder("var/t\xc3\xa4glich", 01777);
  named.uid = 7;
  const UnpackEnd end = unpack({folder("./", 0750),
                                folder("bin"),
                                program,
                                symbolic_link("bin/sh", "/bin/su"),
                                hard_link("bin/login", "bin/su"),
                                folder("var", 0500),
                                named,
                                {.name = "var/pipe", .type = AE_IFIFO},
                                file("var/t\xc3\xa4glich/" + std::string(150, 'n'), "long")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_EQ(end.unpacked.entries, 9);
  EXPECT_EQ(end.unpacked.skipped, 0);
  const struct stat su = status_of("bin/su");
  EXPECT_EQ(su.st_mode, static_cast<mode_t>(S_IFREG | 04755));
  EXPECT_EQ(su.st_uid, 12u);
  EXPECT_EQ(su.st_gid, 34u);
  EXPECT_EQ(su.st_nlink, 2u);
  EXPECT_EQ(su.st_mtime, kSetsTimes ? 1'000'000'000 : 0);
  EXPECT_EQ(status_of("bin/login").st_ino, su.st_ino);
  EXPECT_EQ(contents(at("bin/su")), "program");
  EXPECT_EQ(fs::read_symlink(at("bin/sh")), "/bin/su");
  EXPECT_EQ(status_of("var").st_mode, static_cast<mode_t>(S_IFDIR | 0500));
  EXPECT_EQ(status_of("var").st_mtime, su.st_mtime);
  EXPECT_EQ(status_of("var/t\xc3\xa4glich").st_mode, static_cast<mode_t>(S_IFDIR | 01777));
  EXPECT_EQ(status_of("var/t\xc3\xa4glich").st_uid, 7u);
  EXPECT_TRUE(S_ISFIFO(status_of("var/pipe").st_mode));
  EXPECT_EQ(contents(at("var/t\xc3\xa4glich/" + std::string(150, 'n'))), "long");
  EXPECT_EQ(status_of(".").st_mode, static_cast<mode_t>(S_IFDIR | 0750));
}

TEST_F(LayerUnpackTest, ReadsPlainGzipAndZstd) {
  for (const Packing packing : {Packing::plain, Packing::gzip, Packing::zstd}) {
    const UnpackEnd end = unpack(layer_of({file("a", std::string(300'000, 'a'))}, packing));
    ASSERT_TRUE(end.status.is_success()) << end.status.message();
    EXPECT_EQ(contents(at("a")), std::string(300'000, 'a'));
    fs::remove_all(root());
  }
}

TEST_F(LayerUnpackTest, ALayerMayBeEmpty) {
  EXPECT_TRUE(unpack(std::vector<MadeEntry>{}).status.is_success());
  EXPECT_TRUE(fs::is_empty(root()));
}

TEST_F(LayerUnpackTest, WhiteoutsBecomeDevicesAndOpaqueFoldersGetTheAttribute) {
  const UnpackEnd end =
      unpack({folder("etc"), file("etc/.wh.gone"), file(".wh.top"), folder("opt"), file("opt/.wh..wh..opq"),
              file("opt/new", "new"), file("implied/.wh..wh..opq"), file(".wh..wh.plnk", "of AUFS")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_TRUE(is_whiteout("etc/gone"));
  EXPECT_TRUE(is_whiteout("top"));
  EXPECT_TRUE(is_opaque("opt"));
  EXPECT_TRUE(is_opaque("implied"));
  EXPECT_FALSE(is_opaque("etc"));
  EXPECT_EQ(contents(at("opt/new")), "new");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".wh.")) << entry.path();
  }
}

TEST_F(LayerUnpackTest, AWhiteoutHidesOnlyWhatIsBelowInWhicheverOrder) {
  const UnpackEnd end =
      unpack({file(".wh.first"), file("first", "here"), file("second", "here"), file(".wh.second"), file(".wh.a"),
              folder("a"), file("a/x"), file(".wh.b"), file("b/x"), folder("c"), file(".wh.c")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_EQ(contents(at("first")), "here");
  EXPECT_EQ(contents(at("second")), "here");
  for (const char* replaced : {"a", "b", "c"}) EXPECT_TRUE(is_opaque(replaced)) << replaced;
}

TEST_F(LayerUnpackTest, KeepsCapabilitiesAndUserAttributesAndNoOthers) {
  // struct vfs_ns_cap_data revision 2: cap_net_bind_service, effective.
  const std::string capability("\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 20);
  MadeEntry ping = file("ping", "program");
  ping.uid = 5;
  ping.attributes = {{"security.capability", capability}, {"user.note", "x"}};
  MadeEntry sly = folder("sly");
  sly.attributes = {{"trusted.overlay.redirect", "/etc"}, {"trusted.overlay.opaque", "y"}};
  const UnpackEnd end = unpack({ping, sly});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_EQ(attribute("ping", "security.capability"), capability);
  EXPECT_EQ(attribute("sly", "trusted.overlay.redirect"), "");
  EXPECT_FALSE(is_opaque("sly"));
  // Not every file system has attributes of users; the first one that is left out is named.
  const bool has_users = attribute("ping", "user.note") == "x";
  EXPECT_EQ(end.unpacked.skipped, has_users ? 2 : 3);
  const std::string first =
      has_users ? "\"sly\": the extended attribute trusted.overlay." : "\"ping\": the extended attribute user.note";
  EXPECT_TRUE(end.unpacked.note.starts_with(first)) << end.unpacked.note;
}

TEST_F(LayerUnpackTest, ReplacesWhatAnEarlierEntryHasMade) {
  const UnpackEnd end =
      unpack({folder("a"), file("a/x"), file("a", "file"), file("b"), folder("b"), file("b/y"), symbolic_link("c", "b"),
              folder("c"), file("c/z"), symbolic_link("d", "b"), file("d", "d")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_EQ(contents(at("a")), "file");
  EXPECT_TRUE(fs::exists(at("b/y")));
  EXPECT_FALSE(fs::exists(at("b/z")));
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(at("c"))));
  EXPECT_EQ(contents(at("d")), "d");
}

TEST_F(LayerUnpackTest, SkipsDevicesAndSaysSo) {
  const UnpackEnd end = unpack({{.name = "dev/null", .type = AE_IFCHR, .major = 1, .minor = 3},
                                {.name = "dev/sda", .type = AE_IFBLK, .major = 8, .minor = 0},
                                {.name = "dev/forged", .type = AE_IFCHR, .major = 0, .minor = 0},
                                file("dev/x")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_EQ(end.unpacked.skipped, 3);
  EXPECT_EQ(end.unpacked.note, "\"dev/null\": a device");
  EXPECT_EQ(std::distance(fs::directory_iterator(at("dev")), {}), 1);
}

TEST_F(LayerUnpackTest, AFolderThatOnlyALowerLayerDescribesIsAsThere) {
  const std::string lower = directory_.file("lower");
  fs::create_directories(lower + "/tmp/deep");
  ASSERT_EQ(chmod((lower + "/tmp").c_str(), 01777), 0);
  ASSERT_EQ(chown((lower + "/tmp/deep").c_str(), 3, 4), 0);
  fs::create_directory_symlink(outside(), lower + "/leads-out");
  ASSERT_EQ(chmod(outside().c_str(), 0711), 0);
  const UnpackEnd end = unpack(layer_of({file("tmp/deep/x"), file("leads-out/x"), file("new/x")}),
                               {.bytes = 1 << 20, .entries = 100}, {lower});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_EQ(status_of("tmp").st_mode, static_cast<mode_t>(S_IFDIR | 01777));
  EXPECT_EQ(status_of("tmp/deep").st_gid, 4u);
  EXPECT_EQ(status_of(outside().substr(1)).st_mode, static_cast<mode_t>(S_IFDIR | 0755)) << "in the image's own root";
  EXPECT_EQ(status_of("new").st_mode, static_cast<mode_t>(S_IFDIR | 0755));
}

// As /lib of a merged-usr system: a layer that writes there is of a tool that does not know it.
TEST_F(LayerUnpackTest, WhatIsBelowALinkOfALowerLayerGoesWhereItLeads) {
  const UnpackEnd end = unpack_over({{folder("usr/lib", 0711), file("usr/lib/old.so"), symbolic_link("lib", "usr/lib"),
                                      symbolic_link("usr/lib64", "/lib"), symbolic_link("bin", "missing")},
                                     {file("etc/passwd")}},
                                    {file("lib/new.so", "new"), hard_link("lib/again.so", "lib/new.so"),
                                     file("lib/.wh.old.so"), file("usr/lib64/deep/x.so", "x"), file("bin/tool", "t")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_FALSE(fs::exists(fs::symlink_status(at("lib")))) << "the link is not hidden";
  EXPECT_FALSE(fs::exists(fs::symlink_status(at("usr/lib64"))));
  EXPECT_EQ(contents(at("usr/lib/new.so")), "new");
  EXPECT_EQ(status_of("usr/lib/again.so").st_nlink, 2u);
  EXPECT_TRUE(is_whiteout("usr/lib/old.so"));
  EXPECT_EQ(contents(at("usr/lib/deep/x.so")), "x");
  EXPECT_EQ(status_of("usr/lib").st_mode, static_cast<mode_t>(S_IFDIR | 0711)) << "as in the layer below";
  EXPECT_EQ(contents(at("missing/tool")), "t");
}

TEST_F(LayerUnpackTest, ALinkThatAnotherLayerHasReplacedIsNotFollowed) {
  const UnpackEnd end = unpack_over(
      {{folder("usr/lib"), symbolic_link("lib", "usr/lib"), symbolic_link("etc/a", "/usr"), symbolic_link("run", "usr"),
        symbolic_link("var", "usr"), folder("opt"), symbolic_link("opt/b", "/usr")},
       {folder("lib"), file("etc/.wh..wh..opq"), file(".wh.run")}},
      {file("lib/x"), file("etc/a/x"), file("run/x"), folder("var"), file("var/x"), file(".wh.opt"), folder("opt"),
       file("opt/b/x")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  for (const char* path : {"lib/x", "etc/a/x", "run/x", "var/x", "opt/b/x"}) EXPECT_TRUE(fs::exists(at(path))) << path;
  EXPECT_FALSE(fs::exists(at("usr")));
}

TEST_F(LayerUnpackTest, ALinkOfALowerLayerLeadsNowhereOutside) {
  const UnpackEnd end = unpack_over({{symbolic_link("out", outside()), symbolic_link("up", "../../../../../..")}},
                                    {file("out/planted", "x"), file("up/inside", "y")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_EQ(contents(at(outside().substr(1) + "/planted")), "x");
  EXPECT_EQ(contents(at("inside")), "y");
  EXPECT_FALSE(fs::exists(outside() + "/planted"));
}

TEST_F(LayerUnpackTest, RefusesNamesThatLeadOut) {
  expect_refused({file("../x")}, "\"../x\" has \"..\" in it");
  expect_refused({folder("a"), file("a/../../outside/x")}, "\"a/../../outside/x\"");
  expect_refused({file("/abs")}, "\"/abs\" is absolute");
  expect_refused({hard_link("mine", outside() + "/secret")}, "entry \"mine\" is a hard link, but the name");
  expect_refused({hard_link("mine", "../outside/secret")}, "entry \"mine\" is a hard link, but the name");
}

TEST_F(LayerUnpackTest, ASymbolicLinkLeadsNowhereOutside) {
  expect_refused({symbolic_link("way", "other"), symbolic_link("other", "way"), file("way/x")},
                 "too many links lead to");
  expect_refused({symbolic_link("way", outside() + "/secret"), hard_link("mine", "way/x")}, "entry \"mine\"");
  // The root is the layer's own, however many steps up.
  const UnpackEnd end =
      unpack({symbolic_link("up", "../../../../.."), file("up/inside", "x"), file(".wh.up2"),
              symbolic_link("out", outside()), file("out/planted", "x"), symbolic_link("back", "../outside"),
              file("back/planted", "x"), symbolic_link("way", outside() + "/secret"), file("way", "replaced")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_EQ(contents(at("inside")), "x");
  EXPECT_EQ(contents(at(outside().substr(1) + "/planted")), "x");
  EXPECT_EQ(contents(at("outside/planted")), "x");
  EXPECT_FALSE(fs::exists(outside() + "/planted"));
  EXPECT_EQ(contents(at("way")), "replaced");
  EXPECT_EQ(contents(outside() + "/secret"), "secret");
}

TEST_F(LayerUnpackTest, AHardLinkToASymbolicLinkLinksTheLink) {
  const UnpackEnd end = unpack({symbolic_link("link", outside() + "/secret"), hard_link("again", "link")});
  ASSERT_TRUE(end.status.is_success()) << end.status.message();
  EXPECT_TRUE(fs::is_symlink(at("again")));
}

TEST_F(LayerUnpackTest, StopsAtTheLimits) {
  const UnpackEnd bomb =
      unpack(layer_of({file("zeros", std::string(20 << 20, '\0'))}), {.bytes = 1 << 20, .entries = 10});
  EXPECT_NE(bomb.status.message().find("it unpacks to more than 1048576 bytes"), std::string::npos)
      << bomb.status.message();
  const UnpackEnd many = unpack(layer_of({file("a/1"), file("a/2"), file("a/3")}), {.bytes = 1 << 20, .entries = 3});
  EXPECT_NE(many.status.message().find("is one more than the 3 that"), std::string::npos) << many.status.message();
}

TEST_F(LayerUnpackTest, StopsWhereTheDiskWouldBeFilledWithOtherThings) {
  const SmallDisk disk(directory_.path(), 32 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << "tmpfs cannot be mounted here";
  fs::create_directory(outside());
  const MadeLayer zeros = layer_of({file("zeros", std::string(16 << 20, '\0'))});
  const UnpackEnd stopped = unpack(zeros, {.bytes = 64 << 20, .entries = 10, .kept_free = 24 << 20});
  EXPECT_NE(stopped.status.message().find("insufficient disk: 2"), std::string::npos) << stopped.status.message();
  EXPECT_TRUE(stopped.is_without_space);
  EXPECT_FALSE(stopped.is_damaged);
  const UnpackEnd fits = unpack(zeros, {.bytes = 64 << 20, .entries = 10, .kept_free = 8 << 20});
  EXPECT_TRUE(fits.status.is_success()) << fits.status.message();
}

TEST_F(LayerUnpackTest, WhatFollowsTheTarCountsToo) {
  MadeLayer layer = layer_of({file("a")}, Packing::plain);
  layer.blob += std::string(2 << 20, '\0');
  layer.digest = layer.diff_id = sha256_digest(layer.blob);
  EXPECT_FALSE(unpack(layer, {.bytes = 1 << 20, .entries = 10}).status.is_success());
  EXPECT_TRUE(unpack(layer, {.bytes = 3 << 20, .entries = 10}).status.is_success());
}

TEST_F(LayerUnpackTest, ATruncatedBlobLeavesNothing) {
  std::string noise(1 << 20, '\0');
  std::uint32_t state = 1;
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (const Packing packing : {Packing::plain, Packing::gzip, Packing::zstd}) {
    MadeLayer layer = layer_of({file("first"), file("noise", noise)}, packing);
    layer.blob.resize(layer.blob.size() / 2);
    const UnpackEnd damaged = unpack(layer);
    EXPECT_TRUE(damaged.is_damaged) << damaged.status.message();
    EXPECT_NE(damaged.status.message().find("expected " + layer.digest), std::string::npos) << damaged.status.message();
    layer.digest = sha256_digest(layer.blob);  // made so
    const UnpackEnd made_so = unpack(layer);
    EXPECT_FALSE(made_so.status.is_success());
    EXPECT_FALSE(made_so.is_damaged) << made_so.status.message();
  }
}

TEST_F(LayerUnpackTest, AWrongDigestLeavesNothing) {
  MadeLayer layer = layer_of({file("a", "contents")});
  const MadeLayer other = layer_of({file("b")});
  layer.diff_id = other.diff_id;
  const UnpackEnd wrong = unpack(layer);
  EXPECT_NE(wrong.status.message().find("expected the diff id " + other.diff_id), std::string::npos)
      << wrong.status.message();
  EXPECT_FALSE(wrong.is_damaged);
  layer.digest = other.digest;
  EXPECT_TRUE(unpack(layer).is_damaged);
}

TEST_F(LayerUnpackTest, WhatIsNoTarIsRefused) {
  MadeLayer layer{.blob = std::string(5000, 'j'), .digest = {}, .diff_id = {}};
  layer.digest = layer.diff_id = sha256_digest(layer.blob);
  EXPECT_FALSE(unpack(layer).status.is_success());
}

TEST_F(LayerUnpackTest, BeginsAgainAfterACrash) {
  fs::create_directories(root() + LayerUnpack::kPartial + std::string("/left/over"));
  ASSERT_TRUE(unpack({file("a")}).status.is_success());
  EXPECT_FALSE(fs::exists(at("left")));
}

TEST_F(LayerUnpackTest, TheChildEndsWithTheObject) {
  const MadeLayer layer = layer_of({file("a", std::string(8 << 20, 'a'))}, Packing::plain);
  write_file(directory_.file("blob"), layer.blob);
  auto started = LayerUnpack::start(loop_.context(),
                                    {.blob = directory_.file("blob"),
                                     .digest = layer.digest,
                                     .diff_id = layer.diff_id,
                                     .directory = root(),
                                     .lower = {},
                                     .limits = {}},
                                    [](const UnpackEnd&) { FAIL() << "nobody is there to be told"; });
  ASSERT_TRUE(started);
  started->reset();
  EXPECT_FALSE(fs::exists(root()));
}

}  // namespace
}  // namespace berth
