// CertificateKeeper and CertificateIssuer interfaces: the two ends of the renewal of a device's certificate
// (core/handshake/rules.md N10). Certificates and signing requests are opaque PEM texts here: core knows no
// cryptography.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/status.h"

namespace berth {

struct CertificateLife {
  Millis begin = 0;  // wall time
  Millis end = 0;
};

// At the device: the key and certificate that it connects with.
class CertificateKeeper {
 public:
  virtual ~CertificateKeeper() = default;
  // Of the certificate in use; none: it cannot be read.
  virtual std::optional<CertificateLife> life() const = 0;
  // A signing request for the next key, which is durable and never leaves the device. The same one until take() has
  // accepted its certificate. An error is for people.
  virtual Result<std::string> request() = 0;
  // A certificate for that key. On success it is durable, and what the next connection is made with; an error says what
  // is wrong with it, and nothing changes.
  virtual Status take(const std::string& certificate) = 0;
};

// What came of a signing request.
struct IssuedCertificate {
  std::string certificate;  // empty: none was issued
  std::string refusal;      // why, for people
  Millis retry_ms = 0;      // how soon to ask again, then
};

// At the gateway: the authority.
class CertificateIssuer {
 public:
  using Done = std::function<void(const IssuedCertificate&)>;
  virtual ~CertificateIssuer() = default;
  // For a node whose name was authenticated: of `request` only the public key counts. Calls `done` once, before or
  // after this returns; until then it is not called again.
  virtual void issue(const std::string& node, const std::string& request, Done done) = 0;
};

// Of both texts.
inline constexpr std::size_t kCertificateBytesMax = 8 * 1024;

// Whether the text has the form of one PEM block with this label, such as "CERTIFICATE REQUEST", and nothing else.
bool is_pem(std::string_view text, std::string_view label);

}  // namespace berth
