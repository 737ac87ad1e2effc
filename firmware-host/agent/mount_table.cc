#include "firmware-host/agent/mount_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <system_error>

namespace berth {

namespace {

constexpr const char* kTable = "/proc/self/mountinfo";
constexpr int kDeviceField = 2;                    // after mount id and parent id
constexpr int kMountPointField = 4;                // after mount id, parent id, device and root
constexpr std::string_view kEndOfOptions = " - ";  // before type and source of the file system
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

// The first line that `is_wanted` of the table; empty: none.
std::string_view find_line(std::string_view table, const std::function<bool(std::string_view)>& is_wanted) {
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    if (is_wanted(line)) return line;
    table.remove_prefix(std::min(line.size() + 1, table.size()));
  }
  return {};
}

std::string read_table() {
  std::ifstream file(kTable);
  std::string table{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return file.bad() ? std::string() : table;
}

}  // namespace

bool has_mount(std::string_view table, std::string_view path) {
  return !find_line(table, [path](std::string_view line) {
            return unescaped(field_of(line, kMountPointField)) == path;
          }).empty();
}

std::string device_in(std::string_view table, unsigned major, unsigned minor) {
  const std::string wanted = std::to_string(major) + ":" + std::to_string(minor);
  const std::string_view line =
      find_line(table, [&wanted](std::string_view each) { return field_of(each, kDeviceField) == wanted; });
  const std::size_t end = line.find(kEndOfOptions);
  if (end == std::string_view::npos) return {};
  return unescaped(field_of(line.substr(end + kEndOfOptions.size()), 1));
}

std::string mounted_device(unsigned major, unsigned minor) { return device_in(read_table(), major, minor); }

Result<bool> is_mount_point(const std::string& directory) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(directory, error).string();
  if (error) return Status::error(directory + ": " + error.message());
  const std::string table = read_table();
  if (table.empty()) return Status::error(std::string("cannot read ") + kTable);
  return has_mount(table, path);
}

}  // namespace berth
