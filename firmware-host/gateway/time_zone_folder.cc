#include "firmware-host/gateway/time_zone_folder.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace berth {

std::optional<std::string> TimeZoneFolder::read(std::string_view name) const {
  constexpr std::uintmax_t kMaxBytes = 65'536;  // the largest has 4 kB
  const std::filesystem::path file = std::filesystem::path(folder_) / name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) > kMaxBytes || error) {
    return std::nullopt;
  }
  std::ifstream in(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return in.bad() || !in.is_open() ? std::nullopt : std::optional(std::move(bytes));
}

}  // namespace berth
