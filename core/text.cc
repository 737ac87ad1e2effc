#include "core/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "core/key_index.h"
#include "core/slot_pool.h"

namespace berth {

namespace {

// A direct-mapped cache of recently interned texts, by their last bytes: while objects are read, the same few texts are
// looked up again and again.
template <class Part>
Part*& recent(std::string_view text) {
  static std::array<Part*, 256> parts{};
  std::uint64_t end = text.size();
  std::memcpy(&end, text.data() + text.size() - std::min(text.size(), sizeof end), std::min(text.size(), sizeof end));
  return parts[(end ^ text.size()) * 0x9E3779B97F4A7C15u >> 56];
}

template <class Part>
struct Texts {
  SlotPool<Part*> parts;
  KeyIndex index;  // of them

  KeyIndex::Index find(std::string_view text) {
    return index.find(text, [&](KeyIndex::Index at) { return parts[at]->text() == text; });
  }
  void add(Part* part) {
    const KeyIndex::Index at = parts.take();
    parts[at] = part;
    index.insert(part->text(), at);
  }
  void erase(const Part* part) {
    const KeyIndex::Index at = find(part->text());
    index.erase(part->text(), [at](KeyIndex::Index other) { return other == at; });
    parts.give_back(at);
  }
};

// Never destroyed: a static object that holds a text may outlive the table.
template <class Part>
Texts<Part>& common_texts() {
  static auto& texts = *new Texts<Part>();
  return texts;
}

}  // namespace

std::string_view Text::Part::long_text() const {
  std::size_t size = 0;
  std::memcpy(&size, behind(), sizeof size);
  return {behind() + sizeof size, size};
}

Text::Part* Text::make(std::string_view text) {
  const bool is_long = text.size() >= kLong;
  const std::size_t size = text.size();
  void* const memory = ::operator new(sizeof(Part) + (is_long ? sizeof size : 0) + size);
  Part* const part = new (memory) Part{1, 0, is_long ? kLong : static_cast<std::uint32_t>(size)};
  char* characters = reinterpret_cast<char*>(part + 1);
  if (is_long) {
    std::memcpy(characters, &size, sizeof size);
    characters += sizeof size;
  }
  std::memcpy(characters, text.data(), size);
  return part;
}

Text Text::common(std::string_view text) {
  Text result;
  if (text.empty()) return result;
  Part*& last = recent<Part>(text);
  if (last == nullptr || last->text() != text) {
    Texts<Part>& texts = common_texts<Part>();
    if (const KeyIndex::Index found = texts.find(text); found != KeyIndex::kNone) {
      last = texts.parts[found];
    } else {
      result.part_ = last = make(text);
      last->common = 1;
      texts.add(last);
      return result;
    }
  }
  result.part_ = last;
  if (last->users != kUsersMax) ++last->users;
  return result;
}

void Text::drop() {
  if (part_->common) {
    if (Part*& last = recent<Part>(part_->text()); last == part_) last = nullptr;
    common_texts<Part>().erase(part_);
  }
  ::operator delete(part_);
}

}  // namespace berth
