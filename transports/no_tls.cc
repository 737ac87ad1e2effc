// TlsContext for programs that are linked without OpenSSL: load() always fails.
#include "transports/mqtt.h"
#include "transports/tls_context.h"

namespace berth {

void TlsContext::Close::operator()(ssl_ctx_st*) const {}

Result<TlsContext> TlsContext::load(const MqttTls& tls, const std::string&) {
  return Status::error("tls.ca: " + tls.ca + ": this program was built without TLS; use a build with TLS");
}

Result<CertificateLife> certificate_life(const std::string& file) {
  return Status::error(file + ": this program was built without TLS; use a build with TLS");
}

int tls_bytes_pending(void*) { return 0; }

}  // namespace berth
