// The version of the protocol between gateway and devices, and which devices a gateway serves (transports/README.md,
// "Versions").
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// Minor versions add members and messages that others may ignore; major ones change what is there.
struct ProtocolVersion {
  std::uint32_t major = 1;
  std::uint32_t minor = 0;
  auto operator<=>(const ProtocolVersion&) const = default;
};

// Of this program. With another major one, count up the form in core/api/packed.cc: stored nodes are made again, since
// which of them are served has changed.
inline constexpr ProtocolVersion kProtocol{1, 16};
// From this one on a gateway understands Kept.
inline constexpr ProtocolVersion kTellsKept{1, 5};
// From this one on a device keeps ConfigMaps and Secrets (N13).
inline constexpr ProtocolVersion kKeepsConfigs{1, 13};
// From this one on a device says what it is short of (core/objects/node_pressure.h).
inline constexpr ProtocolVersion kTellsPressure{1, 14};
// From this one on a device says which of its heartbeats are to be answered; before, all are.
inline constexpr ProtocolVersion kAsksForAnswers{1, 10};

std::string to_text(const ProtocolVersion& version);  // "<major>.<minor>"
// The member "protocol" of a message; null: absent, which means 1.0. An error names the member.
Result<ProtocolVersion> read_protocol(const Json* member);

// A gateway serves devices of its own major version and of the one before, whatever the minor versions.
bool serves(const ProtocolVersion& gateway, const ProtocolVersion& device);
// Why it does not, and which side to upgrade; empty: it does.
std::string why_not_served(const ProtocolVersion& gateway, const ProtocolVersion& device);

}  // namespace berth
