// The store with real tools: skopeo, a registry, and overlayfs.
#include "firmware-host/agent/images/image_store.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/unit/images/store_fixture.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

std::int64_t inode_of(const std::string& path) {
  struct stat found{};
  EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
  return static_cast<std::int64_t>(found.st_ino);
}

TEST_F(ImageStoreTest, PullsFromARegistryAndOverlayfsShowsTheImage) {
  push({{.layers = three_layers()}}, "app:1");
  const Result<ImageRecord> image = pull(name("app:1"));
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->layers.size(), 3u);
  EXPECT_EQ(image->reference, registry_->address() + "/app:1");
  EXPECT_GT(image->size, 500);
  EXPECT_EQ(store_->list(), std::vector<ImageRecord>{*image});
  EXPECT_EQ(store_->config(*image)->cmd, std::vector<std::string>{"/bin/app"});
  EXPECT_EQ(count("staging"), 0u);

  std::string lower;
  for (const std::string& directory : store_->directories(*image)) lower += (lower.empty() ? "" : ":") + directory;
  const std::string root = directory_.file("mounted");
  fs::create_directory(root);
  if (mount("overlay", root.c_str(), "overlay", MS_RDONLY, ("lowerdir=" + lower).c_str()) != 0) {
    GTEST_SKIP() << "overlayfs cannot be mounted here";
  }
  EXPECT_EQ(contents(root + "/etc/kept"), "kept");
  EXPECT_EQ(contents(root + "/etc/new"), "new");
  EXPECT_EQ(contents(root + "/opt/two"), "2");
  for (const char* hidden : {"/etc/old", "/gone", "/opt/one"}) EXPECT_FALSE(fs::exists(root + hidden)) << hidden;
  EXPECT_EQ(umount(root.c_str()), 0);
}

TEST_F(ImageStoreTest, ASecondPullFetchesNoLayerAgain) {
  push({{.layers = three_layers()}}, "app:1");
  const Result<ImageRecord> first = pull(name("app:1"));
  ASSERT_TRUE(first) << first.error().message();
  std::vector<std::int64_t> inodes;
  for (const ImageLayer& layer : first->layers) inodes.push_back(inode_of(blob(layer.digest)));
  const auto fetched = [&](const ImageLayer& layer) {
    return registry_->requests("\"GET /v2/app/blobs/" + layer.digest);
  };
  for (const ImageLayer& layer : first->layers) EXPECT_EQ(fetched(layer), 1);
  open_store();
  const Result<ImageRecord> second = pull(name("app:1"));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(second->manifest, first->manifest);
  for (std::size_t i = 0; i < inodes.size(); ++i) {
    EXPECT_EQ(fetched(first->layers[i]), 1);
    EXPECT_EQ(inode_of(blob(first->layers[i].digest)), inodes[i]);
  }
}

TEST_F(ImageStoreTest, ASecondRequestJoinsTheFirst) {
  push({{.layers = three_layers()}}, "app:1");
  std::vector<Result<ImageRecord>> results;
  const auto on_image = [&](const Result<ImageRecord>& image) { results.push_back(image); };
  ASSERT_TRUE(store_->pull(name("app:1"), on_image).is_success());
  ASSERT_TRUE(store_->pull(name("app:1"), on_image).is_success());
  EXPECT_EQ(count("staging"), 1u);
  loop_.run_until([&] { return results.size() == 2; });
  ASSERT_TRUE(results[0]) << results[0].error().message();
  EXPECT_EQ(*results[0], *results[1]);
  EXPECT_EQ(registry_->requests("\"GET /v2/app/manifests/1 "), 1);
}

TEST_F(ImageStoreTest, AnArchiveIsTakenAlthoughItsNameIsBeingPulledInVain) {
  const std::string archive = "docker-archive:" + directory_.file("docker.tar");
  skopeo({"copy", layout_of({{.layers = three_layers()}}), archive + ":app:1"});
  std::vector<bool> results;
  const auto on_image = [&](const Result<ImageRecord>& image) { results.push_back(image.has_value()); };
  ASSERT_TRUE(store_->pull(name("app:1"), on_image).is_success());
  ASSERT_TRUE(store_->import(archive, name("app:1"), on_image).is_success());
  loop_.run_until([&] { return results.size() == 2; });
  EXPECT_EQ(results, (std::vector<bool>{false, true}));
  EXPECT_NE(store_->find(name("app:1")), nullptr);
}

