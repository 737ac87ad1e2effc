// Transport seam: messages out and in. No promise of delivery; a broker's PUBACK says nothing about the device.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace berth {

struct Message {
  std::string topic;    // whole topic, "berth/v1/<fleet>/..."
  std::string payload;  // UTF-8 JSON object, or empty
  int qos = 1;
  bool retain = false;  // in: delivered from the broker's retained set
  int expiry_s = 0;     // MQTT 5 Message Expiry Interval; 0 = none
  std::string response_topic;
  std::string correlation;
};

struct SubscribeOptions {
  bool no_local = false;             // what this client sends while it is subscribed does not come back
  bool retain_as_published = false;  // Message::retain tells of what its sender asked to be retained, too
};

class Transport {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_message(const Message& message) = 0;
    // up: the session is established; subscriptions must be made again. down: nothing is in flight any more.
    virtual void on_link(bool up) = 0;
    // There was no send_window(), and there is some again.
    virtual void on_send_window() {}
  };

  virtual ~Transport() = default;
  // The handler outlives the transport's use of it; null detaches.
  virtual void set_handler(Handler* handler) = 0;
  virtual bool is_up() const = 0;
  // Drops the message when the link is down: rows resend on link up (nothing may queue without bound).
  virtual void send(const Message& message) = 0;
  // How many more messages are taken in now for sure; what is sent beyond that may be dropped. What nothing would say
  // again (what the broker is to retain) is sent within this room, and waits with its sender when there is none.
  virtual std::size_t send_window() const { return std::numeric_limits<std::size_t>::max(); }
  // What is sent from gather(true) to gather(false) may leave together: packets are made of it, not of each message.
  virtual void gather(bool /*on*/) {}
  // MQTT filter; retained messages follow, whoever sent them. Valid for the current session only. The options are those
  // of MQTT 5, 3.8.3.1.
  virtual void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) = 0;
};

}  // namespace berth
