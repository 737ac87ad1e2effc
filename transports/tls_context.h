// TlsContext: trusted authorities and client certificate of one TLS connection. With client_certificate.h and
// authenticated_cipher.h the only code that calls OpenSSL. We do not use libmosquitto's own TLS settings: it is given
// an address, so it could not check the broker's name against the certificate.
#pragma once

#include <memory>
#include <string>

#include "core/certificates.h"
#include "core/clock.h"
#include "core/status.h"

struct ssl_ctx_st;
struct x509_st;

namespace berth {

struct MqttTls;

class TlsContext {
 public:
  // No TLS: get() is null.
  TlsContext() = default;
  // Reads the files; an error names the file at fault. The broker's certificate must be issued for `host`, a name or an
  // address.
  static Result<TlsContext> load(const MqttTls& tls, const std::string& host);

  ssl_ctx_st* get() const { return context_.get(); }
  // The broker has proven who it is, or has said what is wrong with our certificate: what fails from then on may be due
  // to that.
  bool is_answered() const;

 private:
  struct Judgement;
  struct Close {
    void operator()(ssl_ctx_st* context) const;
  };
  std::shared_ptr<Judgement> judgement_;  // the context refers to it
  std::unique_ptr<ssl_ctx_st, Close> context_;
};

// When it is valid.
Result<CertificateLife> life_of(const x509_st* certificate);
// How long the certificate in a PEM file is valid; the error names the file.
Result<CertificateLife> certificate_life(const std::string& file);

// Bytes decrypted and not yet read on a connection (an SSL*); 0 for null.
int tls_bytes_pending(void* connection);

}  // namespace berth
