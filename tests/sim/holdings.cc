#include "tests/sim/holdings.h"

#include <algorithm>

#include "tests/sim/hostile.h"
#include "tests/sim/sim_device.h"

namespace berth::sim {

namespace {

// Checks that the pairs added to it map each claim to one volume and each volume to one claim.
class Pairs {
 public:
  Breach add(const std::string& claim, const std::string& volume, const std::string& who) {
    const auto [of_volume, first_claim] = claim_of_.try_emplace(volume, claim, who);
    if (!first_claim && of_volume->second.first != claim) {
      return "volume " + volume + " is held for claim " + of_volume->second.first + " by " + of_volume->second.second +
             " and for claim " + claim + " by " + who;
    }
    const auto [of_claim, first_volume] = volume_of_.try_emplace(claim, volume, who);
    if (!first_volume && of_claim->second.first != volume) {
      return "claim " + claim + " has volume " + of_claim->second.first + " by " + of_claim->second.second +
             " and volume " + volume + " by " + who;
    }
    return {};
  }

 private:
  std::map<std::string, std::pair<std::string, std::string>> claim_of_, volume_of_;
};

// A claim that is Bound is also the one its volume refers to.
Breach find_half_bound(const GatewayView& gateway, Pairs& pairs) {
  for (const auto& [key, claim] : gateway.claims) {
    if (claim.phase != "Bound") continue;
    if (Breach breach = pairs.add(key, claim.bound_to, "the claim")) return breach;
    const auto volume = gateway.volumes.find(claim.bound_to);
    if (volume != gateway.volumes.end() && volume->second.bound_to != key) {
      return "claim " + key + " is bound to volume " + claim.bound_to + ", which is " +
             (volume->second.bound_to.empty() ? "unbound" : "bound to " + volume->second.bound_to);
    }
  }
  return {};
}

// The claim is bound to the volume of another pod, and one of the two is on a node that was forgotten and then returned
// to a store that does not know that (limits.md).
bool has_two_pods(const Witness& witness, const DeviceView& device, const Row& row, const BoundVolume& bound_volume) {
  const auto claim = witness.gateway().claims.find(bound_volume.claim);
  if (claim == witness.gateway().claims.end() || claim->second.bound_to == bound_volume.volume) return false;
  if (witness.was_forgotten(device.name, {row.uid, row.epoch})) return true;
  const auto is_other = [&](const BoundVolume& held) {
    return held.claim == bound_volume.claim && held.volume == claim->second.bound_to;
  };
  return std::any_of(witness.devices().begin(), witness.devices().end(), [&](const auto& other) {
    const auto& slots = other->durable.state.slots;
    return std::any_of(slots.begin(), slots.end(), [&](const auto& each) {
      const auto& volumes = each.second.volumes;
      return witness.was_forgotten(other->name, {each.first, each.second.epoch}) &&
             std::any_of(volumes.begin(), volumes.end(), is_other);
    });
  });
}

// P2: the transaction that moves a row to phase bind also binds its volumes.
Breach find_unbound(const GatewayView& gateway, const Row& row, const BoundVolume& bound_volume) {
  if (row.phase != Phase::bind && row.phase != Phase::bound) return {};
  const auto claim = gateway.claims.find(bound_volume.claim);
  if (claim == gateway.claims.end() || !gateway.volumes.contains(bound_volume.volume)) return {};
  if (claim->second.phase == "Bound" && claim->second.bound_to == bound_volume.volume) return {};
  return "row " + row.uid + " is in phase " + std::string(to_string(row.phase)) + " with volume " +
         bound_volume.volume + " for claim " + bound_volume.claim + ", which is " +
         (claim->second.phase == "Bound" ? "bound to " + claim->second.bound_to : "not bound");
}

Breach find_in_gateway(const Witness& witness) {
  const GatewayView& gateway = witness.gateway();
  Pairs pairs;
  if (Breach breach = find_half_bound(gateway, pairs)) return breach;
  for (const std::string& uid : gateway.rows_with_volumes) {
    const Row& row = gateway.rows.at(uid);
    const DeviceView* device = witness.device(row.node, row.incarnation);
    // What an older copy lists is of another time, until it is told and its rows have ended.
    if (device == nullptr || device->older_copy) continue;
    for (const BoundVolume& bound_volume : row.volumes) {
      if (has_two_pods(witness, *device, row, bound_volume)) continue;
      if (Breach breach = find_unbound(gateway, row, bound_volume)) return breach;
      if (row.phase == Phase::release) continue;
      if (Breach breach = pairs.add(bound_volume.claim, bound_volume.volume, "row " + uid)) return breach;
    }
  }
  return {};
}

Breach find_in_slots(const Witness& witness) {
  Pairs pairs;
  for (const auto& device : witness.devices()) {
    if (device->hostile) continue;
    for (const auto& [uid, slot] : device->durable.state.slots) {
      const PlacementId named{uid, slot.epoch};
      if (slot.state != SlotState::running || witness.was_forgotten(device->name, named)) continue;
      if (witness.was_not_awaited(device->name, named)) continue;
      for (const BoundVolume& bound_volume : slot.volumes) {
        if (Breach breach = pairs.add(bound_volume.claim, bound_volume.volume, "slot " + uid + " on " + device->name))
          return breach;
      }
    }
  }
  return {};
}

}  // namespace

Breach find_shared_port(const Witness& witness) {
  for (const auto& device : witness.devices()) {
    if (!witness.scope().slots.contains(device->name)) continue;
    std::map<std::int32_t, std::string> holders;  // the simulator's pods use one protocol, on all addresses
    for (const auto& [uid, slot] : device->durable.state.slots) {
      if (!slot.is_charged()) continue;
      for (const HostPort& port : device->demands.at(uid).second.host_ports) {
        const auto [holder, first] = holders.emplace(port.port, uid);
        if (first) continue;
        return "port " + std::to_string(port.port) + " of node " + device->name + " is held by " + holder->second +
               " and " + uid;
      }
    }
  }
  return {};
}

Breach find_device_overrun(const Witness& witness) {
  for (const auto& device : witness.devices()) {
    if (!witness.scope().slots.contains(device->name)) continue;
    std::map<std::string, std::int64_t> held;
    for (const auto& [uid, slot] : device->durable.state.slots) {
      if (!slot.is_charged()) continue;
      for (const auto& [name, amount] : device->demands.at(uid).second.requests.scalar) held[name] += amount;
    }
    for (const auto& [name, amount] : held) {
      const auto has = device->allocatable.scalar.find(name);
      if (has != device->allocatable.scalar.end() && amount <= has->second) continue;
      return "slots of node " + device->name + " use " + std::to_string(amount) + " " + name +
             ", more than its capacity";
    }
  }
  return {};
}

Breach find_shared_volume(const Witness& witness) {
  if (!witness.scope().volumes) return {};
  if (Breach breach = find_in_slots(witness)) return breach;
  return witness.gateway().is_settled() ? find_in_gateway(witness) : Breach();
}

Breach find_flood(const Witness& witness) {
  const Gateway* gateway = witness.gateway().alive;
  for (const auto& device : witness.devices()) {
    if (!device->hostile || !witness.scope().rows.contains(device->name)) continue;
    const std::string made_up = device->name + "/" + std::string(kMadeUp);
    const auto& releases = witness.gateway().releases;
    std::size_t count = 0;
    for (auto entry = releases.lower_bound(made_up); entry != releases.end(); ++entry, ++count) {
      if (!entry->first.starts_with(made_up)) break;
    }
    if (count > kMaxSlots) {
      return std::to_string(count) + " release-list entries of node " + device->name + " are for slots nobody gave it";
    }
    const NodeInfo* info = gateway == nullptr ? nullptr : gateway->scheduler().cache().find(device->name);
    if (info != nullptr && info->allocatable.milli_cpu > kMaxCpu * 1000) {
      return "node " + device->name + " offers " + std::to_string(info->allocatable.milli_cpu) + "m cpu";
    }
  }
  return {};
}

// In the simulator a volume is named after its node, "<node>-<name>", or lies in its pool.
Breach find_away_from_volume(const Witness& witness) {
  for (const Row& row : witness.news().begun) {
    for (const BoundVolume& bound_volume : row.volumes) {
      if (bound_volume.volume.starts_with(row.node.get()) && bound_volume.volume[row.node.get().size()] == '-')
        continue;
      if (bound_volume.path.starts_with(pool_root(row.node) + "/")) continue;
      return "pod " + row.pod + " is placed on node " + row.node + ", but its claim " + bound_volume.claim +
             " has volume " + bound_volume.volume;
    }
  }
  return {};
}

Breach find_away_from_named_node(const Witness& witness) {
  for (const Row& row : witness.news().begun) {
    const std::string named = witness.named(row.pod);
    if (named.empty() || row.node == named) continue;
    return "pod " + row.pod + " is placed on node " + row.node + ", but its spec.nodeName is " + named;
  }
  return {};
}

}  // namespace berth::sim
