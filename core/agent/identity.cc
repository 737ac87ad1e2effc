#include "core/agent/identity.h"

#include <string_view>

#include "core/handshake/siphash.h"

namespace berth {

namespace {

std::string change(std::string_view what, const std::string& stored, const std::string& now) {
  return std::string(what) + ": was " + stored + ", is " + (now.empty() ? "unknown" : now);
}

}  // namespace

std::string difference(const DeviceIdentity& stored, const DeviceIdentity& now) {
  if (stored.fleet != now.fleet) return change("fleet", stored.fleet, now.fleet);
  if (stored.node != now.node) return change("node", stored.node, now.node);
  if (!stored.hardware_serial.empty() && stored.hardware_serial != now.hardware_serial) {
    return change("hardware serial number", stored.hardware_serial, now.hardware_serial);
  }
  const bool same_board = !stored.hardware_serial.empty();
  if (!same_board && !stored.machine_id.empty() && stored.machine_id != now.machine_id) {
    return change("machine id", stored.machine_id, now.machine_id);
  }
  return {};
}

std::string machine_name(const std::string& machine_id, const std::string& hardware_serial) {
  if (machine_id.empty() && hardware_serial.empty()) return {};
  // Not secret: it only makes the name another one than other programs derive from the same id.
  constexpr SipKey kKey{'b', 'e', 'r', 't', 'h', ' ', 'm', 'a', 'c', 'h', 'i', 'n', 'e'};
  constexpr std::string_view kDigits = "0123456789abcdef";
  const SipTag tag = siphash(kKey, hardware_serial.empty() ? "id " + machine_id : "serial " + hardware_serial);
  std::string name;
  for (std::size_t at = 0; at < 8; ++at) {
    name += kDigits[tag[at] >> 4];
    name += kDigits[tag[at] & 0xf];
  }
  return name;
}

}  // namespace berth
