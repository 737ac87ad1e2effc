// Lists: what is said under one topic at one time, in one payload: an object whose `items` are the messages, and whose
// other members hold for every item that does not say otherwise (transports/README.md, "Lists").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

inline constexpr std::size_t kMaxItems = 32;  // of one list

// A message on its way out: the members of its object, the value of each as JSON text.
using Members = std::vector<std::pair<std::string_view, std::string>>;

std::string object_of(const Members& members);

// In as few payloads as there may be, in the order given; each at most kMessageLimits.bytes, unless one message alone
// is larger. `defaults`: members that mean nothing to an item which has none, so that the list may say them for it.
std::vector<std::string> lists_of(std::vector<Members> all, const std::vector<std::string_view>& defaults = {});

}  // namespace berth
