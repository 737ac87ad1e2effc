#include "firmware-host/agent/pod_directory.h"

#include <algorithm>

namespace berth {

bool is_plain(const std::string& uid) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  };
  return !uid.empty() && uid.size() <= 200 && uid.front() != '.' && std::all_of(uid.begin(), uid.end(), is_good);
}

std::string directory_name(const Tag& tag) { return tag.uid + "@" + to_text(tag.epoch); }

std::optional<Tag> parse_tag(std::string_view text, char separator) {
  const std::size_t middle = text.rfind(separator);
  if (middle == std::string_view::npos || middle == 0) return std::nullopt;
  const Result<Epoch> epoch = parse_epoch(text.substr(middle + 1));
  if (!epoch) return std::nullopt;
  return Tag{std::string(text.substr(0, middle)), *epoch};
}

}  // namespace berth
