// Bits that flip in the write-ahead log: whatever commits that loses must be told, unless it is only the last one,
// which looks like a power cut.
#include "storage/wal_check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/random.h"
#include "storage/sqlite_store.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameBytes = SqliteStore::kPageBytes + SqliteStore::kFrameHeadBytes;
constexpr std::size_t kCommits = 9;

class Silent final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
}

class WalCheckTest : public testing::Test {
 protected:
  struct Found {
    bool opens = false;
    std::size_t commits = 0;
    std::string lost;
  };

  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "berth-wal-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    SqliteStore::Options options;
    options.checkpoint_bytes = 64 << 10;
    auto store = SqliteStore::open(directory_ + "/made.db", log_, options);
    ASSERT_TRUE(store.has_value());
    ASSERT_TRUE((*store)->load().has_value());
    // Until the log is used a second time: behind its end are then frames of the first one.
    commit(**store, "earlier", 300);
    const std::string first_header = header();
    for (int i = 0; i < 500 && header() == first_header; ++i) commit(**store, "earlier", 300);
    ASSERT_NE(header(), first_header);
    for (std::size_t i = 0; i < kCommits; ++i) commit(**store, "key-" + std::to_string(i), i % 3 == 0 ? 2'000 : 60);
    file_ = read_all(directory_ + "/made.db");
    wal_ = read_all(directory_ + "/made.db-wal");
    ASSERT_GT(wal_.size(), std::size_t{64 << 10});
  }
  void TearDown() override { fs::remove_all(directory_); }

  void commit(SqliteStore& store, const std::string& key, std::size_t size) {
    std::string value;
    while (value.size() < size) value.push_back(static_cast<char>(random_.below(256)));
    store.put(Table::object, key, value);
    ASSERT_TRUE(store.commit().is_success());
  }

  std::string header() const { return read_all(directory_ + "/made.db-wal").substr(0, kHeaderBytes); }

  // Opens the store with this log, as after a power cut.
  Found open_with(const std::string& wal) {
    const std::string path = directory_ + "/opened.db";
    for (const char* suffix : {"", "-wal", "-reserve"}) fs::remove(path + suffix);
    write_all(path, file_);
    write_all(path + "-wal", wal);
    SqliteStore::Options options;
    options.reserve_bytes = 4096;
    auto store = SqliteStore::open(path, log_, options);
    if (!store) return {};
    Found found{true, 0, (*store)->lost_commits()};
    const auto records = (*store)->load();
    for (const Record& record : records.value()) found.commits += record.key.starts_with("key-") ? 1 : 0;
    return found;
  }

  Silent log_;
  Random random_{3};
  std::string directory_;
  std::string file_, wal_;
};

TEST_F(WalCheckTest, AnUndamagedLogLosesNothing) {
  const Found found = open_with(wal_);
  EXPECT_TRUE(found.opens);
  EXPECT_EQ(found.commits, kCommits);
  EXPECT_EQ(found.lost, "");
}

TEST_F(WalCheckTest, AFlippedBitThatLosesMoreThanTheLastCommitIsTold) {
  std::size_t told = 0;
  for (std::size_t at = 0; at < wal_.size(); at += at < kHeaderBytes + kFrameBytes ? 1 : 31) {
    std::string wal = wal_;
    wal[at] = static_cast<char>(wal[at] ^ (1 << at % 8));
    const Found found = open_with(wal);
    if (!found.opens || found.commits == kCommits) continue;  // set aside, or behind the end
    // Whether a frame ends a transaction is not to be known when the damage is there.
    const bool hides_an_end = at >= kHeaderBytes && (at - kHeaderBytes) % kFrameBytes / 4 == 1;
    const std::size_t lost = kCommits - found.commits;
    EXPECT_TRUE(!found.lost.empty() || lost <= (hides_an_end ? 2u : 1u)) << "byte " << at << " loses " << lost;
    if (!found.lost.empty()) ++told;
  }
  EXPECT_GT(told, 300u);
}

TEST_F(WalCheckTest, ALogThatEndsAnywhereIsAPowerCut) {
  for (std::size_t size = 0; size < wal_.size(); size += 67) {
    EXPECT_EQ(open_with(wal_.substr(0, size)).lost, "") << size;
  }
}

TEST_F(WalCheckTest, TheDamageIsToldUntilACommitTellsOfIt) {
  std::string wal = wal_;
  wal[kHeaderBytes + 2 * kFrameBytes + 100] ^= 1;
  write_all(directory_ + "/opened.db", file_);
  write_all(directory_ + "/opened.db-wal", wal);
  for (int start = 0; start < 3; ++start) {
    auto store = SqliteStore::open(directory_ + "/opened.db", log_);
    ASSERT_TRUE(store.has_value());
    EXPECT_EQ((*store)->lost_commits(),
              start == 2 ? "" : "the write-ahead log is damaged at frame 3: the commits behind it are lost");
    ASSERT_TRUE((*store)->load().has_value());
    const std::string file = read_all(directory_ + "/opened.db");
    const std::string left = read_all(directory_ + "/opened.db-wal");
    if (start == 1) commit(**store, "adopting", 50);
    const std::string later = read_all(directory_ + "/opened.db");
    const std::string later_log = read_all(directory_ + "/opened.db-wal");
    store->reset();
    // As after a power cut: the end of a program moves the log into the file.
    write_all(directory_ + "/opened.db", start == 1 ? later : file);
    write_all(directory_ + "/opened.db-wal", start == 1 ? later_log : left);
  }
}

}  // namespace
}  // namespace berth
