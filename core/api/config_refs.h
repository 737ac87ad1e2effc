// What a pod's manifest refers to by name: ConfigMaps and Secrets of its namespace, as volumes, in its environment and
// as imagePullSecrets. Gateway and device read it here alike.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/kind.h"

namespace berth {

class Json;

struct ConfigName {
  Kind kind = Kind::config_map;  // or secret
  std::string name;
  auto operator<=>(const ConfigName&) const = default;
};

// PreBind names all of them, beside a manifest of at most 56 KiB, in one message.
inline constexpr std::size_t kConfigNamesMax = 64;
inline constexpr std::size_t kConfigNameBytesMax = 3 * 1024;  // of all names

// Sorted, each once, optional references too. Names that no object can have are left out.
std::vector<ConfigName> config_names_of(const Json& pod);
// False: a manifest of this text certainly has none. Much cheaper.
bool may_have_config_names(std::string_view pod);

}  // namespace berth
