#include "core/blocks.h"

#include <cstring>
#include <limits>
#include <new>

#include "core/check.h"
#include "core/recycled.h"

namespace berth {

namespace {
constexpr std::size_t kCoarse = 8;  // units; of the steps between the larger sizes
}

std::size_t Blocks::size_of(std::size_t units) {
  static_assert(kCoarse == kExact / 2);
  return units <= kExact ? units - 1 : kExact + (units - kExact - 1) / kCoarse;
}

std::size_t Blocks::units_of(std::size_t size) {
  return size < kExact ? size + 1 : kExact + (size - kExact + 1) * kCoarse;
}

bool Blocks::has_room(const Chunk& chunk) const {
  return chunk.free != kUnits || chunk.fresh + units_of(chunk.size) <= kUnits;
}

static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 8, "blocks are as aligned as their chunk");

Blocks::~Blocks() {
  for (const Chunk& chunk : chunks_) ::operator delete(chunk.memory);
}

Blocks::Number Blocks::add_chunk(std::size_t size, std::size_t bytes) {
  if (bytes > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
  if (unused_.empty()) {
    if (chunks_.size() == kChunksMax) throw std::bad_alloc();
    unused_.reserve(chunks_.size() + 1);  // so that drop_chunk() cannot fail
    chunks_.emplace_back();
    unused_.push_back(static_cast<Number>(chunks_.size() - 1));
  }
  const Number number = unused_.back();
  chunks_[number].memory = static_cast<std::byte*>(::operator new(bytes));
  chunks_[number].bytes = static_cast<std::uint32_t>(bytes);
  chunks_[number].size = static_cast<std::uint16_t>(size);
  unused_.pop_back();
  bytes_ += bytes;
  return number;
}

void Blocks::drop_chunk(Number number) {
  Chunk& chunk = chunks_[number];
  bytes_ -= chunk.bytes;
  ::operator delete(chunk.memory);
  chunk = {};
  unused_.push_back(number);
}

void Blocks::link(Number number) {
  Chunk& chunk = chunks_[number];
  Number& first = with_room_[chunk.size];
  chunk.previous = 0;
  chunk.next = first;
  if (first != 0) chunks_[first].previous = number;
  first = number;
}

void Blocks::unlink(Number number) {
  const Chunk& chunk = chunks_[number];
  (chunk.previous != 0 ? chunks_[chunk.previous].next : with_room_[chunk.size]) = chunk.next;
  if (chunk.next != 0) chunks_[chunk.next].previous = chunk.previous;
}

Blocks::Handle Blocks::take(std::size_t bytes) {
  // One chunk each, so that the address sanitizer finds uses after free.
  if (bytes > kMost * kUnit || !kRecycles) return add_chunk(kSizes, bytes == 0 ? 1 : bytes) << kUnitBits;
  const std::size_t units = bytes == 0 ? 1 : (bytes + kUnit - 1) / kUnit;
  const std::size_t size = size_of(units);
  if (with_room_[size] == 0) link(add_chunk(size, kUnits * kUnit));
  const Number number = with_room_[size];
  Chunk& chunk = chunks_[number];
  std::uint16_t unit = chunk.free;
  if (unit != kUnits) {
    std::memcpy(&chunk.free, chunk.memory + unit * kUnit, sizeof chunk.free);
  } else {
    unit = chunk.fresh;
    chunk.fresh = static_cast<std::uint16_t>(unit + units_of(size));
  }
  ++chunk.used;
  if (!has_room(chunk)) unlink(number);
  return number << kUnitBits | unit;
}

void Blocks::give_back(Handle block) {
  const Number number = block >> kUnitBits;
  Chunk& chunk = chunks_[number];
  CHECK(chunk.memory != nullptr);
  if (chunk.size == kSizes) return drop_chunk(number);
  CHECK(chunk.used > 0);
  const bool had_room = has_room(chunk);
  const auto unit = static_cast<std::uint16_t>(block & (kUnits - 1));
  std::memcpy(chunk.memory + unit * kUnit, &chunk.free, sizeof chunk.free);
  chunk.free = unit;
  --chunk.used;
  if (!had_room) link(number);
  // The last one with room stays: one block that comes and goes takes no chunk each time.
  if (chunk.used > 0 || (chunk.previous == 0 && chunk.next == 0)) return;
  unlink(number);
  drop_chunk(number);
}

}  // namespace berth
