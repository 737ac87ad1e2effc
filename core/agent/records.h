// The records in an agent's store: Table::meta, Table::slot, Table::high, with small JSON values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/identity.h"
#include "core/agent/made_volume.h"
#include "core/agent/rules.h"
#include "core/handshake/term_history.h"
#include "core/status.h"
#include "core/store.h"

namespace berth {

// Everything an agent reads at its start.
struct AgentRecords {
  NodeState state;
  std::optional<DeviceIdentity> identity;  // of the device that wrote this; stores of earlier versions have none
  std::string lost;                        // not empty: nothing in this store counts any more, for this reason (N7, N8)
  std::string lost_before;                 // why what this incarnation replaced was lost; empty: it was not, or unknown
  std::string boot_id;                     // of the last start
  TermHistory runs;                        // of this incarnation: a term is one start of the agent
  std::uint64_t session = 0;               // the last session number used in presence
  std::map<std::string, MadeVolume> volumes;   // by name
  std::map<std::string, std::string> configs;  // DeviceObjects' records of ConfigMaps, by key
};

// Why a store counts as lost.
inline constexpr std::string_view kAnotherDevice = "AnotherDevice";
inline constexpr std::string_view kStoreRolledBack = "StoreRolledBack";
inline constexpr std::string_view kStoreDamaged = "StoreDamaged";

// Keys of Table::meta.
inline constexpr std::string_view kIncarnationKey = "incarnation";
inline constexpr std::string_view kGatewayKey = "gateway";
inline constexpr std::string_view kFloorKey = "floor";
inline constexpr std::string_view kIdentityKey = "identity";  // read only: it is in the record of the incarnation now
inline constexpr std::string_view kBootKey = "boot";
inline constexpr std::string_view kSessionKey = "session";
inline constexpr std::string_view kVolumeKeys = "volume/";  // with the name of a volume behind it

// The value of a meta or high record that is one string or one epoch.
std::string encode_text(std::string_view text);
std::string encode(const Epoch& epoch);
// The record of the gateway obeyed, its proof, and those before it.
std::string encode_gateway(const NodeState& state);
std::string encode(const Slot& slot);
std::string encode(const MadeVolume& volume);
// The record of the incarnation: state.incarnation, identity, lost and lost_before. An earlier program reads the
// incarnation alone.
std::string encode_incarnation(const AgentRecords& records);
// The record of the boot: boot_id and runs, likewise; and `lost` of a store that has no incarnation yet.
std::string encode_boot(const std::string& boot_id, const TermHistory& runs, std::string_view lost = {});
// The first commit of the store that replaces a damaged one, which has been read: however early the agent dies, the
// next start knows why nothing is in it.
Status note_damage(Store& store, const std::string& boot_id);

// An error names the table and the key: "slot u1: epoch: ...". Records of other tables are errors too.
Result<AgentRecords> decode_records(const std::vector<Record>& records);
// Decodes one record into `out`, replacing what it has under the key. After an error `out` must not be used.
Status decode_record(const Record& record, AgentRecords& out);

}  // namespace berth
