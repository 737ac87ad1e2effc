// A small certificate authority of one's own, by the openssl program: for fleets whose devices show certificates
// instead of passwords. The broker takes the certificate's common name as the user name.
#pragma once

#include <string>

#include "firmware-host/ctl/outcome.h"

namespace berth {

// Makes <dir>/ca.crt and ca.key, and the broker's server.crt and server.key for `host`, unless they are there; then a
// certificate for `name` in <output>: ca.crt, <name>.crt, <name>.key. Elliptic P-256; the authority is valid for 20
// years, the rest for 5.
Outcome<void> give_certificate(const std::string& dir, const std::string& name, const std::string& host,
                               const std::string& output);

// What a mosquitto is told to serve it on port 8883.
std::string tls_listener(const std::string& dir, int port);

}  // namespace berth
