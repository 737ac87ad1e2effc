#include "storage/mark_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "storage/paths.h"

namespace berth {
namespace {

class ListLog final : public Log {
 public:
  void write(Level, std::string_view event, std::initializer_list<Field> fields) override {
    lines.emplace_back(event);
    for (const Field& field : fields) lines.back() += " " + field.value;
  }
  std::vector<std::string> lines;
};

class MarkFileTest : public ::testing::Test {
 protected:
  ~MarkFileTest() override { std::filesystem::remove_all(root); }
  static std::string make_root() {
    std::string pattern = std::filesystem::temp_directory_path() / "berth-mark-XXXXXX";
    return mkdtemp(pattern.data());
  }
  std::string path() const { return root + "/gateway.mark"; }

  const std::string root = make_root();
  ListLog log;
  MarkFile file{path(), log};
};

TEST_F(MarkFileTest, ReadsWhatWasWrittenLast) {
  file.write({"a", 1, 2});
  file.write({"b", 18'446'744'073'709'551'615u, 7});
  EXPECT_EQ(MarkFile(path(), log).read(), (StoreMark{"b", 18'446'744'073'709'551'615u, 7}));
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(MarkFileTest, IsForItsOwnerAlone) {
  file.write({"a", 1, 2});
  struct stat is{};
  ASSERT_EQ(::stat(path().c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0600u);
}

TEST_F(MarkFileTest, IsNoneBeforeTheFirstWrite) {
  EXPECT_EQ(file.read(), std::nullopt);
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(MarkFileTest, IsNoneAndLoggedWhenTheFileMakesNoSense) {
  for (const char* text :
       {"", "{", "{}", R"({"storeId":"a","term":1,"position":"2"})", R"({"storeId":"","term":"1"})"}) {
    std::ofstream(path(), std::ios::trunc) << text;
    log.lines.clear();
    EXPECT_EQ(file.read(), std::nullopt) << text;
    ASSERT_EQ(log.lines.size(), 1u) << text;
    EXPECT_TRUE(log.lines[0].starts_with("cannot read the mark of the store " + path())) << log.lines[0];
  }
}

TEST_F(MarkFileTest, SaysWhyItCannotBeWrittenAndKeepsTheOlderOne) {
  file.write({"a", 1, 2});
  std::filesystem::create_directory(path() + kUnfinished);
  file.write({"b", 3, 4});
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_TRUE(log.lines[0].starts_with("cannot mark how far the store has come")) << log.lines[0];
  EXPECT_EQ(file.read(), (StoreMark{"a", 1, 2}));
}

}  // namespace
}  // namespace berth
