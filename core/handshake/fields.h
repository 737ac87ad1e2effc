// Fields: reads the members of one JSON object from outside (a message, a stored record). The first invalid member is
// remembered with its path, and reads after it return empty values: check status() once, at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/handshake/epoch.h"
#include "core/handshake/messages.h"
#include "core/handshake/protocol.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// Decimal digits without sign, space or leading zero, at most 2^64 - 1.
std::optional<std::uint64_t> parse_u64(std::string_view text);

// Safe in a key, a file name or a cgroup name: uids, incarnations, store ids.
// [A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?
bool is_valid_id(std::string_view text);

inline constexpr Millis kYearMs = 366LL * 24 * 3600 * 1000;  // no duration is longer

inline constexpr std::uint64_t kMaxVolumeBytes = (std::uint64_t{1} << 62) - 1;

class Fields {
 public:
  // `json` must outlive this. Anything but an object is an error. `path` is empty or ends in ".".
  explicit Fields(const Json& json, std::string path = {});
  // Item `index` of a list (messages.h): members that it does not have are read from the list's own.
  Fields(const Json& list, const Json& item, std::size_t index);

  // Required members, of the given form.
  std::string text(std::string_view key);         // a string, not empty
  std::string id(std::string_view key);           // is_valid_id
  std::string name(std::string_view key);         // is_valid_name (core/api/names.h)
  Epoch epoch(std::string_view key);              // "<term>.<counter>"
  std::uint64_t u64(std::string_view key);        // a string of digits
  Millis millis(std::string_view key);            // a string of digits, at most one year
  std::uint32_t u32(std::string_view key);        // a number
  std::string object_text(std::string_view key);  // an object; its compact text
  const Json::Array& array(std::string_view key);
  std::vector<BoundVolume> volumes(std::string_view key);   // optional; absent: none
  ProtocolVersion protocol();                               // the optional member "protocol"
  std::vector<ObeyedGateway> obeyed(std::string_view key);  // optional; absent: none; at most ObeyedGateway::kMax

  bool has(std::string_view key) const { return find(key) != nullptr; }
  // The member as is; null when absent.
  const Json* find(std::string_view key) const;
  // A reader for element `index` of the array `key`; pass its errors on with merge().
  Fields element(std::string_view key, const Json& value, std::size_t index) const;
  void merge(const Fields& inner);
  void fail(std::string_view key, std::string_view what);

  bool ok() const { return status_.is_success(); }
  const Status& status() const { return status_; }

 private:
  static VolumeToMake read_make(Fields& volume);
  const Json* require(std::string_view key, Json::Type type, std::string_view what);
  const Json& json_;
  const Json* shared_ = nullptr;
  std::string path_;
  Status status_;
};

Json to_json(const std::vector<BoundVolume>& volumes);
Json to_json(const std::vector<ObeyedGateway>& gateways);

// Appends `"key":<text>` to the compact text of an object. `text` is JSON.
void append_member(std::string& object, std::string_view key, std::string_view text);

// Of a payload: 64 KiB, and deeper than a manifest may be, since it contains one.
inline constexpr Json::Limits kMessageLimits{65536, 80};
// A stored record has more around the manifest than a message.
inline constexpr Json::Limits kRecordLimits{262144, 80};

}  // namespace berth
