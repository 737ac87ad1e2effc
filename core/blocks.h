// Blocks: memory of small objects that are known by four bytes instead of a pointer's eight, and take what they ask
// for, rounded up to eight bytes, where the heap adds eight more and rounds up to sixteen. Blocks of one size are in
// chunks of their own; a chunk goes back to the heap with the last of its blocks. Blocks do not move. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

class Blocks {
 public:
  using Handle = std::uint32_t;
  static constexpr Handle kNone = 0;  // of no block

  Blocks() : chunks_(1) {}
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks();

  // A block of at least so many bytes, aligned to eight; throws std::bad_alloc.
  Handle take(std::size_t bytes);
  void give_back(Handle block);
  void* operator[](Handle block) const { return chunks_[block >> kUnitBits].memory + (block & (kUnits - 1)) * kUnit; }

  // Taken from the heap.
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kUnit = 8;  // bytes
  static constexpr unsigned kUnitBits = 11;
  static constexpr std::size_t kUnits = std::size_t{1} << kUnitBits;  // in a chunk, so that a handle has room for both
  static constexpr std::size_t kChunksMax = std::size_t{1} << (32 - kUnitBits);
  // Sizes in units: each up to kExact, then in steps of kExact / 2 up to kMost. Larger ones have a chunk each.
  static constexpr std::size_t kExact = 16, kMost = 128;
  static constexpr std::size_t kSizes = kExact + (kMost - kExact) / (kExact / 2);
  using Number = std::uint32_t;  // of a chunk; 0: none

  struct Chunk {
    std::byte* memory = nullptr;  // null: unused
    std::uint32_t bytes = 0;
    std::uint16_t size = 0;         // of its blocks, as an index in with_room_; kSizes: one large block
    std::uint16_t used = 0;         // blocks
    std::uint16_t fresh = 0;        // units from here on were never taken
    std::uint16_t free = kUnits;    // unit of the first block that was given back; kUnits: none
    Number previous = 0, next = 0;  // in the list of those with room for one more block of this size
  };
  static std::size_t size_of(std::size_t units);
  static std::size_t units_of(std::size_t size);
  Number add_chunk(std::size_t size, std::size_t bytes);
  void drop_chunk(Number number);
  void link(Number number);
  void unlink(Number number);
  bool has_room(const Chunk& chunk) const;

  std::vector<Chunk> chunks_;  // by number; the first is none
  std::vector<Number> unused_;
  std::array<Number, kSizes> with_room_{};  // by size: the first chunk
  std::size_t bytes_ = 0;
};

}  // namespace berth
