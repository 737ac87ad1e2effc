#include "core/agent/identity.h"

#include <string_view>

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

}  // namespace berth
