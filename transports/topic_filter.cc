#include "transports/topic_filter.h"

#include <algorithm>

namespace berth {

bool has_wildcard(std::string_view filter) { return filter.find_first_of("+#") != std::string_view::npos; }

bool filter_matches(std::string_view filter, std::string_view topic) {
  if (topic.starts_with('$') && (filter.starts_with('+') || filter.starts_with('#'))) return false;
  std::size_t in_topic = 0;
  for (std::size_t at = 0; at < filter.size(); ++at) {
    const bool begins = at == 0 || filter[at - 1] == '/', last = at + 1 == filter.size();
    if (begins && last && filter[at] == '#') return true;
    if (begins && filter[at] == '+' && (last || filter[at + 1] == '/')) {
      in_topic = std::min(topic.find('/', in_topic), topic.size());
      continue;
    }
    if (in_topic == topic.size()) return filter.substr(at) == "/#";  // "a/#" matches "a" too
    if (filter[at] != topic[in_topic++]) return false;
  }
  return in_topic == topic.size();
}

}  // namespace berth
