// What `berthctl status` says of the certificates of a broker on this machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace berth {

// "valid until 2031-04-01", and what to do if that is soon. `fix`: the command that mends it.
std::string validity(Millis end, Millis wall, const std::string& fix);

// Label and text of each certificate that can be read in the broker's `tls` directory: of the gateway with this state
// directory, or, if that is empty, of the machine's mosquitto.
std::vector<std::pair<std::string, std::string>> broker_certificates(const std::string& state_dir, Millis wall);

}  // namespace berth
