// MadeVolume: the record of a volume that the device has made below one of its pools (made_volumes.h).
#pragma once

#include <cstdint>
#include <string>

#include "core/handshake/epoch.h"

namespace berth {

struct MadeVolume {
  enum class State { made, kept, removing };
  std::string path;
  std::string claim = {};  // that it was made for; empty: unknown
  std::int64_t bytes = 0;  // 0: unknown, of one found without a record
  Epoch epoch;             // of the last slot that has had it; removing: of the DeleteVolume
  State state = State::made;
  bool operator==(const MadeVolume&) const = default;
};

}  // namespace berth
