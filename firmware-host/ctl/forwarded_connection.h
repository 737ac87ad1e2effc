// ForwardedConnection: one local connection, and the stream that takes it to a port of a pod.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/streams/stream_client.h"
#include "firmware-host/ctl/api_client.h"
#include "firmware-host/fd_poll.h"

namespace berth {

class ForwardedConnection final : public StreamClient::Handler {
 public:
  struct Target {
    std::string fleet;
    StreamClient::Address address;
    ForwardQuery query;
  };
  // `ended`: it is over, with the reason if it failed; called once, and not in a call of this object's that could not
  // bear its destruction. All must outlive it. It closes `socket`.
  ForwardedConnection(const ApiClient::Engine& engine, asio::io_context& context, int socket, Target target,
                      std::function<void(const std::string& failure)> ended);
  ~ForwardedConnection() override;
  ForwardedConnection(const ForwardedConnection&) = delete;
  ForwardedConnection& operator=(const ForwardedConnection&) = delete;

  bool on_message(const Message& message) { return stream_ && stream_->on_message(message); }

  void on_opened(const std::string&, const std::vector<std::string>&) override { is_open_ = true; }
  void on_data(const std::string& bytes, const std::string& position) override;
  void on_last() override;
  void on_writable() override;
  void on_end(StreamEnd why, const std::string& reason) override;

 private:
  static constexpr Millis kBusyAgainMs = 500;

  void open();
  void flush();
  void end(std::string failure);

  const ApiClient::Engine& engine_;
  FdPoll socket_;
  const Target target_;
  const std::function<void(const std::string& failure)> ended_;
  std::unique_ptr<StreamClient> stream_;
  int opened_ = 0;
  bool is_open_ = false;
  std::string pending_;         // from the pod
  bool is_last_ = false;        // nothing follows it
  bool has_shut_down_ = false;  // and the local side knows
  bool is_done_ = false;        // the stream has ended
  std::string failure_;         // why it has, if it failed
  bool input_is_over_ = false;  // of the local side
  Timers::Id timer_ = 0;
};

}  // namespace berth
