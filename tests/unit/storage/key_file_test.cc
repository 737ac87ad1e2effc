#include "storage/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace berth {
namespace {

class KeyFileTest : public ::testing::Test {
 protected:
  ~KeyFileTest() override { std::filesystem::remove_all(root); }
  static std::string make_root() {
    std::string pattern = std::filesystem::temp_directory_path() / "berth-key-XXXXXX";
    return mkdtemp(pattern.data());
  }
  void write(const std::string& text) const { std::ofstream(path, std::ios::trunc) << text; }

  const std::string root = make_root();
  const std::string path = root + "/gateway.key";
};

TEST_F(KeyFileTest, IsMadeOnceAndReadAgain) {
  const Result<ProofKey> made = open_proof_key(path);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NE(*made, ProofKey{});
  EXPECT_EQ(*open_proof_key(path), *made);
}

TEST_F(KeyFileTest, OfTwoMachinesDiffer) { EXPECT_NE(*open_proof_key(path), *open_proof_key(root + "/other.key")); }

TEST_F(KeyFileTest, IsForItsOwnerAlone) {
  ASSERT_TRUE(open_proof_key(path));
  struct stat is{};
  ASSERT_EQ(::stat(path.c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0600u);
}

TEST_F(KeyFileTest, IsReadAsItStands) {
  write("000102030405060708090a0b0c0d0e0f\n");
  EXPECT_EQ(*open_proof_key(path), (ProofKey{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST_F(KeyFileTest, OfAnotherFormIsAnErrorThatSaysWhatToDoAndStays) {
  for (const char* text : {"", "\n", "0001", "000102030405060708090a0b0c0d0e0f00", "00 102030405060708090a0b0c0d0e0f",
                           "x00102030405060708090a0b0c0d0e0f"}) {
    write(text);
    const Result<ProofKey> key = open_proof_key(path);
    ASSERT_FALSE(key) << text;
    EXPECT_TRUE(key.error().message().starts_with(path + ": expected one line of 32 hexadecimal digits; restore"))
        << key.error().message();
    EXPECT_EQ(std::filesystem::file_size(path), std::string(text).size());
  }
}

TEST_F(KeyFileTest, ThatCannotBeReadOrMadeIsAnError) {
  std::filesystem::create_directory(path);
  EXPECT_FALSE(open_proof_key(path));
  EXPECT_FALSE(open_proof_key(root + "/missing/gateway.key"));
}

}  // namespace
}  // namespace berth
