// CertificateWatch: reports once of each certificate with which a device connects that it will expire soon.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/clock.h"
#include "core/objects/nodes.h"

namespace berth {

inline constexpr Millis kCertificateWarning = Millis{30} * 24 * 3600 * 1000;

// When the certificate that the device reports expires, wall time; 0: it reports none.
Millis certificate_end(const DeviceNode& device);
// For people; empty: there is none, or it is valid for longer than kCertificateWarning. `problem`: why it was not
// renewed; empty: unknown.
std::string why_certificate_expires(const std::string& node, Millis end, Millis wall, const std::string& problem = {});
// What the device says of why it has not renewed it; empty: nothing.
std::string certificate_problem(const DeviceNode& device);

class CertificateWatch {
 public:
  // What is to be reported of the node now: its certificate expires soon, and that was not reported yet. Empty:
  // nothing.
  std::string note(const std::string& node, const DeviceNode& device, Millis wall, const std::string& problem);
  void forget(const std::string& node) { reported_.erase(node); }

 private:
  std::map<std::string, Millis> reported_;  // by node: the end of the certificate that was reported
};

}  // namespace berth
