#include "core/handshake/lists.h"

#include <algorithm>
#include <map>

#include "core/handshake/fields.h"

namespace berth {

namespace {

// Removes the members that all messages have with the same value, and returns them.
Members take_shared(std::vector<Members>& all) {
  Members shared;
  for (const auto& member : all.front()) {
    const bool everywhere = std::all_of(all.begin() + 1, all.end(), [&](const Members& each) {
      return std::find(each.begin(), each.end(), member) != each.end();
    });
    if (everywhere) shared.push_back(member);
  }
  for (Members& each : all) {
    std::erase_if(each, [&](const auto& member) {
      return std::any_of(shared.begin(), shared.end(), [&](const auto& one) { return one.first == member.first; });
    });
  }
  return shared;
}

// Moves the most frequent value of member `key` from the messages to `shared`.
void take_default(std::vector<Members>& all, std::string_view key, Members& shared) {
  std::map<std::string, std::size_t> counts;
  for (const Members& each : all) {
    for (const auto& [name, value] : each) {
      if (name == key) ++counts[value];
    }
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end() || most->second < 2) return;
  for (Members& each : all) {
    std::erase_if(each, [&](const auto& member) { return member.first == key && member.second == most->first; });
  }
  shared.emplace_back(key, most->first);
}

std::string list_of(Members shared, const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text.append(text.size() > 1 ? "," : "").append(item);
  shared.emplace_back("items", text + "]");
  return object_of(shared);
}

}  // namespace

std::string object_of(const Members& members) {
  std::string text = "{";
  for (const auto& [key, value] : members) {
    if (text.size() > 1) text += ',';
    text.append("\"").append(key).append("\":").append(value);
  }
  return text + "}";
}

std::vector<std::string> lists_of(std::vector<Members> all, const std::vector<std::string_view>& defaults) {
  std::vector<std::string> payloads;
  if (all.size() < 2) {
    for (const Members& each : all) payloads.push_back(object_of(each));
    return payloads;
  }
  const std::vector<Members> whole = all;
  Members shared = take_shared(all);
  for (std::string_view key : defaults) take_default(all, key, shared);
  const std::size_t frame = list_of(shared, {}).size();
  std::vector<std::string> items;
  std::size_t bytes = frame;
  const auto close = [&](std::size_t end) {
    if (items.size() == 1) {  // not as a list: the message alone may have the maximum size
      payloads.push_back(object_of(whole[end - 1]));
    } else {
      payloads.push_back(list_of(shared, items));
    }
    items.clear();
    bytes = frame;
  };
  for (std::size_t index = 0; index < all.size(); ++index) {
    std::string item = object_of(all[index]);
    const bool full = items.size() == kMaxItems || bytes + item.size() + 1 > kMessageLimits.bytes;
    if (full && !items.empty()) close(index);
    bytes += item.size() + 1;
    items.push_back(std::move(item));
  }
  close(all.size());
  return payloads;
}

}  // namespace berth
