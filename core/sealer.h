// Sealer interface: keeps Secrets unreadable in a store, under a key that is not in it.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

class Sealer {
 public:
  virtual ~Sealer() = default;
  // The bytes, encrypted and authenticated together with `name`. Makes the key when there is none yet, unless
  // something sealed was met by open(): that needs the key that is missing. An error names the key file, and the fix.
  virtual Result<std::string> seal(std::string_view name, std::string_view bytes) = 0;
  // What seal() was given. An error says why it cannot be read: the key is missing, another one, or bytes or name are
  // not what was sealed.
  virtual Result<std::string> open(std::string_view name, std::string_view sealed) = 0;
};

}  // namespace berth
