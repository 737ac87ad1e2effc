// HttpServer: serves GET and HEAD on one address, in the program's own loop; one request per connection. Slow,
// oversized, surplus or malformed requests are rejected and never block the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/log.h"
#include "core/status.h"
#include "core/timers.h"
#include "firmware-host/http_request.h"

namespace asio {
class io_context;
}

namespace berth {

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};
// The response as bytes; `head`: without the body.
std::string to_bytes(const HttpResponse& response, bool head);

class HttpServer {
 public:
  struct Options {
    std::string listen = "127.0.0.1";  // an address of this machine
    std::uint16_t port = 0;            // 0: any free port
    std::size_t request_bytes_max = 8192;
    std::size_t connections_max = 16;   // a new connection replaces the oldest
    Millis connection_ms_max = 10'000;  // from accept to the last byte of the response
  };
  using Answer = std::function<HttpResponse(const HttpRequest&)>;

  // All must outlive the server.
  HttpServer(asio::io_context& context, const Clock& clock, Timers& timers, Log& log, Options options, Answer answer);
  ~HttpServer();  // closes open connections

  // Binds and listens; Code::unschedulable if the port is in use.
  Status start();
  std::uint16_t port() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth
