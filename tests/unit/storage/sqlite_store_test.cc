// The store on flash, with real files: what is durable, what is refused, and how damaged files are handled.
#include "storage/sqlite_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/random.h"
#include "storage/memory_store.h"
#include "storage/paths.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class Notes final : public Log {
 public:
  void write(Level, std::string_view event, std::initializer_list<Field>) override { text.append(event).append("\n"); }
  std::string text;
};

bool operator==(const Record& a, const Record& b) {
  return a.table == b.table && a.key == b.key && a.value == b.value && a.phase == b.phase;
}

class SqliteStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "berth-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = name + "/berth.db";
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::unique_ptr<SqliteStore> open(const SqliteStore::Options& options = SqliteStore::Options()) {
    auto store = SqliteStore::open(path_, log_, options);
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  OpenError refused() {
    auto store = SqliteStore::open(path_, log_);
    EXPECT_FALSE(store.has_value());
    return store ? OpenError() : store.error();
  }
  // Incompressible bytes.
  std::string noise(std::size_t size) {
    std::string made;
    while (made.size() < size) made.push_back(static_cast<char>(random_.below(256)));
    return made;
  }
  // The state after a power cut: file and log, copied while the store is open.
  void cut_power_to(const std::string& path) {
    fs::copy_file(path_, path);
    if (fs::exists(path_ + "-wal")) fs::copy_file(path_ + "-wal", path + "-wal");
    path_ = path;
  }
  void overwrite(std::uint64_t offset, const std::string& bytes) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }
  void sql(const std::string& text) {
    auto database = Database::open(path_);
    ASSERT_TRUE(database.has_value());
    const auto done = (*database)->execute(text);
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  std::int64_t user_version() {
    auto database = Database::open(path_);
    return (*database)->integer("PRAGMA user_version").value();
  }

  Notes log_;
  Random random_{7};
  std::string directory_;
  std::string path_;
};

TEST_F(SqliteStoreTest, KeepsExactlyTheCommittedChangesAcrossAPowerCut) {
  auto store = open();
  ASSERT_TRUE(store->load().value().empty());
  store->put(Table::meta, "term", std::string("1\0x", 3));
  ASSERT_TRUE(store->begin("uid", "row", 1).is_success());
  ASSERT_TRUE(store->commit().is_success());
  store->advance("uid", 2);
  ASSERT_TRUE(store->commit().is_success());
  store->put(Table::meta, "term", "2");
  store->erase(Table::row, "uid");
  cut_power_to(directory_ + "/after.db");
  auto again = open();
  const std::vector<Record> records = again->load().value();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(records[0] == (Record{Table::meta, "term", std::string("1\0x", 3), 0}));
  EXPECT_TRUE(records[1] == (Record{Table::row, "uid", "row", 2}));
  EXPECT_EQ(again->next_position(), 4u);
}

TEST_F(SqliteStoreTest, AnEmptyCommitWritesNothing) {
  auto store = open();
  const std::uint64_t before = store->bytes_written();
  ASSERT_TRUE(store->commit().is_success());
  EXPECT_EQ(store->bytes_written(), before);
  EXPECT_EQ(store->commits(), 0u);
  store->put(Table::meta, "a", "b");
  ASSERT_TRUE(store->commit().is_success());
  EXPECT_EQ(store->bytes_written() - before, SqliteStore::kPageBytes + 24) << "a small commit is one page";
}

TEST_F(SqliteStoreTest, StagesNothingThatItCouldNotReadBack) {
  const std::string longest(kKeyMax, 'k'), longer(kKeyMax + 1, 'k');
  auto store = open();
  store->put(Table::object, longest, "v");
  ASSERT_TRUE(store->begin("r", "v", kPhaseMax).is_success());
  ASSERT_TRUE(store->commit().is_success());
  EXPECT_DEATH(store->put(Table::object, longer, "v"), "CHECK failed");
  EXPECT_DEATH(store->erase(Table::object, longer), "CHECK failed");
  EXPECT_DEATH((void)store->begin(longer, "v", 1), "CHECK failed");
  EXPECT_DEATH((void)store->begin("r", "v", -1), "CHECK failed");
  EXPECT_DEATH(store->advance("r", kPhaseMax + 1), "CHECK failed");
  store.reset();
  const auto records = open()->load();
  ASSERT_TRUE(records.has_value());
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[0].key, longest);
  EXPECT_EQ((*records)[1].phase, kPhaseMax);
}

