// KeyIndex: which place (a number) a text key has, where the key itself stands with what it names. A slot is eight
// bytes, so that the index of 50,000 keys stays in a processor's cache; a lookup touches what it finds, and hardly ever
// anything else. It has no order and cannot be walked.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace berth {

class KeyIndex {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = static_cast<Index>(-1);

  // Makes room for so many keys in all.
  void reserve(std::size_t keys) {
    if (keys * 5 > slots_.size() * 4) grow_to(std::bit_ceil((keys * 5 + 3) / 4));
  }
  // The place of a key; kNone: it has none. `is_key(place)` tells whether that place has the key.
  template <class IsKey>
  Index find(std::string_view key, const IsKey& is_key) const {
    const std::size_t at = slot_of(key, is_key);
    return at == kNoSlot ? kNone : slots_[at].place;
  }
  // The only place that the key may have, kNone: it has none. Asks no place whose key it is, unless several may be it.
  template <class IsKey>
  Index guess(std::string_view key, const IsKey& is_key) const {
    if (slots_.empty()) return kNone;
    const std::uint32_t hash = hash_of(key);
    Index found = kNone;
    for (std::size_t at = home_of(hash); slots_[at].place != kNone; at = next(at)) {
      if (slots_[at].hash != hash) continue;
      if (found != kNone) return find(key, is_key);
      found = slots_[at].place;
    }
    return found;
  }
  // A key that has no place yet.
  void insert(std::string_view key, Index place) {
    reserve(keys_ + 1);
    put({hash_of(key), place});
    ++keys_;
  }
  // False: it has no place.
  template <class IsKey>
  bool erase(std::string_view key, const IsKey& is_key) {
    const std::size_t at = slot_of(key, is_key);
    if (at == kNoSlot) return false;
    vacate(at);
    --keys_;
    return true;
  }
  std::size_t size() const { return keys_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    Index place = kNone;  // kNone: free
  };
  static constexpr std::size_t kNoSlot = static_cast<std::size_t>(-1);
  static constexpr std::size_t kFewest = 16;

  static std::uint32_t hash_of(std::string_view key) {
    const std::uint64_t hash = std::hash<std::string_view>()(key);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }
  std::size_t home_of(std::uint32_t hash) const { return hash & (slots_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  template <class IsKey>
  std::size_t slot_of(std::string_view key, const IsKey& is_key) const {
    if (slots_.empty()) return kNoSlot;
    const std::uint32_t hash = hash_of(key);
    for (std::size_t at = home_of(hash); slots_[at].place != kNone; at = next(at)) {
      if (slots_[at].hash == hash && is_key(slots_[at].place)) return at;
    }
    return kNoSlot;
  }
  void put(Slot slot) {
    std::size_t at = home_of(slot.hash);
    while (slots_[at].place != kNone) at = next(at);
    slots_[at] = slot;
  }
  void grow_to(std::size_t slots) {
    std::vector<Slot> old(slots < kFewest ? kFewest : slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.place != kNone) put(slot);
    }
  }
  // What comes behind moves up, as far as that brings it nearer to its home.
  void vacate(std::size_t hole) {
    for (std::size_t at = next(hole); slots_[at].place != kNone; at = next(at)) {
      const std::size_t from_home = (at - home_of(slots_[at].hash)) & (slots_.size() - 1);
      const std::size_t from_hole = (at - hole) & (slots_.size() - 1);
      if (from_home < from_hole) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
  }

  std::vector<Slot> slots_;  // none, or a power of two; at most four fifths of them taken
  std::size_t keys_ = 0;
};

}  // namespace berth
