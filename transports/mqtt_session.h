// MqttSession: one connection to one address, and the only code that calls libmosquitto. The owner waits for its
// socket, calls read() and write(), then takes the received messages. No callback leaves this class.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/status.h"
#include "transports/mqtt.h"
#include "transports/tls_context.h"

struct mosquitto;

namespace berth {

class MqttSession {
 public:
  // `log` must outlive the session.
  static Result<std::unique_ptr<MqttSession>> open(const MqttOptions& options, Log& log);
  ~MqttSession();
  MqttSession(const MqttSession&) = delete;
  MqttSession& operator=(const MqttSession&) = delete;

  // Starts to connect to `address`, an IP literal. Once. Never blocks; yet where the broker is fast enough, all of TLS
  // may be done within it, and the session refused.
  Status connect(const MqttOptions& options, const std::string& address);
  int socket() const;
  bool wants_write() const;
  // The TLS layer holds decrypted input, for which the socket does not become readable.
  bool has_decrypted() const;
  // The broker accepted the connection.
  bool is_accepted() const { return accepted_; }
  // The broker is the right one, and has not accepted the session.
  bool may_be_refused() const { return !accepted_ && tls_.is_answered(); }
  // Appends what has been received. An empty vector is exchanged for that of the session, which goes on with its
  // memory.
  void take_messages(std::vector<Message>& into);

  // Call these when the socket is ready, and tick() once a second. An error gives the reason for the lost connection;
  // the socket may be closed already.
  Status read(bool& more);  // one packet; `more`: further input is available
  Status write();
  Status tick();
  Status publish(const Message& message);
  std::size_t send_window() const;
  // True once after the send window was exhausted, as soon as half of it is free.
  bool take_window_reopened();
  // TCP_CORK, see tcp(7): the library writes message by message, and each write would be a packet.
  void gather(bool on);
  Status subscribe(const std::string& filter, int qos, SubscribeOptions options);
  // Writes as much as the socket takes, the DISCONNECT packet last.
  void send_disconnect();

 private:
  MqttSession(const MqttOptions& options, Log& log);
  Status configure(const MqttOptions& options);
  Status configure_will(const Message& will);
  // `code` of libmosquitto as a status, with the most specific reason known.
  Status to_status(int code) const;
  std::ptrdiff_t count_input() const;  // bytes; at least 1 if there is any
  bool is_hung_up() const;
  struct Callbacks;

  struct Close {
    void operator()(mosquitto* client) const;
  };

  Log& log_;
  TlsContext tls_;  // outlives client_
  std::unique_ptr<mosquitto, Close> client_;
  bool accepted_ = false;
  int outstanding_ = 0;
  bool was_full_ = false;
  bool overflow_logged_ = false;
  bool gathers_ = false;
  std::string refusal_;       // of the CONNACK or DISCONNECT
  std::string last_error_;    // as the library logged it
  std::ptrdiff_t input_ = 0;  // bytes that are certainly there to be read, from the last count
  std::vector<Message> messages_;
};

}  // namespace berth