TEST_F(SqliteStoreTest, PositionsGrowOverFoldsAndRestarts) {
  const SqliteStore::Options options{64 << 20, 4, 256 << 10, 1 << 20, 1 << 20, 0};
  std::uint64_t last = 0;
  for (int restart = 0; restart < 6; ++restart) {
    auto store = open(options);
    ASSERT_TRUE(store->load().has_value());
    EXPECT_EQ(store->next_position(), last + 1);
    for (int i = 0; i < 3; ++i) {
      store->erase(Table::meta, "nothing");
      ASSERT_TRUE(store->commit().is_success());
    }
    last = store->next_position() - 1;
  }
  EXPECT_EQ(last, 18u);
}

// Random changes, folds, restarts and power cuts: the file has the contents of the memory store.
class SqliteStoreEquivalence : public SqliteStoreTest, public testing::WithParamInterface<std::uint64_t> {};

TEST_P(SqliteStoreEquivalence, BehavesLikeTheMemoryStore) {
  Random random(GetParam());
  const SqliteStore::Options options{64 << 20, 1 + random.below(40), 256 << 10, 1 << 20, 64 << 10, random.below(150)};
  MemoryStore model;
  auto store = open(options);
  int cuts = 0;
  const auto step = [&](Store& target, std::uint64_t op, Table table, const std::string& key, const std::string& value,
                        int phase) {
    if (op == 0) return target.erase(table, key);
    if (op == 1) return target.advance(key, phase);
    if (op > 2) return target.put(table, key, value);
    EXPECT_TRUE(target.begin(key, value, phase).is_success());
  };
  for (int i = 0; i < 600; ++i) {
    const std::uint64_t op = random.below(5);
    const Table table = static_cast<Table>(1 + random.below(7));
    const std::string key = "key-" + std::to_string(random.below(12));
    const std::string value(random.below(20) == 0 ? 20'000 : random.below(300), static_cast<char>('a' + i % 26));
    const int phase = static_cast<int>(random.below(5));
    step(model, op, table, key, value, phase);
    step(*store, op, table, key, value, phase);
    ASSERT_EQ(store->next_position(), model.next_position());
    if (random.chance(1, 3)) {
      ASSERT_TRUE(model.commit().is_success());
      ASSERT_TRUE(store->commit().is_success());
    }
    if (!random.chance(1, 40)) continue;
    model.crash();
    if (random.chance(1, 2)) cut_power_to(directory_ + "/cut-" + std::to_string(++cuts));
    store.reset();
    store = open(options);
    const std::vector<Record> got = store->load().value();
    const std::vector<Record> want = model.load().value();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t r = 0; r < got.size(); ++r) ASSERT_TRUE(got[r] == want[r]) << want[r].key;
    ASSERT_EQ(store->next_position(), model.next_position());
  }
  EXPECT_EQ(log_.text, "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, SqliteStoreEquivalence, testing::Range<std::uint64_t>(1, 9));

TEST_F(SqliteStoreTest, BoundsItsLogAndReusesTheSpaceOfTheJournal) {
  auto store = open();
  for (int i = 0; i < 3000; ++i) {
    store->put(Table::node, "n" + std::to_string(i % 50), noise(2000));
    ASSERT_TRUE(i % 3 != 2 || store->commit().is_success());
  }
  EXPECT_LT(fs::file_size(path_ + "-wal"), 10u << 20);
  EXPECT_LT(fs::file_size(path_), 8u << 20);
  store.reset();
  EXPECT_EQ(open()->load().value().size(), 50u);
}

TEST_F(SqliteStoreTest, OnlyTheOwnerMayReadIt) {
  auto store = open();
  for (const auto& file : fs::directory_iterator(directory_)) {
    EXPECT_EQ(fs::status(file.path()).permissions() & fs::perms(077), fs::perms::none) << file.path();
  }
}

TEST_F(SqliteStoreTest, AStoreThatCannotBeLookedAtCountsAsThere) {
  std::ofstream(path_) << "x";
  const std::string below = path_ + "/agent.db";
  EXPECT_TRUE(set_aside(below, 0).error().message().starts_with("cannot rename " + below + " to "));
  fs::remove(path_);
}

TEST_F(SqliteStoreTest, DetectsDamageAndCanBeSetAside) {
  auto store = open();
  for (int i = 0; i < 500; ++i) store->put(Table::object, "o" + std::to_string(i), noise(300));
  ASSERT_TRUE(store->commit().is_success());
  store.reset();
  overwrite(4 * SqliteStore::kPageBytes, std::string(2 * SqliteStore::kPageBytes, '\x5a'));
  const OpenError error = refused();
  EXPECT_EQ(error.kind, OpenError::Kind::corrupt) << error.message;
  EXPECT_NE(error.message.find(path_ + " is damaged"), std::string::npos) << error.message;

  const std::string name = set_aside(path_, 1'790'000'000'000).value();
  EXPECT_EQ(name, path_ + ".aside-20260921T141320Z");
  EXPECT_TRUE(fs::exists(name));
  EXPECT_TRUE(open()->load().value().empty());
  EXPECT_EQ(set_aside(path_, 1'790'000'000'000).value(), name + "-2");
}

TEST_F(SqliteStoreTest, OnlyTheNewestStoresSetAsideAreKept) {
  std::vector<std::string> names;
  for (Millis day = 0; day < 5; ++day) {
    for (const char* suffix : {"", "-wal"}) std::ofstream(path_ + suffix) << day;
    names.push_back(set_aside(path_, 1'790'000'000'000 + day * 86'400'000).value());
  }
  EXPECT_EQ(stores_aside(path_), std::vector(names.begin() + 2, names.end()));
  EXPECT_FALSE(fs::exists(names[1] + "-wal"));
  std::ofstream(path_) << "more";
  const std::string dated_1970 = set_aside(path_, 0).value();
  EXPECT_EQ(stores_aside(path_), (std::vector{dated_1970, names[3], names[4]})) << "the one just made stays";
}

TEST_F(SqliteStoreTest, ANewFileIgnoresTheLogOfAStoreSetAside) {
  auto store = open();
  store->put(Table::meta, "old", "1");
  ASSERT_TRUE(store->commit().is_success());
  cut_power_to(directory_ + "/cut.db");
  ASSERT_TRUE(fs::exists(path_ + "-wal"));
  fs::rename(path_, path_ + ".aside");  // a power cut in the middle of set_aside()
  EXPECT_TRUE(open()->load().value().empty());
}

TEST_F(SqliteStoreTest, RefusesAFileThatIsNotADatabase) {
  std::ofstream(path_) << std::string(10'000, 'x');
  EXPECT_EQ(refused().kind, OpenError::Kind::corrupt);
}

TEST_F(SqliteStoreTest, RefusesADatabaseOfAnotherProgram) {
  sql("CREATE TABLE music (title TEXT)");
  const OpenError error = refused();
  EXPECT_EQ(error.kind, OpenError::Kind::corrupt);
  EXPECT_NE(error.message.find("another program"), std::string::npos) << error.message;
}

TEST_F(SqliteStoreTest, RefusesANewerVersionWithoutModifyingIt) {
  open();
  sql("PRAGMA user_version = 7");
  const auto before = fs::last_write_time(path_);
  const OpenError error = refused();
  EXPECT_EQ(error.kind, OpenError::Kind::newer);
  EXPECT_NE(error.message.find("has version 7, this program knows versions up to 3"), std::string::npos)
      << error.message;
  EXPECT_EQ(fs::last_write_time(path_), before);
}

// stores/version-<n>.db: a gateway's store as the last program of that version left it, with an unfolded journal. A new
// version adds its own file; existing files are never regenerated.
TEST_F(SqliteStoreTest, ReadsStoresOfEveryEarlierVersion) {
  for (int version = 1; version <= SqliteStore::kSchemaVersion; ++version) {
    path_ = directory_ + "/version-" + std::to_string(version) + ".db";
    fs::copy_file(fs::path(BERTH_TEST_STORES) / fs::path(path_).filename(), path_);
    fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write);
    auto store = open();
    ASSERT_NE(store, nullptr);
    const std::vector<Record> records = store->load().value();
    ASSERT_EQ(records.size(), 1u + 12 + 11 + 1 + 1 + 1) << "meta, objects, rows, release, node, queue";
    EXPECT_TRUE(records[0] == (Record{Table::meta, "gateway", R"({"term":"1.0","storeId":"s1"})", 0}));
    EXPECT_TRUE(records[13] == (Record{Table::row, "u0", "row 0", 3}));
    EXPECT_TRUE(records[23] == (Record{Table::row, "u9", "row 9", 1}));
    EXPECT_EQ(store->next_position(), 36u);
    store->put(Table::meta, "still", "writable");
    ASSERT_TRUE(store->commit().is_success());
    store.reset();
    EXPECT_EQ(open()->load().value().size(), records.size() + 1);
    EXPECT_EQ(user_version(), SqliteStore::kSchemaVersion) << "an older program must not read what this one writes";
  }
}

TEST_F(SqliteStoreTest, RefusesAFileThatAnotherProcessHasOpen) {
  auto store = open();
  const pid_t child = fork();
  if (child == 0) {
    Notes log;
    auto second = SqliteStore::open(path_, log);
    const bool right = !second && second.error().kind == OpenError::Kind::locked &&
                       second.error().message.find(path_ + " is in use") != std::string::npos;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(refused().kind, OpenError::Kind::locked) << "the same process";
  store->put(Table::meta, "still", "here");
  EXPECT_TRUE(store->commit().is_success());
}

TEST_F(SqliteStoreTest, ReportsWhyItCannotCreateTheFile) {
  path_ = directory_ + "/missing/berth.db";
  const OpenError missing = refused();
  EXPECT_EQ(missing.kind, OpenError::Kind::io);
  EXPECT_NE(missing.message.find("No such file or directory"), std::string::npos) << missing.message;
  path_ = "/proc/berth.db";  // not even root can create this
  EXPECT_EQ(refused().kind, OpenError::Kind::io);
  path_ = directory_;
  EXPECT_EQ(refused().kind, OpenError::Kind::io) << "a directory";
}

class SqliteStoreFull : public SqliteStoreTest {
 protected:
  // Begins and commits rows until one is refused. Returns the number of rows.
  int fill(SqliteStore& store) {
    for (int i = 0; i < 10'000; ++i) {
      const Status begun = store.begin("uid-" + std::to_string(i), noise(3000), 1);
      if (!begun.is_success()) {
        EXPECT_EQ(begun.code(), Code::unschedulable);
        EXPECT_TRUE(begun.message().starts_with("store is full: ")) << begun.message();
        return i;
      }
      EXPECT_TRUE(store.commit().is_success());
    }
    return 10'000;
  }
  const SqliteStore::Options small_{2 << 20, 100, 256 << 10};
};

TEST_F(SqliteStoreFull, RefusesNewRowsButAdvancesAndErasesOldOnes) {
  auto store = open(small_);
  const int rows = fill(*store);
  ASSERT_GT(rows, 100);
  EXPECT_EQ(store->capacity().code(), Code::unschedulable);
  for (int i = 0; i < rows; ++i) {
    store->advance("uid-" + std::to_string(i), 2);
    ASSERT_TRUE(store->commit().is_success()) << i;
  }
  for (int i = 0; i < rows; ++i) {
    store->erase(Table::row, "uid-" + std::to_string(i));
    ASSERT_TRUE(store->commit().is_success()) << i;
  }
  EXPECT_TRUE(store->capacity().is_success());
  EXPECT_TRUE(store->begin("new", "row", 1).is_success());
  ASSERT_TRUE(store->commit().is_success());
  store.reset();
  store = open(small_);
  EXPECT_EQ(store->load().value().size(), 1u);
  EXPECT_LE(fs::file_size(path_), small_.bytes_max + small_.reserve_bytes);
}

TEST_F(SqliteStoreFull, ObjectsThatCannotBeRefusedUseTheReserveAndThenFail) {
  auto store = open(small_);
  fill(*store);
  Status status;
  int puts = 0;
  while (status.is_success() && puts < 10'000) {
    store->put(Table::object, "o" + std::to_string(++puts), noise(3000));
    status = store->commit();
  }
  EXPECT_GT(puts, 64) << "the reserve";
  EXPECT_EQ(status.code(), Code::error);
  EXPECT_EQ(store->commit().code(), Code::error) << "until the restart";
  EXPECT_NE(log_.text.find("using its reserve"), std::string::npos);
  store.reset();
  store = open(small_);
  EXPECT_TRUE(store->load().has_value());
  store->erase(Table::object, "o1");
  EXPECT_TRUE(store->commit().is_success()) << "a restarted program can free space";
}

// Runs in its own process on its own small disk. Returns what went wrong; null on success.
const char* fill_a_disk(const std::string& directory, const std::string& row, Log& log) {
  const std::string path = directory + "/berth.db";
  auto opened = SqliteStore::open(path, log);
  if (!opened) return "open";
  std::unique_ptr<SqliteStore> store = std::move(*opened);
  int rows = 0;
  while (store->begin("uid-" + std::to_string(rows), row, 1).is_success()) {
    if (!store->commit().is_success()) return "commit of a row that was not refused";
    ++rows;
  }
  std::ofstream(directory + "/other") << std::string(16 << 20, 'x');  // takes the remaining space
  for (int round = 2; round < 5; ++round) {
    for (int i = 0; i < rows; ++i) {
      store->advance("uid-" + std::to_string(i), round);
      if (!store->commit().is_success()) return "advance";
    }
  }
  store.reset();
  opened = SqliteStore::open(path, log);
  if (!opened) return "open of the full store";
  store = std::move(*opened);
  const auto loaded = store->load();
  if (!loaded || loaded->size() != static_cast<std::size_t>(rows) || (*loaded)[0].phase != 4) return "load";
  for (int i = 0; i < rows; ++i) {
    store->erase(Table::row, "uid-" + std::to_string(i));
    if (!store->commit().is_success()) return "erase";
  }
  if (store->capacity().is_success()) return "capacity on a full disk";
  fs::remove(directory + "/other");
  if (!store->capacity().is_success()) return "freed disk space not noticed without a commit";
  store->put(Table::meta, "a", "b");
  return store->commit().is_success() ? nullptr : "put";
}

// The same on a disk with so much space that the store does not ask for it each time.
const char* fill_a_roomy_disk(const std::string& directory, const std::string& row, Log& log) {
  auto opened = SqliteStore::open(directory + "/berth.db", log);
  if (!opened) return "open";
  SqliteStore& store = **opened;
  if (!store.capacity().is_success()) return "capacity of an empty disk";
  const int other = ::open((directory + "/other").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const std::uint64_t others = free_disk_bytes(directory) - (1 << 20);
  if (posix_fallocate(other, 0, static_cast<off_t>(others)) != 0) return "the other file";
  ::close(other);
  if (!store.begin("uid", row, 1).is_success()) return "a row within the turn in which the disk was filled";
  if (!store.commit().is_success()) return "commit";
  if (store.capacity().is_success()) return "a disk that others have filled is not noticed after a commit";
  fs::remove(directory + "/other");
  return store.capacity().is_success() ? nullptr : "freed disk space not noticed without a commit";
}

using OnDisk = const char* (*)(const std::string& directory, const std::string& row, Log& log);

class SqliteStoreOnSmallDisk : public SqliteStoreFull {
 protected:
  void run(const char* size, OnDisk what) {
    const pid_t child = fork();
    if (child == 0) {
      if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) _exit(77);
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
      if (mount("none", directory_.c_str(), "tmpfs", 0, size) != 0) _exit(77);
      const char* wrong = what(directory_, noise(3000), log_);
      if (wrong != nullptr) std::fprintf(stderr, "%s\n%s", wrong, log_.text.c_str());
      _exit(wrong == nullptr ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "a small disk cannot be mounted here";
    EXPECT_EQ(status, 0);
  }
};

TEST_F(SqliteStoreOnSmallDisk, AdvancesAndErasesOnAFullDisk) { run("size=12m", fill_a_disk); }

TEST_F(SqliteStoreOnSmallDisk, ADiskThatOthersFillIsNoticedAfterTheNextCommit) { run("size=96m", fill_a_roomy_disk); }

}  // namespace
}  // namespace berth
