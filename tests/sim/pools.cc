#include "tests/sim/pools.h"

#include <algorithm>

#include "core/agent/made_volume.h"
#include "core/placement/provisioned_volumes.h"

namespace berth::sim {

namespace {

using Records = std::map<std::string, MadeVolume>;

constexpr char kUnseen[] = ", which no object names, and the operator is not told";

// Told to the operator, who has not decided; or its device has not been heard since.
bool is_shown(const Gateway& gateway, const std::string& node, const std::string& volume) {
  const DeviceNode* device = gateway.nodes().all().contains(node) ? &gateway.nodes().all().at(node) : nullptr;
  if (device == nullptr || !device->reachable || device->node == nullptr || gateway.identity().adopting) return true;
  const std::vector<OrphanVolumes::Orphan> orphans = gateway.orphan_volumes().of(node);
  return std::any_of(orphans.begin(), orphans.end(),
                     [&volume](const OrphanVolumes::Orphan& each) { return each.volume.volume == volume; });
}

// A pod has it, or is about to be bound.
bool has_row(const Gateway& gateway, const std::string& node, const std::string& volume) {
  const auto& bindings = gateway.bindings();
  return std::any_of(bindings.begin(), bindings.end(), [&](const auto& each) {
    const Row& row = each.second.row;
    return row.node == node && std::any_of(row.volumes.begin(), row.volumes.end(),
                                           [&volume](const BoundVolume& bound) { return bound.volume == volume; });
  });
}

Breach find_needless(const Gateway& gateway, const std::string& node, const std::string& name, const Records& records,
                     bool is_limited, bool is_exact, bool may_lack_records) {
  const std::string what = "node " + node + " has a directory of volume " + name;
  const auto volume = gateway.objects().volume(name);
  const bool has_object = volume != nullptr && maker_of(*volume) == node;
  const auto record = records.find(name);
  if (record == records.end() && !may_lack_records) return what + ", and no record";
  if (record == records.end()) return has_object || is_shown(gateway, node, name) ? Breach() : Breach(what + kUnseen);
  if (record->second.state == MadeVolume::State::removing) return what + ", which it was to remove";
  if (record->second.bytes > 0 && !is_limited) return what + ", which is not limited";
  if (has_object) return {};
  if (has_row(gateway, node, name)) return {};
  const bool is_used = record->second.state == MadeVolume::State::kept;
  if (!is_used || is_exact) return what + ", and there is no such object";
  return is_shown(gateway, node, name) ? Breach() : Breach(what + kUnseen);
}

}  // namespace

Breach find_pool_difference(const Gateway& gateway, const SimDevice& device, bool is_exact) {
  const std::string& node = device.name();
  const Records records = device.made_volumes();
  for (const auto& [name, directory] : device.pool().all()) {
    if (Breach breach =
            find_needless(gateway, node, name, records, directory.is_limited, is_exact, device.may_lack_records())) {
      return breach;
    }
  }
  if (!is_exact) return {};
  for (const std::string& name : gateway.objects().keys(Kind::persistent_volume)) {
    const auto volume = gateway.objects().volume(name);
    if (maker_of(*volume) != node) continue;
    if (!device.pool().has(name)) return "volume " + name + " has no directory on node " + node;
    if (is_reclaimed(gateway.objects(), *volume)) return "volume " + name + " of a deleted claim is still there";
  }
  return {};
}

}  // namespace berth::sim
