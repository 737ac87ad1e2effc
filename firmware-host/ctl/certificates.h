// A small private certificate authority using the openssl program, for fleets whose devices authenticate with
// certificates instead of passwords. The broker uses the certificate's common name as the user name.
#pragma once

#include <string>

#include "firmware-host/ctl/outcome.h"

namespace berth {

// Creates <dir>/ca.crt and ca.key, the same of operators, and the broker's server.crt and server.key for `host`, unless
// they exist; then a certificate for `name` in <output>: ca.crt, <name>.crt, <name>.key. Keys are elliptic P-256; the
// authorities are valid for 20 years, the other certificates for 5.
// Operators have an authority of their own, because the broker can tell roles only by it.
Outcome<void> issue_certificate(const std::string& dir, const std::string& name, bool is_operator,
                                const std::string& host, const std::string& output);

// Of any role. False: none was issued to the name.
Outcome<bool> revoke_certificate(const std::string& dir, const std::string& name);

}  // namespace berth
