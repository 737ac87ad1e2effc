// DeviceIdentity: whose an agent's store is (core/handshake/rules.md N7).
#pragma once

#include <string>

namespace berth {

struct DeviceIdentity {
  std::string fleet;
  std::string node;
  std::string machine_id;       // of the installation; empty: it has none
  std::string hardware_serial;  // of the board; empty: unknown
  bool operator==(const DeviceIdentity&) const = default;
};

// What makes `now` another device than the one that wrote the store, for people: "node: was n1, is n2". Empty: it is
// the same. Two serial numbers decide about the machine; without them, the machine ids do, if the store has one.
std::string difference(const DeviceIdentity& stored, const DeviceIdentity& now);

// Names the machine without telling its id, which machine-id(5) wants kept from the network: 16 hexadecimal digits, of
// the serial number where there is one, as that decides. Empty: the machine has neither.
std::string machine_name(const std::string& machine_id, const std::string& hardware_serial);

}  // namespace berth
