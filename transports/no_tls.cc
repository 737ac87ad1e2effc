// For programs that are linked without OpenSSL: whatever needs it fails.
#include "transports/authenticated_cipher.h"
#include "transports/client_certificate.h"
#include "transports/mqtt.h"
#include "transports/tls_context.h"

namespace berth {

void TlsContext::Close::operator()(ssl_ctx_st*) const {}

Result<TlsContext> TlsContext::load(const MqttTls& tls, const std::string&) {
  return Status::error("tls.ca: " + tls.ca + ": this program was built without TLS; use a build with TLS");
}

bool TlsContext::is_answered() const { return false; }

namespace {

Status built_without_tls(const std::string& what) {
  return Status::error(what + ": this program was built without TLS; use a build with TLS");
}

}  // namespace

Result<std::string> make_private_key() { return built_without_tls("private key"); }
Result<std::string> make_signing_request(const std::string&, const std::string&) {
  return built_without_tls("signing request");
}
Result<CertificateLife> examine_certificate(const std::string&, const ExpectedCertificate&) {
  return built_without_tls("certificate");
}

Result<CertificateLife> certificate_life(const std::string& file) { return built_without_tls(file); }

int tls_bytes_pending(void*) { return 0; }

Result<std::string> encrypt(const CipherKey&, std::string_view, std::string_view) {
  return built_without_tls("Secrets");
}
std::optional<std::string> decrypt(const CipherKey&, std::string_view, std::string_view) { return std::nullopt; }

}  // namespace berth
