// What a device needs to have the certificate renewed that it connects with: a key, a signing request for it, and the
// examination of what comes back. Texts are PEM. Calls OpenSSL.
#pragma once

#include <string>

#include "core/certificates.h"
#include "core/clock.h"
#include "core/status.h"

namespace berth {

// An elliptic P-256 key.
Result<std::string> make_private_key();
// For a certificate of this common name.
Result<std::string> make_signing_request(const std::string& key, const std::string& name);

struct ExpectedCertificate {
  std::string key;   // PEM: the certificate is for this one
  std::string name;  // its only common name
  std::string ca;    // file of the authorities of which one has signed it, for clients
};
// The first certificate of the text is as expected, whenever it is valid. The error says what is not.
Result<CertificateLife> examine_certificate(const std::string& certificate, const ExpectedCertificate& expected);

}  // namespace berth
