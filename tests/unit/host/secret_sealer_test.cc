#include "firmware-host/gateway/secret_sealer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/api/decode.h"
#include "core/base64.h"
#include "core/objects/look_ups.h"
#include "storage/sqlite_store.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

class SilentLog final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

class SecretSealerTest : public ::testing::Test {
 protected:
  ~SecretSealerTest() override { std::filesystem::remove_all(root_); }
  static std::string make_root() {
    std::string pattern = std::filesystem::temp_directory_path() / "berth-secrets-XXXXXX";
    return mkdtemp(pattern.data());
  }
  static Secret secret(const std::string& name, const std::string& value) {
    Json json =
        parsed_json(R"({"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default"},"type":"Opaque"})");
    json.find("metadata")->set("name", name);
    json.set("stringData", Json(Json::Object{{"pin", Json(value)}}));
    return *decode_secret(with_merged_string_data(json), nullptr);
  }
  static Status load(Store& store, Objects& objects) {
    return store.read([&](const RecordView& record) { return objects.load(record); });
  }
  // What all files of the directory but the key hold.
  std::string all_bytes() const {
    std::ostringstream bytes;
    for (const auto& file : std::filesystem::directory_iterator(root_)) {
      if (file.path() != key_) bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
    }
    return bytes.str();
  }

  const std::string root_ = make_root();
  const std::string key_ = root_ + "/secrets.key";
  const std::string database_ = root_ + "/gateway.db";
  SilentLog log_;
};

TEST_F(SecretSealerTest, MakesItsKeyAtFirstNeedForItsOwnerAlone) {
  SecretSealer sealer(key_);
  EXPECT_FALSE(std::filesystem::exists(key_));
  const Result<std::string> sealed = sealer.seal("secrets/default/a", "hunter2");
  ASSERT_TRUE(sealed) << sealed.error().message();
  struct stat is{};
  ASSERT_EQ(::stat(key_.c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0600u);
  EXPECT_EQ(sealed->find("hunter2"), std::string::npos);
  EXPECT_EQ(SecretSealer(key_).open("secrets/default/a", *sealed).value_or("wrong"), "hunter2");
  EXPECT_NE(*sealer.seal("secrets/default/a", "hunter2"), *sealed) << "a nonce of its own each time";
}

TEST_F(SecretSealerTest, OpensOnlyWhatItHasSealedUnderThatName) {
  SecretSealer sealer(key_);
  const std::string sealed = *sealer.seal("secrets/default/a", "hunter2");
  EXPECT_FALSE(SecretSealer(key_).open("secrets/default/b", sealed));
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(SecretSealer(key_).open("secrets/default/a", changed)) << at;
  }
  EXPECT_FALSE(SecretSealer(key_).open("secrets/default/a", ""));
  EXPECT_FALSE(SecretSealer(key_).open("secrets/default/a", sealed.substr(0, 10)));
}

TEST_F(SecretSealerTest, LeavesNoPlaintextInAnyPageOfTheDatabaseOrItsLog) {
  const std::string value = "correct-horse-battery-staple";
  {
    auto store = SqliteStore::open(database_, log_);
    ASSERT_TRUE(store);
    SecretSealer sealer(key_);
    Objects objects(**store, &sealer);
    ASSERT_TRUE(load(**store, objects).is_success());
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(objects.put_secret(secret("s" + std::to_string(i % 20), value + std::to_string(i))).is_success());
      ASSERT_TRUE((*store)->commit().is_success());
    }
    for (const std::string& needle : {value, to_base64(value.substr(0, 27))}) {
      EXPECT_EQ(all_bytes().find(needle), std::string::npos) << "while the store is open";
    }
  }
  for (const std::string& needle : {value, to_base64(value.substr(0, 27))}) {
    EXPECT_EQ(all_bytes().find(needle), std::string::npos) << "once it is closed";
  }
  auto store = SqliteStore::open(database_, log_);
  SecretSealer sealer(key_);
  Objects objects(**store, &sealer);
  ASSERT_TRUE(load(**store, objects).is_success());
  EXPECT_EQ(values_of(Kind::secret, objects.manifest(Kind::secret, "default/s7")).at("pin"), value + "187");
  EXPECT_EQ(locked_secrets(objects), "");
}

TEST_F(SecretSealerTest, LosesNothingWhenTheKeyIsMissingOrAnotherOne) {
  {
    auto store = SqliteStore::open(database_, log_);
    SecretSealer sealer(key_);
    Objects objects(**store, &sealer);
    ASSERT_TRUE(load(**store, objects).is_success());
    ASSERT_TRUE(objects.put_secret(secret("a", "hunter2")).is_success());
    ASSERT_TRUE((*store)->commit().is_success());
  }
  const std::string aside = root_ + "/aside.key";
  std::filesystem::rename(key_, aside);
  for (const bool has_other : {false, true}) {
    if (has_other) ASSERT_TRUE(SecretSealer(key_).seal("x", "y"));
    auto store = SqliteStore::open(database_, log_);
    SecretSealer sealer(key_);
    Objects objects(**store, &sealer);
    ASSERT_TRUE(load(**store, objects).is_success());
    EXPECT_NE(locked_secrets(objects).find(has_other ? "not the key" : "is missing"), std::string::npos)
        << locked_secrets(objects);
    EXPECT_NE(locked_secrets(objects).find(key_), std::string::npos);
    EXPECT_TRUE(objects.has(Kind::secret, "default/a"));
    const Status refused = objects.put_secret(secret("b", "v"));
    EXPECT_FALSE(refused.is_success()) << "sealed with another key it would hide that one is missing";
    EXPECT_EQ(std::filesystem::exists(key_), has_other);
  }
  std::filesystem::rename(aside, key_);
  auto store = SqliteStore::open(database_, log_);
  SecretSealer sealer(key_);
  Objects objects(**store, &sealer);
  ASSERT_TRUE(load(**store, objects).is_success());
  EXPECT_EQ(values_of(Kind::secret, objects.manifest(Kind::secret, "default/a")).at("pin"), "hunter2");
}

}  // namespace
}  // namespace berth
