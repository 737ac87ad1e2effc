#include "transports/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "transports/mqtt.h"

namespace berth {

namespace {

Status tls_error(const std::string& what, const std::string& file) {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return Status::error(what + " " + file + ": " + (reason != nullptr ? reason : "unknown reason"));
}

bool read_time(const ASN1_TIME* time, Millis& out) {
  const std::unique_ptr<ASN1_TIME, void (*)(ASN1_TIME*)> epoch(ASN1_TIME_set(nullptr, 0), ASN1_TIME_free);
  int days = 0;
  int seconds = 0;
  if (epoch == nullptr || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) return false;
  out = (Millis{days} * 24 * 3600 + seconds) * 1000;
  return true;
}

// A clock that is known to be behind says nothing of when a certificate began.
int accept_early(int is_valid, X509_STORE_CTX* store) {
  if (is_valid == 1 || X509_STORE_CTX_get_error(store) != X509_V_ERR_CERT_NOT_YET_VALID) return is_valid;
  X509_STORE_CTX_set_error(store, X509_V_OK);
  return 1;
}

// If the clock is below the floor, expiry is judged by the floor.
void judge_by(Millis floor, SSL_CTX* context) {
  const Millis seconds = std::min<Millis>(floor / 1000, std::numeric_limits<std::time_t>::max());
  if (std::time(nullptr) >= seconds) return;
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context), static_cast<std::time_t>(seconds));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, accept_early);
}

}  // namespace

void TlsContext::Close::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<TlsContext> TlsContext::load(const MqttTls& tls, const std::string& host) {
  ERR_clear_error();
  TlsContext made;
  made.context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = made.context_.get();
  if (context == nullptr) return tls_error("cannot initialise TLS", "");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_load_verify_locations(context, tls.ca.c_str(), nullptr) != 1) {
    return tls_error("tls.ca: cannot read", tls.ca);
  }
  if (tls.cert.empty() != tls.key.empty()) return Status::error("tls.cert and tls.key: set both or neither");
  if (!tls.cert.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, tls.cert.c_str()) != 1) {
      return tls_error("tls.cert: cannot read", tls.cert);
    }
    if (SSL_CTX_use_PrivateKey_file(context, tls.key.c_str(), SSL_FILETYPE_PEM) != 1) {
      return tls_error("tls.key: cannot read, or does not match tls.cert:", tls.key);
    }
  }
  if (tls.time_floor) judge_by(tls.time_floor(), context);
  X509_VERIFY_PARAM* verify = SSL_CTX_get0_param(context);
  // set1_ip_asc accepts only an address; anything else is a name.
  if (X509_VERIFY_PARAM_set1_ip_asc(verify, host.c_str()) != 1 &&
      X509_VERIFY_PARAM_set1_host(verify, host.c_str(), host.size()) != 1) {
    return tls_error("cannot verify the host name", host);
  }
  ERR_clear_error();
  return made;
}

Result<CertificateLife> certificate_life(const std::string& file) {
  ERR_clear_error();
  const std::unique_ptr<BIO, int (*)(BIO*)> bytes(BIO_new_file(file.c_str(), "r"), BIO_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      bytes == nullptr ? nullptr : PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr), X509_free);
  if (certificate == nullptr) return tls_error("cannot read the certificate", file);
  CertificateLife life;
  if (!read_time(X509_get0_notBefore(certificate.get()), life.begin) ||
      !read_time(X509_get0_notAfter(certificate.get()), life.end)) {
    return tls_error("no valid date in the certificate", file);
  }
  return life;
}

int tls_bytes_pending(void* connection) {
  return connection == nullptr ? 0 : SSL_pending(static_cast<const SSL*>(connection));
}

}  // namespace berth
