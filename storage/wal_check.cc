#include "storage/wal_check.h"

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace berth {

namespace {

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
constexpr std::uint32_t kMagic = 0x377f0682;  // the lowest bit set: checksums read words as big-endian
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameHeadBytes = 24;
constexpr std::size_t kSaltAt = 16;     // in the header
constexpr std::size_t kHeaderSum = 24;  // where its checksum is, over all before it

struct Sum {
  std::uint32_t first = 0, second = 0;
  bool operator==(const Sum&) const = default;
};

std::uint32_t word(std::string_view bytes, std::size_t at, bool big_endian = true) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[at + (big_endian ? i : 3 - i)]);
    value = value << 8 | byte;
  }
  return value;
}

Sum sum_at(std::string_view bytes, std::size_t at) { return {word(bytes, at), word(bytes, at + 4)}; }

Sum add(Sum sum, std::string_view bytes, bool big_endian) {
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum.first += word(bytes, at, big_endian) + sum.second;
    sum.second += word(bytes, at + 4, big_endian) + sum.first;
  }
  return sum;
}

class LogCheck {
 public:
  LogCheck(Database& database, std::size_t page_bytes)
      : database_(database), page_bytes_(page_bytes), frame_bytes_(kFrameHeadBytes + page_bytes) {}

  DatabaseResult<std::string> run() {
    const auto header = database_.read_log(0, kHeaderBytes);
    if (!header) return std::unexpected(header.error());
    if (header->size() < kHeaderBytes) return std::string();
    const std::uint32_t magic = word(*header, 0);
    big_endian_ = magic == (kMagic | 1u);
    const Sum own = add({}, std::string_view(*header).substr(0, kHeaderSum), big_endian_);
    const bool is_valid = (magic | 1u) == (kMagic | 1u) && own == sum_at(*header, kHeaderSum);
    if (!is_valid) return behind_bad_header();
    salt_ = header->substr(kSaltAt, 8);
    return behind_first_bad_frame(own);
  }

 private:
  struct Frame {
    std::string bytes;
    Sum stored;    // as its head says
    Sum computed;  // continued from what the frame before it stored
    bool has_salt = false;
    std::uint32_t page() const { return word(bytes, 0); }
    bool ends_transaction() const { return word(bytes, 4) != 0; }
    bool is_sound() const { return has_salt && stored == computed; }
    std::string_view contents() const { return std::string_view(bytes).substr(kFrameHeadBytes); }
  };

  // Counted from 1; none: the log ends before it.
  DatabaseResult<std::optional<Frame>> frame(std::uint64_t number, Sum before) const {
    auto bytes = database_.read_log(kHeaderBytes + (number - 1) * frame_bytes_, frame_bytes_);
    if (!bytes) return std::unexpected(bytes.error());
    if (bytes->size() < frame_bytes_) return std::optional<Frame>();
    Frame frame;
    frame.bytes = std::move(*bytes);
    frame.stored = sum_at(frame.bytes, 16);
    frame.computed = continued(before, frame);
    frame.has_salt = std::string_view(frame.bytes).substr(8, 8) == salt_;
    return std::optional<Frame>(std::move(frame));
  }

  Sum continued(Sum before, const Frame& frame) const {
    return add(add(before, std::string_view(frame.bytes).substr(0, 8), big_endian_), frame.contents(), big_endian_);
  }

  DatabaseResult<std::string> behind_first_bad_frame(Sum before) {
    std::uint64_t bad = 0;
    std::optional<Frame> last;
    for (std::uint64_t number = 1;; ++number) {
      auto next = frame(number, last ? last->stored : before);
      if (!next) return std::unexpected(next.error());
      if (!*next) return std::string();
      if (bad != 0 && continues_commit(*last, **next)) return damaged_at(bad);
      if (bad == 0 && !(*next)->is_sound()) bad = number;
      last = std::move(*next);
    }
  }

  // `last` may be the damaged frame itself. If the damage is in its checksum, the next one continues from what that
  // was.
  bool continues_commit(const Frame& last, const Frame& next) const {
    if (!next.has_salt || !last.ends_transaction()) return false;
    if (!last.has_salt && last.stored != last.computed) return false;
    return next.is_sound() || continued(last.computed, next) == next.stored;
  }

  // SQLite ignores the whole log. That is right where the power was cut while the header of a next use was written:
  // then all that the log held is in the file.
  DatabaseResult<std::string> behind_bad_header() {
    big_endian_ = std::endian::native == std::endian::big;
    const auto first = database_.read_log(0, kHeaderBytes + frame_bytes_);
    if (!first) return std::unexpected(first.error());
    if (first->size() < kHeaderBytes + frame_bytes_) return std::string();
    salt_ = first->substr(kHeaderBytes + 8, 8);
    std::map<std::uint32_t, std::uint64_t> pending, committed;  // by page, the frame that has it last
    Sum before = sum_at(*first, kHeaderBytes + 16);
    for (std::uint64_t number = 2;; ++number) {
      auto next = frame(number, before);
      if (!next) return std::unexpected(next.error());
      if (!*next || !(*next)->is_sound()) break;
      pending[(*next)->page()] = number;
      if ((*next)->ends_transaction()) committed = pending;
      before = (*next)->stored;
    }
    for (const auto& [page, number] : committed) {
      const auto held = frame(number, {});
      const auto in_file = database_.read_file((page - 1) * std::uint64_t{page_bytes_}, page_bytes_);
      if (!held) return std::unexpected(held.error());
      if (!in_file) return std::unexpected(in_file.error());
      if (*held && (*held)->contents() != *in_file) return damaged_at(0);
    }
    return std::string();
  }

  static std::string damaged_at(std::uint64_t frame) {
    const std::string where = frame == 0 ? "in its header" : "at frame " + std::to_string(frame);
    return "the write-ahead log is damaged " + where + ": the commits behind it are lost";
  }

  Database& database_;
  const std::size_t page_bytes_;
  const std::size_t frame_bytes_;
  bool big_endian_ = false;
  std::string salt_;
};

}  // namespace

DatabaseResult<std::string> find_lost_commits(Database& database) {
  const auto page_bytes = database.integer("PRAGMA page_size");
  if (!page_bytes) return std::unexpected(page_bytes.error());
  return LogCheck(database, static_cast<std::size_t>(*page_bytes)).run();
}

}  // namespace berth
