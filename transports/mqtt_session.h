// MqttSession: one connection to one address, and the only place that speaks to libmosquitto. Whoever owns it waits for
// its socket and calls read() and write(); what came in is then taken out. No callback leaves this class.
#pragma once

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
  // Starts to connect to `address`, an IP literal. Never blocks. `log` outlives the session.
  static Result<std::unique_ptr<MqttSession>> open(const MqttOptions& options, const std::string& address, Log& log);
  ~MqttSession();
  MqttSession(const MqttSession&) = delete;
  MqttSession& operator=(const MqttSession&) = delete;

  int socket() const;
  bool wants_write() const;
  // Input is waiting in the TLS layer, where no readiness of the socket shows it.
  bool has_decrypted() const;
  // The broker accepted the connection.
  bool is_accepted() const { return accepted_; }
  std::vector<Message> take_messages();

  // To be called when the socket is ready, and tick() once a second. An error says why the connection is lost; the
  // socket may be closed already.
  Status read(bool& more);  // one packet; `more`: input is waiting still
  Status write();
  Status tick();
  Status publish(const Message& message);
  std::size_t send_window() const;
  // Once after each time that there was none, as soon as half of it is free.
  bool takes_more_again();
  // tcp(7), TCP_CORK: the library writes message by message, and each write would be a packet.
  void gather(bool on);
  Status subscribe(const std::string& filter, int qos, SubscribeOptions options);
  // Writes what it can, and the DISCONNECT packet.
  void say_goodbye();

 private:
  MqttSession(const MqttOptions& options, Log& log);
  Status configure(const MqttOptions& options);
  Status configure_will(const Message& will);
  Status connect(const MqttOptions& options, const std::string& address);
  // `code` of libmosquitto as a status, with the best reason known.
  Status judge(int code) const;
  bool has_input() const;
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
  std::string refusal_;     // of the CONNACK or DISCONNECT
  std::string last_error_;  // as the library logged it
  std::vector<Message> messages_;
};

}  // namespace berth
