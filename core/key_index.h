// KeyIndex: an open-addressing hash table from string keys to indices into storage of its owner, which also holds the
// keys. A slot takes eight bytes, so that the table of 50,000 keys fits a processor's cache; a lookup touches the entry
// it finds and hardly ever another. It is unordered and cannot be iterated.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

class KeyIndex {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = static_cast<Index>(-1);

  // Reserves capacity for `keys` keys in total.
  void reserve(std::size_t keys) {
    if (keys * 5 > slots_.size() * 4) grow_to(std::bit_ceil((keys * 5 + 3) / 4));
  }
  // The index of a key, or kNone. `is_key(index)` tells whether the owner's entry at `index` has this key.
  template <class IsKey>
  Index find(std::string_view key, const IsKey& is_key) const {
    const std::size_t at = slot_of(key, is_key);
    return at == kNoSlot ? kNone : slots_[at].index;
  }
  // The key must not be in the table yet.
  void insert(std::string_view key, Index index) {
    reserve(keys_ + 1);
    put({hash_of(key), index});
    ++keys_;
  }
  // The index of a key, and whether it is new: then it is what `make()` returned, which must not touch this table. For
  // a new key that takes half the time of find() and insert().
  template <class IsKey, class Make>
  std::pair<Index, bool> find_or_insert(std::string_view key, const IsKey& is_key, const Make& make) {
    reserve(keys_ + 1);
    const std::uint32_t hash = hash_of(key);
    const std::size_t at = slot_from(hash, is_key);
    if (slots_[at].index != kNone) return {slots_[at].index, false};
    slots_[at] = {hash, make()};
    ++keys_;
    return {slots_[at].index, true};
  }
  // The key has this index from now on, whether it is in the table or not.
  template <class IsKey>
  void assign(std::string_view key, const IsKey& is_key, Index index) {
    reserve(keys_ + 1);
    const std::uint32_t hash = hash_of(key);
    Slot& slot = slots_[slot_from(hash, is_key)];
    if (slot.index == kNone) ++keys_;
    slot = {hash, index};
  }
  // False when the key is not in the table.
  template <class IsKey>
  bool erase(std::string_view key, const IsKey& is_key) {
    const std::size_t at = slot_of(key, is_key);
    if (at == kNoSlot) return false;
    vacate(at);
    --keys_;
    return true;
  }
  std::size_t size() const { return keys_; }
  // Uniform in its low bits, from which a key's slot follows.
  static std::uint32_t hash_of(std::string_view key);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    Index index = kNone;  // kNone: free
  };
  static constexpr std::size_t kNoSlot = static_cast<std::size_t>(-1);
  static constexpr std::size_t kMinSlots = 16;

  std::size_t home_of(std::uint32_t hash) const { return hash & (slots_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  template <class IsKey>
  std::size_t slot_of(std::string_view key, const IsKey& is_key) const {
    if (slots_.empty()) return kNoSlot;
    const std::size_t at = slot_from(hash_of(key), is_key);
    return slots_[at].index == kNone ? kNoSlot : at;
  }
  // Where the key is, or else the free slot that it would get. The table must have one.
  template <class IsKey>
  std::size_t slot_from(std::uint32_t hash, const IsKey& is_key) const {
    std::size_t at = home_of(hash);
    while (slots_[at].index != kNone && !(slots_[at].hash == hash && is_key(slots_[at].index))) at = next(at);
    return at;
  }
  void put(Slot slot) {
    std::size_t at = home_of(slot.hash);
    while (slots_[at].index != kNone) at = next(at);
    slots_[at] = slot;
  }
  void grow_to(std::size_t slots) {
    std::vector<Slot> old(slots < kMinSlots ? kMinSlots : slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.index != kNone) put(slot);
    }
  }
  // Backward-shift deletion: following entries move up where that brings them closer to their home slot.
  void vacate(std::size_t hole) {
    for (std::size_t at = next(hole); slots_[at].index != kNone; at = next(at)) {
      const std::size_t from_home = (at - home_of(slots_[at].hash)) & (slots_.size() - 1);
      const std::size_t from_hole = (at - hole) & (slots_.size() - 1);
      if (from_home < from_hole) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
  }

  std::vector<Slot> slots_;  // empty, or a power of two of them; at most four fifths in use
  std::size_t keys_ = 0;
};

}  // namespace berth
