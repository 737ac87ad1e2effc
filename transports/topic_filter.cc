#include "transports/topic_filter.h"

namespace berth {

bool has_wildcard(std::string_view filter) { return filter.find_first_of("+#") != std::string_view::npos; }

bool filter_matches(std::string_view filter, std::string_view topic) {
  if (topic.starts_with('$') && (filter.starts_with('+') || filter.starts_with('#'))) return false;
  for (;;) {
    if (filter == "#") return true;
    const std::size_t filter_end = filter.find('/');
    const std::size_t topic_end = topic.find('/');
    const std::string_view level = filter.substr(0, filter_end);
    if (level != "+" && level != topic.substr(0, topic_end)) return false;
    if (filter_end == std::string_view::npos) return topic_end == std::string_view::npos;
    filter.remove_prefix(filter_end + 1);
    // "a/#" sees "a" too.
    if (topic_end == std::string_view::npos) return filter == "#";
    topic.remove_prefix(topic_end + 1);
  }
}

}  // namespace berth
