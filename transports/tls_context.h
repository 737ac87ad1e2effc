// TlsContext: whom to trust, and who we are, for one TLS connection. The only place that speaks to OpenSSL. Ours, not
// libmosquitto's: it is given an address, so it could not compare the broker's name with its certificate.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"

struct ssl_ctx_st;

namespace berth {

struct MqttTls;

class TlsContext {
 public:
  // No TLS: get() is null.
  TlsContext() = default;
  // Reads the files; an error names the one to look at. The certificate must carry `host`, a name or an address.
  static Result<TlsContext> load(const MqttTls& tls, const std::string& host);

  ssl_ctx_st* get() const { return context_.get(); }

 private:
  struct Close {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Close> context_;
};

// Bytes decrypted and not yet read on a connection (an SSL*); 0 for null.
int tls_bytes_pending(void* connection);

}  // namespace berth
