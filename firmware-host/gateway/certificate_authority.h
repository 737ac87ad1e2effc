// CertificateAuthority: signs the requests of devices with the authority of the embedded broker (N10), by a child
// process: the loop goes on meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/certificates.h"
#include "core/clock.h"
#include "core/timers.h"
#include "firmware-host/fd_watch.h"
#include "firmware-host/gateway/authority.h"

namespace asio {
class io_context;
}

namespace berth {

class CertificateAuthority final : public CertificateIssuer {
 public:
  // `dir`: of the authority, <state>/broker/tls; it may be made later. The others outlive this. When this is destroyed,
  // nothing is called any more.
  CertificateAuthority(asio::io_context& loop, const Clock& clock, Timers& timers, std::string dir);
  ~CertificateAuthority() override;
  CertificateAuthority(const CertificateAuthority&) = delete;
  CertificateAuthority& operator=(const CertificateAuthority&) = delete;

  void issue(const std::string& node, const std::string& request, Done done) override;

 private:
  struct Signing;
  // What is to be answered at once; none: the program runs.
  std::optional<IssuedCertificate> begin(const std::string& node, const std::string& request, const Done& done);
  Status start(Signing& signing);
  static IssuedCertificate outcome_of(const Signing& signing, int status);
  void on_output();
  void on_exit();

  asio::io_context& loop_;
  const Clock& clock_;
  Timers& timers_;
  const std::string dir_;
  std::unique_ptr<Signing> signing_;
};

}  // namespace berth
