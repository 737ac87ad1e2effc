// Sealed Secrets, by the machine's own systemd-creds.
#include "firmware-host/agent/sealed_secrets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace berth {
namespace {

namespace fs = std::filesystem;

using Secrets = std::map<std::string, std::string>;

constexpr const char* kKey = "secrets/shop/tls";
constexpr const char* kFirst = "h1 1.5\nhunter2";
constexpr const char* kSecond = "h2 1.6\nhunter3";

class SealedSecretsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can seal";
    if (std::system("systemd-creds --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "systemd-creds is not installed";
    open();
    if (fs::exists(memory_)) GTEST_SKIP() << memory_ << " exists";
    secrets_->put("secrets/shop/probe", "h 1.1\nx");
    finish();
    if (sealed().empty()) GTEST_SKIP() << "without a tmpfs at /dev/shm, or a key of this machine, nothing is sealed";
    secrets_->erase("secrets/shop/probe");
  }
  ~SealedSecretsTest() override {
    fs::remove_all(root_);
    fs::remove_all(memory_);
  }

  static std::string make_root() {
    std::string pattern = fs::temp_directory_path() / "berth-sealed-XXXXXX";
    return mkdtemp(pattern.data());
  }
  // As a new process does.
  void open(const std::string& program = "systemd-creds") {
    secrets_.reset();
    files_.emplace(memory_, log_);
    secrets_.emplace(*files_, root_ + "/sealed", context_, log_, program);
  }
  Secrets reboot() {
    fs::remove_all(memory_);
    open();
    return secrets_->load();
  }
  void finish() {
    context_.restart();
    context_.run();
  }
  void put(const std::string& value) {
    secrets_->put(kKey, value);
    finish();
  }
  std::vector<std::string> sealed() const {
    std::vector<std::string> paths;
    if (!fs::exists(root_ + "/sealed")) return paths;
    for (const auto& each : fs::directory_iterator(root_ + "/sealed")) paths.push_back(each.path());
    return paths;
  }
  std::string only_file() const { return sealed().size() == 1 ? sealed().front() : std::string(); }
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static struct stat status_of(const std::string& path) {
    struct stat is{};
    EXPECT_EQ(::lstat(path.c_str(), &is), 0) << path;
    return is;
  }

  class SealLog final : public Log {
   public:
    void write(Level, std::string_view event, std::initializer_list<Field>) override { events.emplace_back(event); }
    std::vector<std::string> events;
  };
  const std::string root_ = make_root();
  const std::string memory_ = "/dev/shm/" + fs::path(root_).filename().string();
  SealLog log_;
  asio::io_context context_;
  std::optional<SecretFiles> files_;
  std::optional<SealedSecrets> secrets_;
};

TEST(SealedSecrets, HaveFilesWhoseNamesShowNeitherKeyNorValue) {
  const std::string name = SealedSecrets::file_name("secrets/shop/access", "h1 1.1\nhunter2");
  EXPECT_EQ(name.size(), 65u);
  EXPECT_EQ(name.find_first_not_of("0123456789abcdef-"), std::string::npos) << name;
  EXPECT_EQ(SealedSecrets::file_name("secrets/shop/access", "h1 2.9\nhunter2"), name) << "of the hash alone";
  EXPECT_NE(SealedSecrets::file_name("secrets/shop/access", "h2 1.1\nhunter3"), name);
  EXPECT_NE(SealedSecrets::file_name("secrets/shop/other", "h1 1.1\nhunter2"), name);
}

TEST_F(SealedSecretsTest, AreThereAfterARebootAndOnFlashNobodyCanReadThem) {
  const std::string large = "h9 1.7\n" + std::string(500'000, 'x');
  secrets_->put("secrets/shop/large", large);
  put(kFirst);
  ASSERT_EQ(sealed().size(), 2u);
  for (const std::string& path : sealed()) {
    EXPECT_EQ(status_of(path).st_mode & 0777, 0600u);
    EXPECT_EQ(text_of(path).find("hunter2"), std::string::npos);
  }
  EXPECT_EQ(status_of(root_ + "/sealed").st_mode & 0777, 0700u);
  EXPECT_EQ(reboot(), (Secrets{{kKey, kFirst}, {"secrets/shop/large", large}}));
  EXPECT_EQ(log_.events, std::vector<std::string>());
}

TEST_F(SealedSecretsTest, AreNotWrittenAgainWhereTheyHaveNotChanged) {
  put(kFirst);
  const ino_t before = status_of(only_file()).st_ino;
  put(kFirst);
  EXPECT_EQ(status_of(only_file()).st_ino, before);
  reboot();
  finish();
  EXPECT_EQ(status_of(only_file()).st_ino, before);
}

TEST_F(SealedSecretsTest, AreReplacedByALaterStateAlsoOneThatComesWhileTheyAreBeingSealed) {
  put(kFirst);
  secrets_->put(kKey, "h3 1.5\nhunter4");
  put(kSecond);
  EXPECT_NE(only_file(), "");
  EXPECT_EQ(reboot(), (Secrets{{kKey, kSecond}}));
}

TEST_F(SealedSecretsTest, GoWithThePodAlsoWhileTheyAreBeingSealed) {
  put(kFirst);
  secrets_->erase(kKey);
  EXPECT_EQ(sealed(), std::vector<std::string>());
  secrets_->put(kKey, kFirst);
  secrets_->erase(kKey);
  finish();
  EXPECT_EQ(sealed(), std::vector<std::string>());
  put(kFirst);
  secrets_->clear();
  EXPECT_EQ(sealed(), std::vector<std::string>());
  EXPECT_EQ(reboot(), Secrets());
}

TEST_F(SealedSecretsTest, ThatCannotBeUnsealedStayUntilTheyComeAgainAndTheRestIsThere) {
  put(kFirst);
  const std::string file = only_file();
  const std::string another = root_ + "/sealed/" + SealedSecrets::file_name("secrets/shop/other", kFirst);
  const std::string damaged = root_ + "/sealed/" + SealedSecrets::file_name("secrets/shop/damaged", kFirst);
  fs::copy_file(file, another);
  std::ofstream(damaged) << "bm90IHNlYWxlZA==";
  std::ofstream(file + ".new") << "half";
  EXPECT_EQ(reboot(), (Secrets{{kKey, kFirst}}));
  EXPECT_EQ(sealed().size(), 3u) << "perhaps they can later";
  secrets_->put("secrets/shop/damaged", kFirst);
  secrets_->erase("secrets/shop/other");
  finish();
  EXPECT_EQ(sealed().size(), 2u);
  EXPECT_EQ(log_.events,
            std::vector<std::string>{"sealed Secrets cannot be unsealed; their pods wait for the gateway"});
  EXPECT_EQ(reboot(), (Secrets{{kKey, kFirst}, {"secrets/shop/damaged", kFirst}}));
}

TEST_F(SealedSecretsTest, AreNotTakenForUnfinishedFilesOfOneAnother) {
  const Secrets both = {{"secrets/shop/tls", kFirst}, {"secrets/shop/tls.new", kSecond}};
  for (const auto& [key, value] : both) files_->put(key, value);
  files_->put("secrets/shop/tls", kFirst);
  std::ofstream(memory_ + "/secrets_shop_tls~new") << "half";
  EXPECT_EQ(files_->load(), both);
  EXPECT_FALSE(fs::exists(memory_ + "/secrets_shop_tls~new"));
}

TEST_F(SealedSecretsTest, AreSealedAfterAStartThatFindsThemInMemoryOnly) {
  files_->put(kKey, kFirst);
  open();
  EXPECT_EQ(secrets_->load(), (Secrets{{kKey, kFirst}}));
  finish();
  EXPECT_NE(only_file(), "");
}

TEST_F(SealedSecretsTest, AreInMemoryOnlyWithoutTheProgramWhichTheLogTellsOnce) {
  open("no-such-program");
  put(kFirst);
  put(kSecond);
  EXPECT_EQ(sealed(), std::vector<std::string>());
  EXPECT_EQ(secrets_->load(), (Secrets{{kKey, kSecond}}));
  EXPECT_EQ(log_.events,
            std::vector<std::string>{"Secrets are not sealed: after a reboot their pods wait for the gateway"});
}

TEST_F(SealedSecretsTest, StayWhereTheProgramIsMissingForOnce) {
  put(kFirst);
  fs::remove_all(memory_);
  open("no-such-program");
  EXPECT_EQ(secrets_->load(), Secrets());
  EXPECT_EQ(reboot(), (Secrets{{kKey, kFirst}}));
}

}  // namespace
}  // namespace berth
