// Where the mosquitto of this machine is configured that serves the fleet: the package's own instance, one of the
// machine that the package joined, or one that somebody else configures.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "firmware-host/ctl/options.h"

namespace berth {

struct BrokerSite {
  std::string unit;  // of systemd
  int plain_port;    // without TLS, on loopback: of devices; operators have the next one
  int tls_port;      // of devices with certificates; berth.tls.conf has the three next ones too
};

// The directory for berth.tls.conf if none is given: the own instance's, unless the machine's mosquitto was joined or
// there is no own one.
std::string default_mosquitto_dir();
// Read from the configuration files in and beside options.mosquitto_dir.
BrokerSite broker_site(const EnrollOptions& options);

// The first port that another program listens at, of `count` ports from `first` on; 0: none. mosquitto does not start
// with it.
int port_in_use(int first, int count);

// The port of the first listener in a configuration of mosquitto; 0: none.
int first_port_in(const std::string& text);

// The group that reads the accounts in a directory: its own if it hands that down (setgid), as the package's instance
// has it; otherwise mosquitto's. None: there is no such group.
std::optional<gid_t> broker_group(const std::string& broker_dir);

}  // namespace berth
