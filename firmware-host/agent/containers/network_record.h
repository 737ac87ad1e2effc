// NetworkRecord: all that is needed to remove a pod's network, in a file of its directory: whoever removes it may be
// another program than the one that made it, under another configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/cni/cni_config.h"
#include "firmware-host/agent/cni/cni_run.h"

namespace berth {

struct NetworkRecord {
  static constexpr const char* kFile = "network.json";

  CniNetwork network;
  std::vector<std::string> plugins;  // directories with them
  std::string id;                    // of the pod, as plugins know it
  std::string arguments;             // CNI_ARGS
  std::vector<PortMapping> ports;
  Json result;  // null: not known

  // Durable: otherwise addresses would stay taken after a power cut.
  Status write(const std::string& directory) const;
  // None: there is none, or it is damaged.
  static std::optional<NetworkRecord> read(const std::string& directory);
  static void discard(const std::string& directory);
  // `network_namespace`: its path; empty: it is gone.
  CniRun::Pod pod(const std::string& network_namespace) const { return {id, network_namespace, arguments, ports}; }
};

// Removes what is recorded in the directory of a pod that has no keeper any more, and waits for it, 20 s at most. For a
// process that has no other children.
void remove_network_of(const std::string& directory);

}  // namespace berth
