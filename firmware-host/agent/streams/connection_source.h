// ConnectionSource: a TCP connection of the device as a stream, each direction of which ends by itself. What a server
// had sent before it refused to read on is passed on first, as recv(2) still gives it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/streams/stream_source.h"
#include "firmware-host/fd_poll.h"

namespace berth {

class ConnectionSource final : public StreamSource {
 public:
  // `socket`: a connection that has begun (begin_connect() of probe_tcp.h); it is closed here. The context must outlive
  // it.
  ConnectionSource(asio::io_context& context, int socket, std::function<void()> ready);

  Part read(std::size_t bytes_max) override;
  void write(std::string_view bytes, bool last) override;
  std::uint64_t taken() const override { return taken_; }

 private:
  void on_connected();
  void flush();

  const std::function<void()> ready_;
  FdPoll socket_;
  bool is_connected_ = false;
  std::string failure_;          // empty: none; told once nothing is left to read
  bool output_is_over_ = false;  // of the device
  bool input_is_over_ = false;   // passed on to the device
  std::string pending_;
  bool is_last_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace berth