TEST_F(ImageStoreTest, PullsOfImagesWithTheSameBaseShareItsLayers) {
  std::vector<MadeLayer> other = three_layers();
  other.back() = layer_of({file("other", "other")});
  push({{.layers = three_layers()}}, "app:1");
  push({{.layers = other}}, "app:2");
  int ended = 0;
  const auto on_image = [&](const Result<ImageRecord>& image) {
    EXPECT_TRUE(image) << image.error().message();
    ++ended;
  };
  ASSERT_TRUE(store_->pull(name("app:1"), on_image).is_success());
  ASSERT_TRUE(store_->pull(name("app:2"), on_image).is_success());
  loop_.run_until([&] { return ended == 2; });
  EXPECT_EQ(count("layers"), 4u);
  EXPECT_EQ(store_->list().size(), 2u);
}

TEST_F(ImageStoreTest, TakesThePlatformThatItWasToldTo) {
  push({{.architecture = "amd64", .layers = {layer_of({file("amd64")})}},
        {.architecture = "arm64", .layers = {layer_of({file("arm64")})}}},
       "app:1");
  options_.source.platform.architecture = "arm64";
  open_store();
  const Result<ImageRecord> image = pull(name("app:1"));
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(store_->config(*image)->architecture, "arm64");
  EXPECT_TRUE(fs::exists(store_->directories(*image)[0] + "/arm64"));
}

TEST_F(ImageStoreTest, OfAnIndexAnArmDeviceTakesTheNewestThatItRuns) {
  const auto image_for = [](const std::string& variant) {
    return MadeImage{.architecture = "arm", .layers = {layer_of({file(variant)})}, .variant = variant};
  };
  push({image_for("v7"), image_for("v6"), image_for("v5")}, "app:1");
  push({image_for("v6"), image_for("v5")}, "app:2");
  push({image_for("v7"), image_for("v8")}, "app:3");
  const auto taken_by = [&](const std::string& device, const std::string& text) {
    options_.source.platform = {.os = "linux", .architecture = "arm", .variant = device};
    open_store();
    const Result<ImageRecord> image = pull(name(text));
    return image ? store_->config(*image)->variant : "none";
  };
  EXPECT_EQ(taken_by("v7", "app:1"), "v7");
  EXPECT_EQ(taken_by("v6", "app:1"), "v6");
  EXPECT_EQ(taken_by("v7", "app:2"), "v6");
  EXPECT_EQ(taken_by("v6", "app:3"), "none");
}

TEST_F(ImageStoreTest, AnArchiveForAnotherVariantIsTakenOnlyIfTheProcessorRunsIt) {
  const auto taken_by = [&](const std::string& device, const std::string& variant) {
    options_.source.platform = {.os = "linux", .architecture = "arm", .variant = device};
    open_store();
    const std::string archive =
        layout_of({{.architecture = "arm", .layers = {layer_of({file("app")})}, .variant = variant}});
    const Result<ImageRecord> image = import(archive, named("app"));
    return image ? "taken" : image.error().message();
  };
  EXPECT_EQ(taken_by("v6", "v7"),
            "image docker.io/library/app:latest: it is of the platform linux/arm/v7, expected linux/arm/v6");
  EXPECT_NE(taken_by("v7", "v8"), "taken");
  EXPECT_NE(taken_by("v6", "v4"), "taken");
  EXPECT_NE(taken_by("v6", "hard"), "taken");
  for (const char* variant : {"v7", "7", "v6", "v5", ""}) EXPECT_EQ(taken_by("v7", variant), "taken") << variant;
  for (const char* variant : {"v6", "v5", ""}) EXPECT_EQ(taken_by("v6", variant), "taken") << variant;
}

TEST_F(ImageStoreTest, PullsByDigest) {
  push({{.layers = three_layers()}}, "app:1");
  const Result<ImageRecord> tagged = pull(name("app:1"));
  ASSERT_TRUE(tagged) << tagged.error().message();
  const Result<ImageRecord> image = pull(name("app@" + tagged->manifest));
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->config, tagged->config);
  EXPECT_EQ(store_->list().size(), 2u);
}

