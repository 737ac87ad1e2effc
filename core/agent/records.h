// What an agent keeps in its store, and how: Table::meta, Table::slot, Table::high as small JSON values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/rules.h"
#include "core/status.h"
#include "core/store.h"

namespace berth {

// Everything an agent finds at its start.
struct AgentRecords {
  NodeState state;
  std::string boot_id;        // of the last start
  std::uint64_t session = 0;  // of presence, the last used
};

// Keys of Table::meta.
inline constexpr std::string_view kIncarnationKey = "incarnation";
inline constexpr std::string_view kGatewayKey = "gateway";
inline constexpr std::string_view kFloorKey = "floor";
inline constexpr std::string_view kBootKey = "boot";
inline constexpr std::string_view kSessionKey = "session";

// The value of a meta or high record that is one text, one epoch or one gateway.
std::string encode_text(std::string_view text);
std::string encode(const Epoch& epoch);
std::string encode(const GatewayId& gateway);
std::string encode(const Slot& slot);

// An error names the table and the key: "slot u1: epoch: ...". Records of other tables are errors too.
Result<AgentRecords> decode_records(const std::vector<Record>& records);
// One record, in the place of what `out` knew under its key. After an error `out` is not to be used.
Status decode_record(const Record& record, AgentRecords& out);

}  // namespace berth
