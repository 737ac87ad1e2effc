// Transport interface: messages out and in. Delivery is not guaranteed; a broker's PUBACK says nothing about the
// device.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace berth {

struct Message {
  std::string topic;    // full topic, "berth/v1/<fleet>/..."
  std::string payload;  // UTF-8 JSON object, or empty; in a stream with bytes behind it
  int qos = 1;
  bool retain = false;  // incoming: delivered from the broker's retained messages
  int expiry_s = 0;     // MQTT 5 Message Expiry Interval; 0 = none
  std::string response_topic;
  std::string correlation;
};

struct SubscribeOptions {
  bool no_local = false;             // this client's own messages are not sent back to it
  bool retain_as_published = false;  // Message::retain also says whether the sender set the retain flag
};

class Transport {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_message(const Message& message) = 0;
    // up: the session is established; subscribe again. down: nothing is in flight any more.
    virtual void on_link(bool up) = 0;
    // send_window() was 0 and no longer is.
    virtual void on_send_window() {}
  };

  virtual ~Transport() = default;
  // The handler must outlive the transport or be detached with null.
  virtual void set_handler(Handler* handler) = 0;
  virtual bool is_up() const = 0;
  // Of this machine, as the connection to the broker has it, for people; empty: there is none, or it is unknown.
  virtual std::string local_address() const { return {}; }
  // Drops the message when the link is down: rows are resent on link up (no queue may grow without bound).
  virtual void send(const Message& message) = 0;
  // How many more messages are certain to be accepted now; beyond that they may be dropped. Messages that nothing would
  // resend (those to be retained by the broker) are sent within this window and wait at the sender while it is 0.
  virtual std::size_t send_window() const { return std::numeric_limits<std::size_t>::max(); }
  // Messages sent between gather(true) and gather(false) may share packets (like TCP_CORK). The end of each turn says
  // gather(false), whether it has sent anything or not.
  virtual void gather(bool /*on*/) {}
  // MQTT topic filter; retained messages follow, including this client's own. Valid for the current session only. For
  // the options see MQTT 5, 3.8.3.1.
  virtual void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) = 0;
};

}  // namespace berth
