// MqttTransport: messages over an MQTT 5 broker, inside one event loop. It reconnects until disconnect(); nothing in it
// blocks the loop (Asio resolves names, connecting and TLS are driven by socket readiness).
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
  std::string ca;    // PEM file of the authorities that may sign the broker's certificate; empty: no TLS
  std::string cert;  // PEM file of the client's certificate and chain; may be empty
  std::string key;   // PEM file of its private key; required with cert
  // Wall time that has certainly come: certificates are judged by it while the clock is below. Asked at each
  // connection, since it rises. Null: none is known.
  std::function<Millis()> time_floor = nullptr;
  // Called after an attempt to connect that failed though the broker was the right one: it may have refused the
  // certificate. May call set_client_certificate().
  std::function<void()> on_refused = nullptr;
};

struct MqttOptions {
  std::string host = "127.0.0.1";  // name or address; with TLS, the broker's certificate must be issued for it
  int port = 1883;
  std::string client_id;
  std::string username;  // may be empty
  std::string password;
  MqttTls tls;
  int keepalive_s = 15;                // at least 5
  std::uint32_t session_expiry_s = 0;  // how long the broker keeps the session after a disconnect; 0 = clean start
  std::optional<Message> will;
  Millis answer_timeout = 10'000;  // from the first packet to the broker's CONNACK
  Millis backoff_min = 500;        // before the second attempt; doubles, with jitter
  Millis backoff_max = 30'000;
  Millis read_rest = 0;       // how long dense messages of QoS 0 are gathered at first before they are read (ReadRest)
  std::string awaited_below;  // topics that begin with this are not gathered, whatever their QoS; empty: none
  // The owner ends each turn with gather(false): what acknowledges a single message leaves with what the turn answers,
  // in one packet. A packet of its own costs both sides a wake-up, and nobody waits for it.
  bool gather_acks = false;
  std::uint64_t seed = 1;  // of the jitter; should differ between clients
};

class MqttTransport final : public Transport {
 public:
  static constexpr std::size_t kPayloadMax = 64 * 1024;  // larger messages are dropped and logged, in and out
  // Limit of messages not yet acknowledged (QoS 1) or written (QoS 0); more are dropped and logged. The last
  // kSendWindow of them are reserved for retained messages: a retained message sent within send_window() is never
  // dropped.
  static constexpr int kOutstandingMax = 10'000;
  // send_window() is this number less the outstanding messages; on_send_window() is called once half of it is free. It
  // is larger than what the broker takes at once, and small enough that a small machine can hold as many messages of
  // maximum size.
  static constexpr int kSendWindow = 256;
  static constexpr int kInFlightMax = 100;  // unacknowledged QoS 1 messages on the wire, each way

  // `loop` and `log` must outlive the transport. Nothing happens before start().
  MqttTransport(asio::io_context& loop, Log& log, MqttOptions options);
  ~MqttTransport() override;  // closes the connection without DISCONNECT: the broker sends the will
  MqttTransport(const MqttTransport&) = delete;
  MqttTransport& operator=(const MqttTransport&) = delete;

  void set_handler(Handler* handler) override;
  bool is_up() const override;
  std::string local_address() const override;
  // Messages that MQTT cannot carry (wildcard in the topic, too large) are dropped and logged.
  void send(const Message& message) override;
  std::size_t send_window() const override;
  void gather(bool on) override;
  void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) override;

  // Called after each batch of handler calls, to end the program's turn.
  void set_on_turn(std::function<void()> on_turn);
  // Takes effect with the next connection.
  void set_will(Message will);
  // Files of MqttTls::cert and key. Takes effect with the next connection.
  void set_client_certificate(std::string cert, std::string key);
  // Starts to connect; does nothing if already started.
  void start();
  // Flushes sent messages to the socket, sends DISCONNECT (so no will) and stays down until start().
  void disconnect();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth
