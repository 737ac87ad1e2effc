#include "core/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "core/key_index.h"
#include "core/slot_pool.h"

namespace berth {

namespace {

constexpr std::uint32_t kUsersMax = (1u << 20) - 1;  // a text that reached it is never freed
constexpr std::uint32_t kLong = (1u << 11) - 1;

// Beginning of a text's block; the characters follow, after the size if the text is long.
struct Head {
  std::uint32_t users : 20;
  std::uint32_t common : 1;
  std::uint32_t bytes : 11;  // kLong: does not fit here
};

// Never destroyed: a static object that holds a text may outlive it. So may the tables below. Null at first: a static
// variable of the function would be guarded at every call, of which a start has millions.
constinit Blocks* all_blocks = nullptr;

[[gnu::noinline]] Blocks& make_blocks() {
  all_blocks = new Blocks();
  return *all_blocks;
}

Blocks& blocks() { return all_blocks != nullptr ? *all_blocks : make_blocks(); }

Head& head_of(Blocks::Handle block) { return *static_cast<Head*>(blocks()[block]); }

std::string_view text_of(Blocks::Handle block) {
  const Head& head = head_of(block);
  const char* behind = reinterpret_cast<const char*>(&head + 1);
  std::size_t size = head.bytes;
  if (size == kLong) {
    std::memcpy(&size, behind, sizeof size);
    behind += sizeof size;
  }
  return {behind, size};
}

// A direct-mapped cache of recently interned texts, by their last bytes: while objects are read, the same few texts are
// looked up again and again.
Blocks::Handle& recent(std::string_view text) {
  static std::array<Blocks::Handle, 256> texts{};
  std::uint64_t end = text.size();
  std::memcpy(&end, text.data() + text.size() - std::min(text.size(), sizeof end), std::min(text.size(), sizeof end));
  return texts[(end ^ text.size()) * 0x9E3779B97F4A7C15u >> 56];
}

struct Texts {
  SlotPool<Blocks::Handle> texts;
  KeyIndex index;  // of them

  // The text's block, and whether it is new: then it is what `make()` returned.
  template <class Make>
  std::pair<Blocks::Handle, bool> find_or_add(std::string_view text, const Make& make) {
    const auto is_text = [&](KeyIndex::Index at) { return text_of(texts[at]) == text; };
    const auto [at, is_new] = index.find_or_insert(text, is_text, [&] {
      const KeyIndex::Index taken = texts.take();
      texts[taken] = make();
      return taken;
    });
    return {texts[at], is_new};
  }
  void erase(Blocks::Handle block) {
    KeyIndex::Index at = KeyIndex::kNone;
    index.erase(text_of(block), [&](KeyIndex::Index other) {
      at = other;
      return texts[other] == block;
    });
    texts.give_back(at);
  }
};

Texts& common_texts() {
  static Texts& texts = *new Texts();
  return texts;
}

}  // namespace

Blocks::Handle Text::make(std::string_view text) {
  const bool is_long = text.size() >= kLong;
  const std::size_t size = text.size();
  const Blocks::Handle block = blocks().take(sizeof(Head) + (is_long ? sizeof size : 0) + size);
  Head* const head = new (blocks()[block]) Head{1, 0, is_long ? kLong : static_cast<std::uint32_t>(size)};
  char* characters = reinterpret_cast<char*>(head + 1);
  if (is_long) {
    std::memcpy(characters, &size, sizeof size);
    characters += sizeof size;
  }
  std::memcpy(characters, text.data(), size);
  return block;
}

std::string_view Text::characters() const { return text_of(block_); }

void Text::hold() const {
  Head& head = head_of(block_);
  if (head.users != kUsersMax) ++head.users;
}

Text Text::common(std::string_view text) {
  Text result;
  if (text.empty()) return result;
  Blocks::Handle& last = recent(text);
  if (last == Blocks::kNone || text_of(last) != text) {
    const auto [block, is_new] = common_texts().find_or_add(text, [text] { return make(text); });
    result.block_ = last = block;
    if (is_new) {
      head_of(block).common = 1;
      return result;
    }
  }
  result.block_ = last;
  result.hold();
  return result;
}

void Text::let_go() {
  Head& head = head_of(block_);
  if (head.users == kUsersMax) return;
  --head.users;
  if (head.users > 0) return;
  if (head.common) {
    if (Blocks::Handle& last = recent(text_of(block_)); last == block_) last = Blocks::kNone;
    common_texts().erase(block_);
  }
  blocks().give_back(block_);
}

}  // namespace berth
