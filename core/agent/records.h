// The records in an agent's store: Table::meta, Table::slot, Table::high, with small JSON values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/identity.h"
#include "core/agent/rules.h"
#include "core/status.h"
#include "core/store.h"

namespace berth {

// Everything an agent reads at its start.
struct AgentRecords {
  NodeState state;
  std::optional<DeviceIdentity> identity;  // of the device that wrote this; stores of earlier versions have none
  std::string boot_id;                     // of the last start
  std::uint64_t session = 0;               // the last session number used in presence
};

// Keys of Table::meta.
inline constexpr std::string_view kIncarnationKey = "incarnation";
inline constexpr std::string_view kGatewayKey = "gateway";
inline constexpr std::string_view kFloorKey = "floor";
inline constexpr std::string_view kIdentityKey = "identity";
inline constexpr std::string_view kBootKey = "boot";
inline constexpr std::string_view kSessionKey = "session";

// The value of a meta or high record that is one string, one epoch or one gateway.
std::string encode_text(std::string_view text);
std::string encode(const Epoch& epoch);
std::string encode(const GatewayId& gateway);
std::string encode(const Slot& slot);
std::string encode(const DeviceIdentity& identity);

// An error names the table and the key: "slot u1: epoch: ...". Records of other tables are errors too.
Result<AgentRecords> decode_records(const std::vector<Record>& records);
// Decodes one record into `out`, replacing what it has under the key. After an error `out` must not be used.
Status decode_record(const Record& record, AgentRecords& out);

}  // namespace berth
