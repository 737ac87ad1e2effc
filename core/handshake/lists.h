// Lists: several messages for one topic in one payload: an object whose `items` are the messages, and whose other
// members are defaults for items that do not have them (transports/README.md, "Lists").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

inline constexpr std::size_t kMaxItems = 32;  // per list

// An outgoing message: the members of its object, values as JSON text.
using Members = std::vector<std::pair<std::string_view, std::string>>;

std::string object_of(const Members& members);

// Encodes the messages, in order, in as few payloads as possible, each at most kMessageLimits.bytes unless a single
// message is larger. `defaults`: members that are ignored by items which do not have them, so that their most frequent
// value can be moved to the list.
std::vector<std::string> lists_of(std::vector<Members> all, const std::vector<std::string_view>& defaults = {});

}  // namespace berth
