// Parses a broker address from a command line.
#pragma once

#include <string>

#include "core/status.h"
#include "firmware-host/config.h"

namespace berth {

// Parses HOST, HOST:PORT or [IPV6]:PORT into broker.host and, if present, broker.port. The error quotes the text.
Status parse_broker(const std::string& text, BrokerSettings& broker);

}  // namespace berth
