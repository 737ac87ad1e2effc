// TZif: the form of a compiled time zone (RFC 8536, section 3). A file has a header and data with times of four bytes,
// for old readers, then the same with times of eight bytes, then a footer.
#include <algorithm>
#include <array>

#include "core/controllers/time_zones/time_zone.h"

namespace berth {
namespace {

// RFC 8536, 3.2: what a file should not exceed; more would be no time zone.
constexpr std::int32_t kMinOffset = -89'999;
constexpr std::int32_t kMaxOffset = 93'599;

// Reads numbers of the network's byte order; past the end zeros, and is_short() from then on.
class NetworkReader {
 public:
  explicit NetworkReader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      is_short_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char byte : take(bytes)) value = value << 8 | static_cast<std::uint8_t>(byte);
    return value;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::uint32_t count() { return static_cast<std::uint32_t>(number(4)); }
  std::int32_t offset() { return static_cast<std::int32_t>(count()); }
  std::int64_t time() { return static_cast<std::int64_t>(number(8)); }

  bool is_short() const { return is_short_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

struct Header {
  bool valid = false;
  char version = 0;
  std::uint64_t is_ut, is_standard, leaps, times, types, characters;

  std::uint64_t data_size(std::uint64_t bytes_per_time) const {
    return times * (bytes_per_time + 1) + types * 6 + characters + leaps * (bytes_per_time + 4) + is_standard + is_ut;
  }
};

Header read_header(NetworkReader& reader) {
  constexpr std::size_t kReserved = 15;
  Header header;
  const bool magic = reader.take(4) == "TZif";
  header.version = static_cast<char>(reader.byte());
  reader.take(kReserved);
  header.is_ut = reader.count();
  header.is_standard = reader.count();
  header.leaps = reader.count();
  header.times = reader.count();
  header.types = reader.count();
  header.characters = reader.count();
  header.valid = magic && !reader.is_short();
  return header;
}

// The data of the second part, without what only concerns names and leap seconds.
Result<TimeZone> read_data(const Header& header, NetworkReader data) {
  TimeZone zone;
  zone.transitions.resize(static_cast<std::size_t>(header.times));
  for (TimeZone::Transition& each : zone.transitions) each.at = data.time();
  const std::string_view type_of = data.take(header.times);
  std::vector<std::int32_t> offsets;
  for (std::uint64_t type = 0; type < header.types; ++type) {
    offsets.push_back(data.offset());
    data.take(2);  // whether it is summer time, and its abbreviation
    if (offsets.back() < kMinOffset || offsets.back() > kMaxOffset) return Status::error("an offset of over a day");
  }
  for (std::size_t i = 0; i < type_of.size(); ++i) {
    const auto type = static_cast<std::uint8_t>(type_of[i]);
    if (type >= offsets.size()) return Status::error("a transition to a type that is not there");
    zone.transitions[i].offset = offsets[type];
    if (i > 0 && zone.transitions[i].at <= zone.transitions[i - 1].at) {
      return Status::error("transitions are not in ascending order");
    }
  }
  zone.first_offset = offsets.front();
  return zone;
}

}  // namespace

Result<TimeZone> parse_tzif(std::string_view bytes) {
  NetworkReader reader(bytes);
  const Header old = read_header(reader);
  if (!old.valid) return Status::error("not a TZif file");
  if (old.version < '2') return Status::error("a TZif file of version 1; expected version 2 or later");
  reader.take(old.data_size(4));
  const Header header = read_header(reader);
  if (!header.valid) return Status::error("the TZif file ends early");
  const std::string_view data = reader.take(header.data_size(8));
  if (reader.is_short()) return Status::error("the TZif file ends early");
  if (header.types == 0) return Status::error("the TZif file has no type of local time");
  Result<TimeZone> zone = read_data(header, NetworkReader(data));
  if (!zone) return zone;

  const std::string_view footer = reader.rest();
  const std::size_t end = footer.find('\n', 1);
  if (!footer.starts_with('\n') || end == std::string_view::npos) return Status::error("the TZif file has no footer");
  const std::string_view rule = footer.substr(1, end - 1);
  if (rule.empty()) return zone;  // times after the last transition are as it says
  zone->rule = PosixZone::parse(rule);
  if (!zone->rule) return Status::error("the TZif file's footer is not a rule of POSIX: " + std::string(rule));
  return zone;
}

}  // namespace berth
