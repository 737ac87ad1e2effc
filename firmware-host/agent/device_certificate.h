// DeviceCertificate: the key and certificate that berth-agent connects with: those of its configuration, or what a
// renewal has put in their place (N10). The files of the configuration are the operator's and never written; what is
// made here lies in the state directory, mode 0600:
//
//   certificate.next.pem      the next key and its signing request, from before it is sent until its certificate is
//   here certificate.pem           key and certificate of the last renewal: one file, so that they change together
//   certificate.previous.pem  those of the renewal before
//
// Whenever the power is cut there is a pair that the broker accepts: a pair is replaced only as a whole, and by one
// that was examined.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/certificates.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/status.h"

namespace berth {

class DeviceCertificate final : public CertificateKeeper {
 public:
  static constexpr int kRefusalsMax = 3;  // of the broker, one after the other; then another pair is tried

  struct Files {
    std::string cert, key, ca;  // of the configuration
    std::string state;          // directory
    std::string node;
  };
  // A pair to connect with: files.
  struct Pair {
    std::string cert, key;
    CertificateLife life;
  };

  // `now`: wall time that has certainly come, or the clock's where that is later. The log outlives it.
  DeviceCertificate(Files files, std::function<Millis()> now, Log& log);

  // For the next attempt to connect. Without any readable one, the configuration's.
  Pair pair() const;
  // The broker, which proved to be the right one, did not accept a session. True: the next attempt uses another pair.
  bool note_refused();
  // A session was accepted. Pairs of a renewal that were refused before are removed.
  void note_accepted();
  // Whether a certificate was taken since the last call.
  bool take_renewed();

  std::optional<CertificateLife> life() const override;
  Result<std::string> request() override;
  Status take(const std::string& certificate) override;

 private:
  struct Next {
    std::string key, request;
  };
  std::string file(const char* name) const { return files_.state + "/" + name; }
  void look();
  Next read_next() const;
  Status keep(const std::string& key, const std::string& certificate);

  const Files files_;
  const std::function<Millis()> now_;
  Log& log_;
  std::vector<Pair> pairs_;  // the newest first
  std::size_t used_ = 0;
  int refusals_ = 0;
  bool is_renewed_ = false;
};

}  // namespace berth