TEST_F(ImageStoreTest, LoadsArchivesAndLayouts) {
  const std::string layout = layout_of({{.layers = three_layers()}});
  const std::string docker = "docker-archive:" + directory_.file("docker.tar");
  const std::string oci = "oci-archive:" + directory_.file("oci.tar");
  skopeo({"copy", layout, docker + ":local/app:1"});
  skopeo({"copy", layout, oci});
  for (const std::string& source : {docker, oci, layout}) {
    const Result<ImageRecord> image = import(source, named("local/app:1"));
    ASSERT_TRUE(image) << source << ": " << image.error().message();
    EXPECT_EQ(contents(store_->directories(*image)[0] + "/opt/two"), "2") << source;
    EXPECT_EQ(count("layers"), 3u) << "the same layers, however they were compressed";
  }
}

TEST_F(ImageStoreTest, CollectsWhatNoImageAndNoPinRefersTo) {
  std::vector<MadeLayer> other = three_layers();
  other.back() = layer_of({file("other", "other")});
  const std::vector<MadeLayer> lone{layer_of({file("lone")})};
  push({{.layers = three_layers()}}, "app:1");
  push({{.layers = other}}, "app:2");
  push({{.layers = lone}}, "app:3");
  for (const char* tag : {"app:1", "app:2", "app:3"}) ASSERT_TRUE(pull(name(tag)));
  ASSERT_TRUE(store_->pin("pod/c", name("app:3")).is_success());
  EXPECT_EQ(collect().blobs, 0);
  for (const char* tag : {"app:1", "app:3"}) ASSERT_TRUE(store_->remove(name(tag)).is_success());
  EXPECT_FALSE(store_->remove(name("app:1")).is_success());
  ImageStore::Collected collected = collect();
  EXPECT_EQ(collected.layers, 1);
  EXPECT_EQ(collected.blobs, 3) << "manifest, config and the layer that only app:1 had";
  EXPECT_EQ(count("layers"), 4u);
  EXPECT_EQ(count("trash"), 0u);

  open_store();  // which finds the pin again
  ASSERT_EQ(store_->pins().count("pod/c"), 1u);
  EXPECT_TRUE(fs::exists(store_->directories(store_->pins().at("pod/c"))[0] + "/lone"));
  EXPECT_EQ(collect().layers, 0);
  ASSERT_TRUE(store_->unpin("pod/c").is_success());
  EXPECT_EQ(collect().layers, 1);
  EXPECT_EQ(store_->list().size(), 1u);
}

TEST_F(ImageStoreTest, CollectsOnlyWhenNoPullIsUnderWay) {
  push({{.layers = three_layers()}}, "app:1");
  bool is_pulled = false;
  bool is_collected = false;
  ASSERT_TRUE(store_->pull(name("app:1"), [&](const Result<ImageRecord>& image) { is_pulled = image.has_value(); })
                  .is_success());
  store_->collect_garbage([&](const Result<ImageStore::Collected>& collected) {
    EXPECT_TRUE(is_pulled);
    EXPECT_EQ(collected->blobs, 0);
    is_collected = true;
  });
  loop_.run_until([&] { return is_collected; });
}

TEST_F(ImageStoreTest, AStartRemovesWhatACrashHasLeft) {
  push({{.layers = three_layers()}}, "app:1");
  const Result<ImageRecord> image = pull(name("app:1"));
  ASSERT_TRUE(image) << image.error().message();
  fs::create_directories(options_.root + "/layers/abc.partial/etc");
  fs::create_directories(options_.root + "/staging/0/layout");
  write_file(options_.root + "/images/half.json.new", "{");
  write_file(options_.root + "/images/damaged.json", "{");
  open_store();
  EXPECT_EQ(store_->list().size(), 1u);
  EXPECT_EQ(count("layers"), 3u);
  EXPECT_EQ(count("staging"), 0u);
  EXPECT_EQ(count("images"), 1u);
  loop_.run_until_true([&] { return count("trash") == 0; });
}

TEST_F(ImageStoreTest, AnImageThatLacksALayerIsForgottenAndTheNextPullUnpacksIt) {
  push({{.layers = three_layers()}}, "app:1");
  const Result<ImageRecord> image = pull(name("app:1"));
  ASSERT_TRUE(image) << image.error().message();
  fs::remove_all(store_->directories(*image)[1]);
  open_store();
  EXPECT_TRUE(store_->list().empty());
  ASSERT_TRUE(pull(name("app:1")));
  EXPECT_EQ(registry_->requests("\"GET /v2/app/blobs/" + image->layers[1].digest), 1);
  EXPECT_TRUE(fs::exists(store_->directories(*image)[1] + "/etc/new"));
}

