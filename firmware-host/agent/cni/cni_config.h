// CniNetwork: the network that pods of this device are in, as the usual directory of CNI configurations names it
// (Container Network Interface specification 1.0.0, section 1; containernetworking/cni, libcni/conf.go).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// A port of the machine that leads to one of the pod.
struct PortMapping {
  std::int64_t host_port = 0;
  std::int64_t container_port = 0;
  std::string protocol = "tcp";  // or udp, sctp
  std::string host_address;      // empty: all
};

struct CniNetwork {
  std::string name;
  std::string version;        // cniVersion
  std::vector<Json> plugins;  // in this order; not empty, each has a type
  // True when one of them maps ports of the machine (capability portMappings).
  bool maps_ports() const;
};

// The first of the files NAME.conflist, NAME.conf and NAME.json, by name. Errors: there is none, or it is no
// configuration; each names the file and the fix.
Result<CniNetwork> find_network(const std::string& directory);

// What a plugin of the network reads. `previous`: the result of the one before it, or of ADD; null: none.
std::string input_of(const CniNetwork& network, std::size_t plugin, const std::vector<PortMapping>& ports,
                     const Json& previous);

}  // namespace berth
