// Layers that are fetched by curl, in parts, from a registry whose connections break.
#include "firmware-host/agent/images/layer_fetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/images/cutting_proxy.h"
#include "tests/unit/images/small_disk.h"
#include "tests/unit/images/store_fixture.h"

namespace berth {
namespace {

constexpr std::int64_t kLayerBytes = 400'000;
constexpr std::int64_t kOverheadBytes = 60'000;  // heads, manifests, and what was on its way when a connection broke
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

std::string noise(std::size_t bytes) {
  std::mt19937 random(1);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class LayerFetchTest : public ImageStoreTest {
 protected:
  void SetUp() override {
    if (!has_program("curl")) GTEST_SKIP() << "curl is not installed; see tests/packages";
    ImageStoreTest::SetUp();
    if (!registry_) return;
    push({{.layers = {layer_of({file("big", noise(kLayerBytes))})}}}, "app:1");
    proxy_ = std::make_unique<CuttingProxy>(registry_->port(), kUnlimited);
    options_.source.curl = "curl";
    options_.source.insecure_registries.push_back(proxy_->address());
    open_store();
  }

  ImageReference image() const { return parse_image_reference(proxy_->address() + "/app:1").value(); }

  // The image of app:1 there, which kUser may have.
  ImageReference copy_to(const RegistryChild& closed) {
    loop_.run_until_true([&] { return closed.is_listening(); });
    skopeo({"copy", "--src-tls-verify=false", "--dest-tls-verify=false", "--dest-creds",
            std::string(RegistryChild::kUser) + ":" + RegistryChild::kPassword,
            "docker://" + registry_->address() + "/app:1", "docker://" + closed.address() + "/app:1"});
    options_.source.insecure_registries.push_back(closed.address());
    return parse_image_reference(closed.address() + "/app:1").value();
  }

  std::unique_ptr<CuttingProxy> proxy_;
};

TEST_F(LayerFetchTest, AConnectionThatBreaksIsFollowedByOneThatGoesOnThere) {
  proxy_->set_most(100'000);
  const Result<ImageRecord> pulled = pull(image());
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_GE(proxy_->bytes(), kLayerBytes);
  EXPECT_LT(proxy_->bytes(), kLayerBytes + kOverheadBytes);
  EXPECT_EQ(count("partial"), 0u);
}

TEST_F(LayerFetchTest, WhatHasComeIsThereForTheNextPullAfterARestart) {
  proxy_->allow(200'000);
  const Result<ImageRecord> broken = pull(image());
  ASSERT_FALSE(broken);
  EXPECT_EQ(count("partial"), 1u);
  open_store();
  proxy_->allow(kUnlimited);
  const Result<ImageRecord> pulled = pull(image());
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_LT(proxy_->bytes(), kLayerBytes + kOverheadBytes);
}

TEST_F(LayerFetchTest, LayersThatAreHereAreNotFetchedAgain) {
  const Result<ImageRecord> first = pull(image());
  ASSERT_TRUE(first) << first.error().message();
  const Result<ImageRecord> again = pull(image());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(registry_->requests("\"GET /v2/app/blobs/" + first->layers.at(0).digest), 1);
}

TEST_F(LayerFetchTest, MoreThanADaysBytesWaitForTheNextDay) {
  options_.bytes_per_day = 150'000;
  open_store();
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<ImageRecord> pulled = pull(image());
    ASSERT_FALSE(pulled);
    EXPECT_NE(pulled.error().message().find("containers.image_bytes_per_day"), std::string::npos)
        << pulled.error().message();
    open_store();
  }
  EXPECT_LT(proxy_->bytes(), 150'000 + kOverheadBytes);
  options_.bytes_per_day = 0;
  open_store();
  const Result<ImageRecord> pulled = pull(image());
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_LT(proxy_->bytes(), kLayerBytes + kOverheadBytes);
}

TEST_F(LayerFetchTest, LayersForWhichTheDiskHasNoSpaceAreNotFetched) {
  constexpr std::int64_t kDiskBytes = 4 << 20;
  store_.reset();
  const SmallDisk disk(options_.root, kDiskBytes);
  if (!disk.is_mounted()) GTEST_SKIP() << "tmpfs cannot be mounted here";
  options_.limits.kept_free = kDiskBytes - kLayerBytes / 2;
  open_store();
  int times = 0;
  store_->set_on_no_space([&] { ++times; });
  const Result<ImageRecord> pulled = pull(image());
  ASSERT_FALSE(pulled);
  EXPECT_EQ(times, 1);
  EXPECT_NE(pulled.error().message().find("insufficient disk: 1Mi asked, "), std::string::npos)
      << pulled.error().message();
  EXPECT_LT(proxy_->bytes(), kOverheadBytes);
  EXPECT_EQ(count("partial"), 0u);
  options_.limits.kept_free = 0;
  open_store();
  const Result<ImageRecord> fits = pull(image());
  ASSERT_TRUE(fits) << fits.error().message();
  options_.limits.kept_free = kDiskBytes;  // nothing is missing
  open_store();
  EXPECT_TRUE(pull(image()));
  store_.reset();
}

TEST_F(LayerFetchTest, PullsAtTheSameTimeHaveADaysBytesTogether) {
  constexpr std::int64_t kDaysBytes = kLayerBytes + 100'000;
  push({{.layers = {layer_of({file("another", noise(kLayerBytes))})}}}, "other:1");
  options_.bytes_per_day = kDaysBytes;
  open_store();
  std::vector<Result<ImageRecord>> ended;
  for (const char* name : {"/app:1", "/other:1"}) {
    const ImageReference reference = parse_image_reference(proxy_->address() + name).value();
    const auto on_image = [&](const Result<ImageRecord>& image) { ended.push_back(image); };
    ASSERT_TRUE(store_->pull(reference, on_image).is_success());
  }
  loop_.run_until([&] { return ended.size() == 2; });
  EXPECT_LT(proxy_->bytes(), kDaysBytes + 2 * kOverheadBytes);
  EXPECT_EQ(std::ranges::count_if(ended, [](const auto& image) { return image.has_value(); }), 1);
}

TEST_F(LayerFetchTest, ALayerThatComesDamagedIsFetchedAgain) {
  proxy_->allow(200'000);
  ASSERT_FALSE(pull(image()));
  const std::string partial = options_.root + "/partial/" + StoreFiles::entries(options_.root + "/partial").at(0);
  std::fstream(partial, std::ios::binary | std::ios::in | std::ios::out) << "damaged";
  proxy_->allow(kUnlimited);
  const Result<ImageRecord> pulled = pull(image());
  ASSERT_TRUE(pulled) << pulled.error().message();
}

TEST_F(LayerFetchTest, AnAccountReachesCurlToo) {
  const TempDir directory;
  RegistryChild closed(directory, true);
  const ImageReference there = copy_to(closed);
  open_store();
  const auto with = [&](const std::string& password) {
    return wait_for([&](ImageStore::OnImage on_image) {
      return store_->pull(there, std::move(on_image), {{RegistryChild::kUser, password}});
    });
  };
  EXPECT_FALSE(with("wrong"));
  const Result<ImageRecord> pulled = with(RegistryChild::kPassword);
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_GT(closed.requests("curl/"), 0);
}

TEST_F(LayerFetchTest, TheDevicesOwnAccountReachesCurlAndCountsForTheDay) {
  const TempDir directory;
  RegistryChild closed(directory, true);
  const ImageReference there = copy_to(closed);
  options_.source.authfile = directory_.file("auth.json");
  write_file(options_.source.authfile,
             auth_file_text(closed.address(), {RegistryChild::kUser, RegistryChild::kPassword}));
  options_.bytes_per_day = 150'000;
  open_store();
  const Result<ImageRecord> too_much = pull(there);
  ASSERT_FALSE(too_much);
  EXPECT_NE(too_much.error().message().find("containers.image_bytes_per_day"), std::string::npos)
      << too_much.error().message();
  options_.bytes_per_day = 0;
  open_store();
  const Result<ImageRecord> pulled = pull(there);
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_GT(closed.requests("curl/"), 0);
}

TEST_F(LayerFetchTest, ARegistryThatTheDevicesOwnAccountsDoNotNameIsAskedWithoutAny) {
  options_.source.authfile = directory_.file("auth.json");
  write_file(options_.source.authfile, auth_file_text("elsewhere.example", {"anna", "secret"}));
  open_store();
  proxy_->set_most(100'000);  // more often than skopeo bears it
  const Result<ImageRecord> pulled = pull(image());
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_LT(proxy_->bytes(), kLayerBytes + kOverheadBytes);
}

TEST_F(LayerFetchTest, AMirrorIsAskedFirstAndTheRegistryIfItHasNone) {
  options_.source.mirrors[proxy_->address()] = {registry_->address()};
  open_store();
  ASSERT_TRUE(pull(image()));
  EXPECT_EQ(proxy_->bytes(), 0);
  push({{.layers = {layer_of({file("other", "x")})}}}, "other:1");
  options_.source.mirrors[proxy_->address()] = {"127.0.0.1:1", registry_->address()};
  options_.source.insecure_registries.push_back("127.0.0.1:1");
  open_store();
  const Result<ImageRecord> pulled = pull(parse_image_reference(proxy_->address() + "/other:1").value());
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_EQ(pulled->reference, proxy_->address() + "/other:1");
}

TEST_F(LayerFetchTest, WhatSkopeoIsConfiguredForIsLeftToIt) {
  const std::string etc = directory_.file("etc");
  fs::create_directories(etc + "/containers/registries.conf.d");
  EXPECT_FALSE(is_configured_for_skopeo("r.example:5000", etc));
  std::ofstream(etc + "/containers/registries.conf") << "# [[registry]]\nunqualified-search-registries = []\n";
  EXPECT_FALSE(is_configured_for_skopeo("r.example:5000", etc));
  fs::create_directories(etc + "/docker/certs.d/r.example:5000");
  EXPECT_TRUE(is_configured_for_skopeo("r.example:5000", etc));
  EXPECT_FALSE(is_configured_for_skopeo("other.example", etc));
  std::ofstream(etc + "/containers/registries.conf.d/mirror.conf") << "[[registry]]\nlocation = \"x\"\n";
  EXPECT_TRUE(is_configured_for_skopeo("other.example", etc));
}

}  // namespace
}  // namespace berth
