// Signing by another process: the authority of a broker of your own belongs to root, and the gateway does not. The
// service manager listens at a socket that only the gateway may use, and starts `berthd sign` for each connection,
// which signs one request and ends (N10). On the wire: one JSON object each way, then end of file.
//   asked:     {"node": "edge-a", "request": "<PEM>"}
//   answered:  {"certificate": "<PEM>"}, or {"refusal": "<why>", "retryMs": "86400000"}
#pragma once

#include <memory>
#include <string>

#include "core/certificates.h"
#include "core/clock.h"
#include "core/timers.h"

namespace asio {
class io_context;
}

namespace berth {

// The gateway's end.
class SigningClient final : public CertificateIssuer {
 public:
  // `path`: of the socket, which may appear later. The others outlive this. When this is destroyed, nothing is called
  // any more.
  SigningClient(asio::io_context& loop, const Clock& clock, Timers& timers, std::string path);
  ~SigningClient() override;
  SigningClient(const SigningClient&) = delete;
  SigningClient& operator=(const SigningClient&) = delete;

  void issue(const std::string& node, const std::string& request, Done done) override;

 private:
  class Call;
  asio::io_context& loop_;
  const Clock& clock_;
  Timers& timers_;
  const std::string path_;
  std::shared_ptr<Call> call_;
};

// `berthd sign`: reads what is asked from `in`, has the authority in `dir` sign it, writes the answer to `out`. Blocks
// until then, for a minute at most. Returns the exit code; an invalid question is answered, too.
int sign_one(const std::string& dir, int in, int out);

}  // namespace berth
