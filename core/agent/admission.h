// Admission (core/handshake/rules.md N2, S8): may a pod have what it asks of this device? Plain functions of what the
// device offers and of what its slots hold. The rules are those of NodeResourcesFit (core/cache/node_info.h) and
// NodePorts (core/api/host_ports.h).
#pragma once

#include <string>
#include <vector>

#include "core/api/objects.h"
#include "core/cache/node_info.h"
#include "core/handshake/messages.h"
#include "core/status.h"

namespace berth {

struct LocalVolume {  // a directory that the device offers as a local PersistentVolume
  std::string name;
  std::string path;
  std::string capacity;       // quantity text
  std::string storage_class;  // "local"
};

// What one pod asks of the node.
struct Demand {
  Resources requests;
  std::vector<HostPort> host_ports;
  std::vector<BoundVolume> volumes;
};

// The device's side of the question.
struct Offer {
  Resources allocatable;
  std::vector<LocalVolume> volumes;
};

// Success, or unschedulable with all reasons: "insufficient memory: 64Mi asked, 40Mi free". `held`: the demands of all
// charged slots of other pods. A claim may be shared by pods of one node, as ReadWriteOnce means; two claims never
// share a volume.
Status admit(const Demand& demand, const Offer& offer, const std::vector<const Demand*>& held);

}  // namespace berth
