#include "firmware-host/start_pages.h"

#include <sys/mman.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace berth {

namespace {

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool is_of_file = false;
  bool is_as_in_file = false;  // no page of it was written to, by the dynamic linker say
};

// A mapping's first line: "7f.. -7f.. r-xp 00028000 fe:00 1234   /usr/lib/libc.so.6"; further ones: "Rss:  12 kB".
std::vector<Mapping> mappings_in(std::istream& smaps) {
  std::vector<Mapping> mappings;
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream words(line);
    std::string first, second, offset, device, inode, path;
    words >> first >> second;
    if (first.find('-') != std::string::npos) {
      words >> offset >> device >> inode >> path;
      Mapping mapping;
      const char* const end = first.data() + first.size();
      const auto begun = std::from_chars(first.data(), end, mapping.begin, 16);
      if (begun.ptr != end) std::from_chars(begun.ptr + 1, end, mapping.end, 16);
      mapping.is_of_file = second.find('w') == std::string::npos && path.starts_with('/');
      mappings.push_back(mapping);
    } else if (first == "Anonymous:" && !mappings.empty()) {
      mappings.back().is_as_in_file = second == "0";
    }
  }
  return mappings;
}

}  // namespace

std::size_t give_back_start_pages(const std::string& smaps) {
  std::ifstream file(smaps);
  std::size_t bytes = 0;
  for (const Mapping& mapping : mappings_in(file)) {
    if (!mapping.is_of_file || !mapping.is_as_in_file || mapping.end <= mapping.begin) continue;
    const std::size_t size = mapping.end - mapping.begin;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel names mappings by numbers
    if (madvise(reinterpret_cast<void*>(mapping.begin), size, MADV_DONTNEED) == 0) bytes += size;
  }
  return bytes;
}

}  // namespace berth
