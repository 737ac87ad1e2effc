// A small private certificate authority using the openssl program, for fleets whose devices authenticate with
// certificates instead of passwords. The broker uses the certificate's common name as the user name.
#pragma once

#include <string>

#include "firmware-host/ctl/outcome.h"

namespace berth {

// Creates <dir>/ca.crt and ca.key, and the broker's server.crt and server.key for `host`, unless they exist; then a
// certificate for `name` in <output>: ca.crt, <name>.crt, <name>.key. Keys are elliptic P-256; the authority is valid
// for 20 years, the other certificates for 5.
Outcome<void> issue_certificate(const std::string& dir, const std::string& name, const std::string& host,
                                const std::string& output);

// Configuration of a mosquitto listener that uses the certificates.
std::string tls_listener(const std::string& dir, int port);

}  // namespace berth
