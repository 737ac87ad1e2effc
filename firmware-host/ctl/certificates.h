// The certificates of a broker of your own, made by the authorities in its `tls` directory (gateway/authority.h).
#pragma once

#include <string>

#include "firmware-host/ctl/outcome.h"

namespace berth {

// Creates the authorities of devices and of operators in <dir>, and the broker's certificate for `host`, unless they
// exist (or, of the latter, a sixth of its life is left), and copies the authority that signed it to <output>/ca.crt.
Outcome<void> settle_authorities(const std::string& dir, const std::string& host, const std::string& output);

// The broker's certificate names `host` afterwards; of one that does not exist yet, settle_authorities() sees to that.
// True: there is a new certificate. The error names --address.
Outcome<bool> settle_address(const std::string& dir, const std::string& host);

// As settle_authorities(), and a certificate for `name` in <output>: <name>.crt, <name>.key.
Outcome<void> issue_certificate(const std::string& dir, const std::string& name, bool is_operator,
                                const std::string& host, const std::string& output);

// Whether one that is not revoked was issued to the name in this role.
bool has_certificate(const std::string& dir, const std::string& name, bool is_operator);

// Writes the lists of revoked certificates again that are not valid yet, since they were made while the clock was
// ahead: with them a broker refuses every certificate. True: there were some, and mosquitto needs a restart.
Outcome<bool> mend_lists(const std::string& dir);

// Of any role. False: none was issued to the name.
Outcome<bool> revoke_certificate(const std::string& dir, const std::string& name);

}  // namespace berth
