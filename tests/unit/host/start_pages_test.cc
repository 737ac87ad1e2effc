// Pages of programs and libraries that only a start needed.
#include "firmware-host/start_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace berth {
namespace {

std::int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::strtoll(line.substr(8).c_str(), nullptr, 10);
  }
  return -1;
}

TEST(StartPages, AreGivenBackAndTheProgramGoesOn) {
  const std::int64_t before = resident_kib();
  EXPECT_GT(give_back_start_pages(), 0u);
  EXPECT_LT(resident_kib(), before);
  std::string text = "still";
  text += " here";
  EXPECT_EQ(text, "still here");
  EXPECT_GT(give_back_start_pages(), 0u) << "any number of times";
}

TEST(StartPages, ThatWereWrittenToStay) {
  std::string path = std::filesystem::temp_directory_path() / "berth-pages-XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_EQ(ftruncate(file, 4096), 0);
  char* page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
  ASSERT_NE(page, MAP_FAILED);
  page[0] = 'x';  // as the dynamic linker writes to tables that it protects afterwards
  ASSERT_EQ(mprotect(page, 4096, PROT_READ), 0);
  give_back_start_pages();
  EXPECT_EQ(page[0], 'x');
  munmap(page, 4096);
  close(file);
  std::filesystem::remove(path);
}

TEST(StartPages, OfAMachineThatTellsNothingStay) { EXPECT_EQ(give_back_start_pages("/nowhere"), 0u); }

}  // namespace
}  // namespace berth
