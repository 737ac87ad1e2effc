// Admission (core/handshake/rules.md N2, S8): whether a pod's demands fit this device. A pure function of what the
// device offers and what its slots hold, with the rules of NodeResourcesFit (core/cache/node_info.h) and NodePorts
// (core/api/host_ports.h).
#pragma once

#include <string>
#include <vector>

#include "core/api/host_port.h"
#include "core/api/volume_pool.h"
#include "core/cache/node_info.h"
#include "core/handshake/messages.h"
#include "core/status.h"

namespace berth {

struct LocalVolume {  // a directory that the device offers as a local PersistentVolume
  std::string name;
  std::string path;
  std::string capacity;       // quantity text
  std::string storage_class;  // "local"
  bool mount_point = false;   // it counts only while something is mounted at `path`
};

// What one pod requires of the node.
struct Demand {
  Resources requests;
  std::vector<HostPort> host_ports;
  std::vector<BoundVolume> volumes;
};

// What the device offers.
struct Offer {
  Resources allocatable;
  std::vector<LocalVolume> volumes;
  std::vector<VolumePool> pools;
};

// Success, or unschedulable with all reasons: "insufficient memory: 64Mi asked, 40Mi free". `held`: the demands of the
// other pods' slots that count (Slot::is_charged). Pods of one node may share a claim, as ReadWriteOnce allows; two
// claims never share a volume. What pools have room for is asked of MadeVolumes.
Status admit(const Demand& demand, const Offer& offer, const std::vector<const Demand*>& held);

}  // namespace berth
