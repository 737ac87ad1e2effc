// An allocator for the simulator's small objects: a free list per size class, never returned to the system. The C
// library's allocator, which must support threads and all sizes, took an eighth of the run time.
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kStep = 32, kSizes = 24, kChunk = std::size_t{1} << 18;

struct alignas(std::max_align_t) Head {
  std::size_t size;  // in steps, including this header; 0: allocated by the C library
};

struct Free {
  Free* next;
};

Free* free_pieces[kSizes + 1];
std::byte* chunk = nullptr;
std::size_t chunk_left = 0;

std::byte* from_system(std::size_t bytes) {
  void* found = std::malloc(bytes);
  if (found == nullptr) std::abort();  // like the product's programs
  return static_cast<std::byte*>(found);
}

std::byte* take(std::size_t size) {
  if (Free* piece = free_pieces[size]; piece != nullptr) {
    free_pieces[size] = piece->next;
    return reinterpret_cast<std::byte*>(piece) - sizeof(Head);
  }
  if (chunk_left < size * kStep) {
    chunk = from_system(kChunk);
    chunk_left = kChunk;
  }
  std::byte* piece = chunk;
  chunk += size * kStep;
  chunk_left -= size * kStep;
  return piece;
}

}  // namespace

void* operator new(std::size_t bytes) {
  const std::size_t size = (bytes + sizeof(Head) + kStep - 1) / kStep;
  std::byte* piece = size <= kSizes ? take(size) : from_system(bytes + sizeof(Head));
  new (piece) Head{size <= kSizes ? size : 0};
  return piece + sizeof(Head);
}

void operator delete(void* object) noexcept {
  if (object == nullptr) return;
  std::byte* piece = static_cast<std::byte*>(object) - sizeof(Head);
  const std::size_t size = reinterpret_cast<const Head*>(piece)->size;
  if (size == 0) return std::free(piece);
  free_pieces[size] = new (object) Free{free_pieces[size]};
}

void operator delete(void* object, std::size_t) noexcept { operator delete(object); }
