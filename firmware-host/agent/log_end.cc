#include "firmware-host/agent/log_end.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "firmware-host/agent/streams/log_reader.h"

namespace berth {

std::string log_end_of(const std::string& path) {
  constexpr std::uint64_t kLines = 80;
  constexpr std::size_t kBytes = 2048;
  constexpr std::size_t kStepBytes = 16 * 1024;
  LogReader reader(path, {}, {.tail = kLines, .since = {}, .from = {}}, nullptr);
  std::string text;
  for (bool more = true; more;) {
    const StreamSource::Part part = reader.read(kStepBytes);
    more = part.more && !part.end;
    for (std::string_view rest = part.bytes; !rest.empty();) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      // "<time> <stream> <F or P> <text>"
      bool is_whole = true;
      for (int field = 0; field < 3; ++field) {
        const std::size_t space = line.find(' ');
        is_whole = field == 2 ? line.substr(0, space) == "F" : is_whole;
        line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
      }
      text.append(line);
      if (is_whole) text += '\n';
    }
    if (text.size() > kBytes) text.erase(0, text.size() - kBytes);
  }
  return text;
}

}  // namespace berth
