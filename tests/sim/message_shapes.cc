#include "tests/sim/message_shapes.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "core/json/json.h"

namespace berth::sim {

namespace {

constexpr std::size_t kLongestWord = 20;

std::uint64_t blend(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ (value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2))) * 0x100000001b3;
}

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

// Names and ids in the simulator have digits, and words of enumerations have none.
bool is_word(std::string_view text) {
  return text.size() <= kLongestWord &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
}

std::uint64_t kind_of(std::string_view topic) {
  std::uint64_t hash = 0;
  while (!topic.empty()) {
    const std::string_view level = topic.substr(0, topic.find('/'));
    hash = blend(hash, is_word(level) ? hash_of(level) : 1);
    topic.remove_prefix(std::min(topic.size(), level.size() + 1));
  }
  return hash;
}

}  // namespace

bool MessageShapes::note(std::uint64_t shape) { return known_.size() < kMax && known_.insert(shape).second; }

// The programs write valid JSON, so that punctuation and strings tell the structure; it is not parsed, since there are
// millions of messages.
bool MessageShapes::has_news(const Message& message) {
  const std::string_view text = message.payload;
  open_.assign(1, {blend(kind_of(message.topic), message.retain ? 1 : 0), 0, false});
  bool news = false;
  std::uint64_t key = 0;
  const auto add = [&](std::uint64_t leaf) {
    const std::uint64_t whole = blend(blend(open_.back().path, std::exchange(key, 0)), leaf);
    if (open_.back().is_object) {
      open_.back().members += whole;
    } else {
      news = note(whole) || news;  // of a list each item counts, in any order
    }
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') {
      const std::uint64_t path = blend(open_.back().path, key);
      add(static_cast<std::uint64_t>(c));
      open_.push_back({path, 0, c == '{'});
    } else if ((c == '}' || c == ']') && open_.size() > 1) {
      if (open_.back().is_object) news = note(blend(open_.back().path, open_.back().members)) || news;
      open_.pop_back();
    } else if (c == '"') {
      const std::size_t from = at + 1;
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      const std::string_view inside = text.substr(from, at - from);
      const std::uint64_t word = is_word(inside) ? hash_of(inside) : 2;
      if (at + 1 < text.size() && text[at + 1] == ':') {
        key = word;
        ++at;
      } else {
        add(word);
      }
    } else if (c != ',' && c != ' ') {
      const std::size_t from = at;
      while (at + 1 < text.size() && text.substr(at + 1, 1).find_first_of(",]}") == std::string_view::npos) ++at;
      const bool is_number = c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0;
      add(is_number ? 3 : hash_of(text.substr(from, at + 1 - from)));
    }
  }
  return news;
}

void MessageShapes::take(std::string_view sender, const Message& message) {
  if (!has_news(message)) return;
  Json line = Json::object();
  line.set("sender", sender).set("topic", message.topic).set("retain", message.retain).set("payload", message.payload);
  out_ << line.dump() << '\n';
}

}  // namespace berth::sim
