// MqttTransport: messages over an MQTT 5 broker, inside one event loop. It keeps trying to be connected until told to
// stop; nothing in it blocks the loop (names are looked up by Asio, connecting and TLS are driven by readiness).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/log.h"
#include "core/transport.h"

namespace asio {
class io_context;
}

namespace berth {

struct MqttTls {
  std::string ca;    // PEM file of the authorities that may sign the broker; empty: no TLS
  std::string cert;  // PEM file of the client's certificate and chain; may be empty
  std::string key;   // PEM file of its private key; with cert
};

struct MqttOptions {
  std::string host = "127.0.0.1";  // name or address; with TLS the broker's certificate must carry it
  int port = 1883;
  std::string client_id;
  std::string username;  // may be empty
  std::string password;
  MqttTls tls;
  int keepalive_s = 15;                // at least 5
  std::uint32_t session_expiry_s = 0;  // how long the broker keeps the session of an absent client; 0 = clean start
  std::optional<Message> will;
  Millis answer_timeout = 10'000;  // from the first packet to the broker's CONNACK
  Millis backoff_min = 500;        // before the second attempt; doubles, with jitter
  Millis backoff_max = 30'000;
  std::uint64_t seed = 1;  // of the jitter; should differ from client to client
};

class MqttTransport final : public Transport {
 public:
  static constexpr std::size_t kPayloadMax = 64 * 1024;  // larger ones are dropped and logged, in and out
  // Messages handed over and not yet acknowledged (QoS 1) or written (QoS 0); more are dropped and logged. The last
  // kRoom of these places are for what is retained: what is sent within send_window() is never dropped.
  static constexpr int kOutstandingMax = 10'000;
  // send_window() is what these leave of it; on_send_window() comes when half of it is free. More than the broker takes
  // at once, and no more than a small machine can hold of the largest.
  static constexpr int kRoom = 256;
  static constexpr int kWindow = 100;  // unacknowledged QoS 1 messages on the wire, each way

  // `loop` and `log` outlive the transport. Nothing happens before start().
  MqttTransport(asio::io_context& loop, Log& log, MqttOptions options);
  ~MqttTransport() override;  // drops the connection without a word: the broker sends the will
  MqttTransport(const MqttTransport&) = delete;
  MqttTransport& operator=(const MqttTransport&) = delete;

  void set_handler(Handler* handler) override;
  bool is_up() const override;
  // Messages that MQTT cannot carry (wildcard in the topic, too large) are dropped and logged.
  void send(const Message& message) override;
  std::size_t send_window() const override;
  void gather(bool on) override;
  void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) override;

  // Called after each batch of calls of the handler: the place to end the program's turn.
  void set_on_turn(std::function<void()> on_turn);
  // Counts from the next connection.
  void set_will(Message will);
  // Starts to connect; again harmless.
  void start();
  // Hands what was sent to the kernel, says goodbye (no will) and stays down until start().
  void disconnect();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth
