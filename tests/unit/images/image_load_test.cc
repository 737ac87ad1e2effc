// Images from files that an operator brings.
#include "firmware-host/agent/images/image_load.h"

#include <gtest/gtest.h>

#include "tests/unit/images/store_fixture.h"

namespace berth {
namespace {

TEST(ArchiveNames, AreThoseOfDockerSave) {
  const auto images =
      read_docker_names(R"([{"Config":"c","RepoTags":["a:1","r.example/b:2"]},{"RepoTags":null}])", "/f");
  ASSERT_TRUE(images);
  EXPECT_EQ(*images, (std::vector<ArchivedImage>{{"docker-archive:/f:@0", "a:1"},
                                                 {"docker-archive:/f:@0", "r.example/b:2"},
                                                 {"docker-archive:/f:@1", ""}}));
  EXPECT_FALSE(read_docker_names("[]", "/f"));
  EXPECT_FALSE(read_docker_names("{", "/f"));
}

TEST(ArchiveNames, AreThoseOfALayoutUnlessTheyAreATagAlone) {
  const auto one = read_layout_names(R"({"manifests":[{"annotations":{"org.opencontainers.image.ref.name":"1.25"}}]})",
                                     "oci-archive", "/f");
  ASSERT_TRUE(one);
  EXPECT_EQ(*one, (std::vector<ArchivedImage>{{"oci-archive:/f:1.25", ""}}));
  const auto full = read_layout_names(
      R"({"manifests":[{"annotations":{"org.opencontainers.image.ref.name":"1","io.containerd.image.name":"r.example/a:1"}},
                       {"annotations":{"org.opencontainers.image.ref.name":"r.example/b:2"}}]})",
      "oci", "/d");
  ASSERT_TRUE(full);
  EXPECT_EQ(*full,
            (std::vector<ArchivedImage>{{"oci:/d:1", "r.example/a:1"}, {"oci:/d:r.example/b:2", "r.example/b:2"}}));
  EXPECT_FALSE(read_layout_names(R"({"manifests":[{},{}]})", "oci", "/d"));
  EXPECT_FALSE(read_layout_names(R"({"manifests":[]})", "oci", "/d"));
}

class ImageLoadTest : public ImageStoreTest {
 protected:
  Result<std::vector<std::string>> load(const std::string& path, const std::string& as = {}) {
    std::optional<Result<std::vector<std::string>>> result;
    auto started = ImageLoad::start(loop_.context(), *store_, {.path = path, .name = as, .most_bytes = most_bytes_},
                                    [&](Result<std::vector<std::string>> loaded) { result = std::move(loaded); });
    if (!started) return started.error();
    loop_.run_until([&] { return result.has_value(); });
    return *result;
  }
  std::string error_of(const std::string& path, const std::string& as = {}) {
    const auto loaded = load(path, as);
    return loaded ? "" : loaded.error().message();
  }

  std::int64_t most_bytes_ = std::int64_t{1} << 30;
};

TEST_F(ImageLoadTest, WhatDockerSavesIsLoadedUnderAllOfItsNames) {
  const std::string file = directory_.file("saved.tar");
  skopeo({"copy", "--additional-tag", "r.example/b:2", layout_of({{.layers = three_layers()}}),
          "docker-archive:" + file + ":a:1"});
  const auto loaded = load(file);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->size(), 2u);
  ASSERT_NE(store_->find(named("a:1")), nullptr);
  ASSERT_NE(store_->find(named("r.example/b:2")), nullptr);
  EXPECT_EQ(store_->find(named("a:1"))->config, store_->find(named("r.example/b:2"))->config);
  EXPECT_EQ(count("layers"), 3u);
}

TEST_F(ImageLoadTest, ACompressedLayoutIsLoadedUnderItsNameOrAnother) {
  const std::string file = directory_.file("layout.tar");
  skopeo({"copy", layout_of({{.layers = three_layers()}}), "oci-archive:" + file + ":r.example/app:3"});
  ASSERT_EQ(std::system(("gzip " + file).c_str()), 0);
  const auto loaded = load(file + ".gz");
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(*loaded, std::vector<std::string>{"r.example/app:3"});
  ASSERT_TRUE(load(file + ".gz", "other:1"));
  EXPECT_NE(store_->find(named("other:1")), nullptr);
}

TEST_F(ImageLoadTest, ALayoutWithoutANameNeedsOne) {
  std::string layout = layout_of({{.layers = three_layers()}});
  layout = layout.substr(4);  // "oci:DIRECTORY:image"
  layout.resize(layout.rfind(':'));
  EXPECT_NE(error_of(layout).find("give one"), std::string::npos) << error_of(layout);
  const auto loaded = load(layout, "app:1");
  ASSERT_TRUE(loaded) << loaded.error().message();
}

TEST_F(ImageLoadTest, WhatIsNoArchiveIsRefusedAndSaysWhatWasExpected) {
  const std::string file = directory_.file("file");
  std::ofstream(file) << "no tar at all";
  EXPECT_NE(error_of(file).find("as a tar"), std::string::npos) << error_of(file);
  EXPECT_NE(error_of(directory_.file("none")).find("cannot read"), std::string::npos);
  EXPECT_NE(error_of("/a:b").find("no colon"), std::string::npos);
  ASSERT_EQ(std::system(("tar -C " + directory_.file(".") + " -cf " + directory_.file("other.tar") + " file").c_str()),
            0);
  EXPECT_NE(error_of(directory_.file("other.tar")).find("docker save"), std::string::npos);
  EXPECT_TRUE(store_->list().empty());
}

TEST_F(ImageLoadTest, AnArchiveThatGrowsBeyondTheRoomIsRefusedBeforeItIsUnpacked) {
  const std::string file = directory_.file("bomb.tar");
  skopeo({"copy", layout_of({{.layers = three_layers()}}), "oci-archive:" + file + ":r.example/app:3"});
  ASSERT_EQ(std::system(
                ("cd " + directory_.file(".") + " && truncate -s 300M zeros && tar -rf bomb.tar zeros && gzip " + file)
                    .c_str()),
            0);
  ASSERT_LT(fs::file_size(file + ".gz"), 1u << 20);
  most_bytes_ = 200 << 20;
  EXPECT_NE(error_of(file + ".gz").find("more than 200 MiB uncompressed"), std::string::npos) << error_of(file + ".gz");
  EXPECT_EQ(count("staging") + count("blobs/sha256"), 0u);
  most_bytes_ = 400 << 20;
  EXPECT_TRUE(load(file + ".gz"));
}

TEST_F(ImageLoadTest, ASparseEntryCountsAsMuchAsItWouldBeWrittenAs) {
  const std::string file = directory_.file("sparse.tar");
  skopeo({"copy", layout_of({{.layers = three_layers()}}), "oci-archive:" + file + ":r.example/app:3"});
  ASSERT_EQ(
      std::system(("cd " + directory_.file(".") + " && truncate -s 300M holes && tar -Srf sparse.tar holes").c_str()),
      0);
  most_bytes_ = 200 << 20;
  EXPECT_NE(error_of(file).find("uncompressed"), std::string::npos) << error_of(file);
}

}  // namespace
}  // namespace berth
