#include "firmware-host/ctl/broker_certificates.h"

#include <tuple>

#include "core/placement/certificate_watch.h"
#include "firmware-host/real_clock.h"
#include "transports/tls_context.h"

namespace berth {

std::string validity(Millis end, Millis wall, const std::string& fix) {
  const std::string date = to_rfc3339(end).substr(0, 10);
  if (end <= wall) return "expired on " + date + ": " + fix;
  return "valid until " + date + (end - wall <= kCertificateWarning ? ", soon: " + fix : "");
}

std::vector<std::pair<std::string, std::string>> broker_certificates(const std::string& state_dir, Millis wall) {
  const bool is_embedded = !state_dir.empty();
  const std::string dir = is_embedded ? state_dir + "/broker/tls" : "/etc/berth/broker/tls";
  const std::string renew =
      is_embedded ? "berthd renews it, its log says why it did not" : "run `berthctl enroll NODE --renew` for any node";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& [label, name, fix] :
       {std::tuple{"broker certificate", "/server.crt", renew},
        {"authority", "/ca.crt", "move " + dir + " away and enroll all devices again with --replace"}}) {
    const Result<CertificateLife> life = certificate_life(dir + name);
    if (life && life->begin > wall) {
      rows.emplace_back(label, "valid only from " + to_rfc3339(life->begin).substr(0, 10) +
                                   ", made while the clock was ahead: " + fix);
    } else if (life) {
      rows.emplace_back(label, validity(life->end, wall, fix));
    }
  }
  return rows;
}

}  // namespace berth
