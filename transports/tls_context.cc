#include "transports/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "transports/mqtt.h"

namespace berth {

struct TlsContext::Judgement {
  static Judgement& of(const SSL* connection) {
    return *static_cast<Judgement*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection)));
  }
  static int judge_by_floor(int is_valid, X509_STORE_CTX* store);
  static void note(const SSL* connection, int where, int what);

  Millis floor = 0;  // wall time
  bool is_answered = false;
};

namespace {

Status tls_error(const std::string& what, const std::string& file) {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return Status::error(what + " " + file + ": " + (reason != nullptr ? reason : "unknown reason"));
}

// Nothing that takes a time_t is called: on armhf ours has 64 bits and that of Debian's OpenSSL 32.
bool read_time(const ASN1_TIME* time, Millis& out) {
  const std::unique_ptr<ASN1_TIME, void (*)(ASN1_TIME*)> epoch(ASN1_TIME_new(), ASN1_TIME_free);
  int days = 0;
  int seconds = 0;
  if (epoch == nullptr || ASN1_TIME_set_string(epoch.get(), "19700101000000Z") != 1 ||
      ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) {
    return false;
  }
  out = (Millis{days} * 24 * 3600 + seconds) * 1000;
  return true;
}

}  // namespace

// For a clock that is known to be behind, as OpenSSL asks for each certificate: it says nothing of when one began, and
// whether one has expired is judged by the floor.
int TlsContext::Judgement::judge_by_floor(int is_valid, X509_STORE_CTX* store) {
  const auto* connection =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if (is_valid != 1) {
    if (X509_STORE_CTX_get_error(store) != X509_V_ERR_CERT_NOT_YET_VALID) return is_valid;
    X509_STORE_CTX_set_error(store, X509_V_OK);
  }
  Millis end = 0;
  if (read_time(X509_get0_notAfter(X509_STORE_CTX_get_current_cert(store)), end) && end >= of(connection).floor)
    return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_HAS_EXPIRED);
  return 0;
}

// A server refuses a certificate after the client's part of the handshake, or, before TLS 1.3, in it, with an alert.
void TlsContext::Judgement::note(const SSL* connection, int where, int what) {
  constexpr int kFatal = 2;
  const bool is_refused = (where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && what >> 8 == kFatal;
  if ((where & SSL_CB_HANDSHAKE_DONE) != 0 || is_refused) of(connection).is_answered = true;
}

bool TlsContext::is_answered() const { return judgement_ != nullptr && judgement_->is_answered; }

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
  made.judgement_ = std::make_shared<Judgement>();
  made.judgement_->floor = tls.time_floor ? tls.time_floor() : 0;
  SSL_CTX_set_app_data(context, made.judgement_.get());
  SSL_CTX_set_info_callback(context, Judgement::note);
  if (Millis{std::time(nullptr)} * 1000 < made.judgement_->floor) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, Judgement::judge_by_floor);
  }
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
  const Result<CertificateLife> life = life_of(certificate.get());
  return life ? life : Status::error(file + ": " + life.error().message());
}

Result<CertificateLife> life_of(const x509_st* certificate) {
  CertificateLife life;
  if (!read_time(X509_get0_notBefore(certificate), life.begin) ||
      !read_time(X509_get0_notAfter(certificate), life.end)) {
    ERR_clear_error();
    return Status::error("no valid date in the certificate");
  }
  return life;
}

int tls_bytes_pending(void* connection) {
  return connection == nullptr ? 0 : SSL_pending(static_cast<const SSL*>(connection));
}

}  // namespace berth
