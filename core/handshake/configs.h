// ConfigMaps and Secrets in messages between gateway and device: by name and hash what a pod refers to, and their
// contents in parts, since a ConfigMap may have 1 MiB and a message has 64 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/kind.h"
#include "core/status.h"

namespace berth {

class Fields;
class Json;

// One state of a ConfigMap or Secret, by name.
struct ConfigRef {
  Kind kind = Kind::config_map;  // or secret
  std::string key;               // "<namespace>/<name>"; in a PreBind the name alone, in the pod's namespace
  std::string hash;              // names the contents; empty: there is no such object
  bool operator==(const ConfigRef&) const = default;
};

// A device asks for contents from this part on: it has those before.
struct ConfigWish {
  ConfigRef ref;
  std::uint32_t part = 0;
  bool operator==(const ConfigWish&) const = default;
};

// One part of the contents.
struct ConfigPart {
  ConfigRef ref;
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  std::string text;
  bool operator==(const ConfigPart&) const = default;
};

inline constexpr std::size_t kConfigRefsMax = 128;                // in a message
inline constexpr std::size_t kConfigWishesMax = 8;                // likewise
inline constexpr std::size_t kConfigPartBytes = 40 * 1024;        // of text; quotes in it double
inline constexpr std::size_t kConfigContentsMax = 2 * (1 << 20);  // of all parts together
inline constexpr std::uint32_t kConfigPartsMax = 64;

// What a pod reads of an object, as JSON text of ASCII: {"immutable":true,"data":{"<key>":"<base64>"}}, sorted by key.
struct ConfigContents {
  std::map<std::string, std::string> values;  // bytes
  bool immutable = false;
};
std::string encode(const ConfigContents& contents);
Result<ConfigContents> decode_contents(std::string_view text);
// The contents' text in parts.
std::vector<std::string_view> config_parts(std::string_view text);

// JSON text of the members "configs", "wishes" and "config".
std::string to_text(const std::vector<ConfigRef>& refs);
std::string to_text(const std::vector<ConfigWish>& wishes);
std::string to_text(const ConfigPart& part);
// Each reads its member of that name; absent: none, except for a part. `with_namespace`: keys are
// "<namespace>/<name>".
std::vector<ConfigRef> read_config_refs(Fields& fields, bool with_namespace);
std::vector<ConfigWish> read_config_wishes(Fields& fields);
ConfigPart read_config_part(Fields& fields);

}  // namespace berth