TEST_F(ImageStoreTest, ADamagedBlobIsFetchedAgain) {
  push({{.layers = three_layers()}}, "app:1");
  const Result<ImageRecord> image = pull(name("app:1"));
  ASSERT_TRUE(image) << image.error().message();
  fs::remove_all(store_->directories(*image)[1]);
  write_file(blob(image->layers[1].digest), "");  // as after a power cut
  const Result<ImageRecord> again = pull(name("app:1"));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(registry_->requests("\"GET /v2/app/blobs/" + image->layers[1].digest), 2);
}

TEST_F(ImageStoreTest, APullThatDiedWithItsProgramIsRepeated) {
  push({{.layers = three_layers()}}, "app:1");
  ASSERT_TRUE(store_->pull(name("app:1"), [](const Result<ImageRecord>&) { FAIL() << "of a store that is gone"; })
                  .is_success());
  open_store();
  EXPECT_EQ(count("staging"), 0u);
  EXPECT_TRUE(pull(name("app:1")));
}

TEST_F(ImageStoreTest, AHostileLayerIsNoImage) {
  push({{.layers = {layer_of({file("fine")}), layer_of({file("../../evil", "evil")})}}}, "app:1");
  const Result<ImageRecord> image = pull(name("app:1"));
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message().find("the name \"../../evil\" has \"..\" in it"), std::string::npos)
      << image.error().message();
  EXPECT_TRUE(store_->list().empty());
  EXPECT_EQ(count("layers"), 1u) << "the one below it, until it is collected";
  EXPECT_EQ(collect().layers, 1);
  EXPECT_EQ(count("blobs/sha256"), 0u);
}

TEST_F(ImageStoreTest, ALayerOfAnotherDiffIdIsNoImage) {
  std::vector<MadeLayer> layers = three_layers();
  layers[0].diff_id = layers[1].diff_id;
  push({{.layers = layers}}, "app:1");
  const Result<ImageRecord> image = pull(name("app:1"));
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message().find("expected the diff id " + layers[1].diff_id), std::string::npos)
      << image.error().message();
  EXPECT_EQ(count("layers"), 0u);
}

TEST_F(ImageStoreTest, ErrorsNameTheImageAndTheFault) {
  const auto error_of = [](const Result<ImageRecord>& image) { return image ? "" : image.error().message(); };
  std::string error = error_of(pull(name("missing:1")));
  EXPECT_EQ(error.find("image " + registry_->address() + "/missing:1: skopeo: "), 0u) << error;
  EXPECT_NE(error.find("manifest unknown"), std::string::npos) << error;
  error = error_of(import("docker-archive:" + directory_.file("none.tar"), named("app")));
  EXPECT_NE(error.find("no such file"), std::string::npos) << error;
  error = error_of(import("--version", named("app")));
  EXPECT_NE(error.find("must begin with a transport"), std::string::npos) << error;
  const std::string arm = layout_of({{.architecture = "arm64", .layers = three_layers()}});
  error = error_of(import(arm, named("app")));
  EXPECT_NE(error.find("it is of the platform linux/arm64, expected linux/amd64"), std::string::npos) << error;
  options_.source.insecure_registries.clear();
  open_store();
  error = error_of(pull(name("app:1")));
  EXPECT_NE(error.find("HTTP response to HTTPS client"), std::string::npos) << error;
  options_.source.skopeo = "no-such-skopeo";
  open_store();
  error = error_of(pull(name("app:1")));
  EXPECT_NE(error.find("no-such-skopeo: No such file or directory"), std::string::npos) << error;
}

TEST_F(ImageStoreTest, APinNeedsAnImageAndCountsAsAUse) {
  EXPECT_FALSE(store_->pin("pod/c", name("app:1")).is_success());
  push({{.layers = three_layers()}}, "app:1");
  ASSERT_TRUE(pull(name("app:1")));
  const Millis before = store_->find(name("app:1"))->used;
  ASSERT_TRUE(store_->pin("pod/c", name("app:1")).is_success());
  EXPECT_GE(store_->find(name("app:1"))->used, before);
  EXPECT_TRUE(store_->unpin("pod/c").is_success());
  EXPECT_TRUE(store_->unpin("pod/c").is_success());
  EXPECT_EQ(count("pins"), 0u);
}

}  // namespace
}  // namespace berth
