#include "firmware-host/agent/mount_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace berth {

namespace {

constexpr const char* kTable = "/proc/self/mountinfo";
constexpr int kMountPointField = 4;  // after mount id, parent id, device and root
constexpr std::size_t kEscapeLength = 4;

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes space, tab, newline and backslash as a backslash and three octal digits.
std::string unescaped(std::string_view field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool is_escape = field[i] == '\\' && i + kEscapeLength <= field.size() && is_octal(field[i + 1]) &&
                           is_octal(field[i + 2]) && is_octal(field[i + 3]);
    if (!is_escape) {
      text += field[i];
      continue;
    }
    text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0'));
    i += kEscapeLength - 1;
  }
  return text;
}

std::string_view field_of(std::string_view line, int number) {
  for (; number > 0; --number) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return {};
    line.remove_prefix(space + 1);
  }
  return line.substr(0, line.find(' '));
}

}  // namespace

bool has_mount(std::string_view table, std::string_view path) {
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    if (unescaped(field_of(line, kMountPointField)) == path) return true;
    table.remove_prefix(std::min(line.size() + 1, table.size()));
  }
  return false;
}

Result<bool> is_mount_point(const std::string& directory) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(directory, error).string();
  if (error) return Status::error(directory + ": " + error.message());
  std::ifstream file(kTable);
  const std::string table{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || table.empty()) return Status::error(std::string("cannot read ") + kTable);
  return has_mount(table, path);
}

}  // namespace berth
