#include "transports/mqtt_session.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

namespace berth {

namespace {

constexpr std::size_t kPacketHeadroom = 4096;  // for topic and properties, in addition to the payload

struct Properties {
  Properties() = default;
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  ~Properties() { mosquitto_property_free_all(&list); }
  mosquitto_property* list = nullptr;
};

bool add_properties(Properties& properties, const Message& message) {
  int code = 0;
  if (message.expiry_s > 0) {
    code |= mosquitto_property_add_int32(&properties.list, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL,
                                         static_cast<std::uint32_t>(message.expiry_s));
  }
  if (!message.response_topic.empty()) {
    code |= mosquitto_property_add_string(&properties.list, MQTT_PROP_RESPONSE_TOPIC, message.response_topic.c_str());
  }
  if (!message.correlation.empty()) {
    if (message.correlation.size() > 0xffff) return false;
    code |= mosquitto_property_add_binary(&properties.list, MQTT_PROP_CORRELATION_DATA, message.correlation.data(),
                                          static_cast<std::uint16_t>(message.correlation.size()));
  }
  return code == 0;
}

void fill(Message& message, const mosquitto_message& in, const mosquitto_property* properties) {
  message.topic = in.topic;
  message.payload.assign(static_cast<const char*>(in.payload), static_cast<std::size_t>(in.payloadlen));
  message.qos = in.qos;
  message.retain = in.retain;
  if (properties == nullptr) return;
  std::uint32_t expiry = 0;
  if (mosquitto_property_read_int32(properties, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, &expiry, false) != nullptr) {
    message.expiry_s = static_cast<int>(expiry & 0x7fffffff);
  }
  char* topic = nullptr;
  if (mosquitto_property_read_string(properties, MQTT_PROP_RESPONSE_TOPIC, &topic, false) != nullptr) {
    message.response_topic = topic;
    std::free(topic);
  }
  void* bytes = nullptr;
  std::uint16_t length = 0;
  if (mosquitto_property_read_binary(properties, MQTT_PROP_CORRELATION_DATA, &bytes, &length, false) != nullptr) {
    message.correlation.assign(static_cast<const char*>(bytes), length);
    std::free(bytes);
  }
}

// Bytes of the packet that brings the message, if it has no properties.
std::ptrdiff_t packet_bytes(const Message& message) {
  std::size_t bytes = 2 + message.topic.size() + (message.qos > 0 ? 2 : 0) + 1 + message.payload.size();
  for (std::size_t length = bytes; length > 0; length /= 128) ++bytes;
  return static_cast<std::ptrdiff_t>(1 + bytes);
}

std::string fix_for(int reason) {
  switch (reason) {
    case MQTT_RC_BAD_USERNAME_OR_PASSWORD:
    case MQTT_RC_NOT_AUTHORIZED: return ": check username and password";
    case MQTT_RC_SESSION_TAKEN_OVER: return ": another client uses this client id";
    default: return "";
  }
}

}  // namespace

// Called by libmosquitto inside read(), write(), tick() and publish().
struct MqttSession::Callbacks {
  static MqttSession& of(void* self) { return *static_cast<MqttSession*>(self); }

  static void on_connect(mosquitto* client, void* self, int code, int, const mosquitto_property*) {
    if (code == 0) {
      of(self).accepted_ = true;
      // The library's log explains failed connections only. From now on it would format a line for every packet, which
      // costs as much as sending it.
      mosquitto_log_callback_set(client, nullptr);
      of(self).last_error_.clear();
    } else {
      of(self).refusal_ = std::string("the broker refused: ") + mosquitto_reason_string(code) + fix_for(code);
    }
  }

  static void on_disconnect(mosquitto*, void* self, int code, const mosquitto_property*) {
    // Codes below 128 are the library's own and are handled where they are returned.
    if (code < 128) return;
    of(self).refusal_ = std::string("the broker ended the session: ") + mosquitto_reason_string(code) + fix_for(code);
  }

  static void on_message(mosquitto*, void* self, const mosquitto_message* in, const mosquitto_property* properties) {
    if (static_cast<std::size_t>(in->payloadlen) > MqttTransport::kPayloadMax) {
      of(self).log_.write(Level::warn, "message too large, dropped",
                          {{"topic", in->topic}, {"bytes", std::to_string(in->payloadlen)}});
      return;
    }
    fill(of(self).messages_.emplace_back(), *in, properties);
  }

  static void on_publish(mosquitto*, void* self, int, int code, const mosquitto_property*) {
    --of(self).outstanding_;
    if (code < 128) return;
    of(self).log_.write(Level::warn, "broker refused a message", {{"reason", mosquitto_reason_string(code)}});
  }

  static void on_subscribe(mosquitto*, void* self, int, int count, const int* granted, const mosquitto_property*) {
    for (int i = 0; i < count; ++i) {
      if (granted[i] < 128) continue;
      of(self).log_.write(Level::error, "broker refused a subscription: check its ACL",
                          {{"reason", mosquitto_reason_string(granted[i])}});
    }
  }

  static void on_log(mosquitto*, void* self, int level, const char* text) {
    if (level == MOSQ_LOG_ERR) of(self).last_error_ = text;
  }
};

void MqttSession::Close::operator()(mosquitto* client) const { mosquitto_destroy(client); }

MqttSession::MqttSession(const MqttOptions& options, Log& log) : log_(log) {
  [[maybe_unused]] static const int initialised = mosquitto_lib_init();
  client_.reset(mosquitto_new(options.client_id.c_str(), options.session_expiry_s == 0, this));
}

MqttSession::~MqttSession() = default;

Result<std::unique_ptr<MqttSession>> MqttSession::open(const MqttOptions& options, Log& log) {
  std::unique_ptr<MqttSession> session(new MqttSession(options, log));
  if (session->client_ == nullptr) {
    return Status::error("mqtt.client_id: invalid client id '" + options.client_id + "': " + std::strerror(errno));
  }
  if (!options.tls.ca.empty()) {
    Result<TlsContext> tls = TlsContext::load(options.tls, options.host);
    if (!tls) return tls.error();
    session->tls_ = std::move(*tls);
  }
  if (Status configured = session->configure(options); !configured.is_success()) return configured;
  return session;
}

Status MqttSession::configure(const MqttOptions& options) {
  mosquitto* client = client_.get();
  int code = mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  code |= mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  code |= mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, MqttTransport::kInFlightMax);
  code |= mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, MqttTransport::kInFlightMax);
  if (code != 0) return Status::error("libmosquitto is too old: install version 2.0 or newer");
  if (tls_.get() != nullptr) {
    // Without the library's defaults, which would check the certificate against its host, here an address.
    code = mosquitto_int_option(client, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0);
    code |= mosquitto_void_option(client, MOSQ_OPT_SSL_CTX, tls_.get());
    if (code != 0) return to_status(code);
  }
  if (!options.username.empty()) {
    code = mosquitto_username_pw_set(client, options.username.c_str(),
                                     options.password.empty() ? nullptr : options.password.c_str());
    if (code != 0) return Status::error(std::string("mqtt.username: ") + mosquitto_strerror(code));
  }
  mosquitto_connect_v5_callback_set(client, Callbacks::on_connect);
  mosquitto_disconnect_v5_callback_set(client, Callbacks::on_disconnect);
  mosquitto_message_v5_callback_set(client, Callbacks::on_message);
  mosquitto_publish_v5_callback_set(client, Callbacks::on_publish);
  mosquitto_subscribe_v5_callback_set(client, Callbacks::on_subscribe);
  mosquitto_log_callback_set(client, Callbacks::on_log);
  return options.will ? configure_will(*options.will) : Status::ok();
}

Status MqttSession::configure_will(const Message& will) {
  Properties properties;
  if (!add_properties(properties, will)) return Status::error("will: a property is too large");
  const int code = mosquitto_will_set_v5(client_.get(), will.topic.c_str(), static_cast<int>(will.payload.size()),
                                         will.payload.data(), will.qos, will.retain, properties.list);
  if (code != 0) return Status::error("will: " + std::string(mosquitto_strerror(code)) + ": topic " + will.topic);
  properties.list = nullptr;  // now owned by the library
  return Status::ok();
}

Status MqttSession::connect(const MqttOptions& options, const std::string& address) {
  Properties properties;
  const auto packet_max = static_cast<std::uint32_t>(MqttTransport::kPayloadMax + kPacketHeadroom);
  int code = mosquitto_property_add_int32(&properties.list, MQTT_PROP_MAXIMUM_PACKET_SIZE, packet_max);
  if (options.session_expiry_s > 0) {
    code |= mosquitto_property_add_int32(&properties.list, MQTT_PROP_SESSION_EXPIRY_INTERVAL, options.session_expiry_s);
  }
  if (code != 0) return to_status(code);
  // Only the blocking call accepts CONNECT properties; the asynchronous one reuses them. A missing socket file makes
  // the blocking call fail at once.
  mosquitto_connect_bind_v5(client_.get(), "/nonexistent/broker.sock", 0, options.keepalive_s, nullptr,
                            properties.list);
  last_error_.clear();
  return to_status(
      mosquitto_connect_bind_async(client_.get(), address.c_str(), options.port, options.keepalive_s, nullptr));
}

Status MqttSession::to_status(int code) const {
  if (!refusal_.empty()) return Status::error(refusal_);
  if (code == MOSQ_ERR_SUCCESS) return Status::ok();
  const int number = errno;
  std::string reason = code == MOSQ_ERR_ERRNO ? std::strerror(number) : mosquitto_strerror(code);
  if (!last_error_.empty()) reason += " (" + last_error_ + ")";
  return Status::error(std::move(reason));
}

int MqttSession::socket() const { return mosquitto_socket(client_.get()); }
bool MqttSession::wants_write() const { return mosquitto_want_write(client_.get()); }

std::ptrdiff_t MqttSession::count_input() const {
  int bytes = 0;
  if (ioctl(socket(), FIONREAD, &bytes) == 0 && bytes > 0) return bytes;
  return has_decrypted() ? 1 : 0;
}

bool MqttSession::has_decrypted() const { return tls_bytes_pending(mosquitto_ssl_get(client_.get())) > 0; }

void MqttSession::take_messages(std::vector<Message>& into) {
  if (into.empty()) return messages_.swap(into);
  into.insert(into.end(), std::move_iterator(messages_.begin()), std::move_iterator(messages_.end()));
  messages_.clear();
}

Status MqttSession::read(bool& more) {
  more = false;
  const std::size_t before = messages_.size();
  Status status = to_status(mosquitto_loop_read(client_.get(), 1));
  if (!status.is_success() || socket() < 0) return status;
  // Counted again only once the messages read since may be all that there was: where many wait, each would be counted.
  for (std::size_t i = before; i < messages_.size(); ++i) input_ -= packet_bytes(messages_[i]);
  if (messages_.size() == before || input_ <= 0) input_ = count_input();
  more = input_ > 0;
  // With TLS, the library does not report a refused connection: it would wait forever.
  if (!more && tls_.get() != nullptr && is_hung_up())
    return Status::error(accepted_ ? "connection closed" : "connection refused or closed");
  return status;
}
bool MqttSession::is_hung_up() const {
  pollfd watched{socket(), POLLRDHUP, 0};
  return watched.fd >= 0 && ::poll(&watched, 1, 0) > 0;  // POLLHUP and POLLERR are always reported
}
Status MqttSession::write() { return to_status(mosquitto_loop_write(client_.get(), 1)); }
Status MqttSession::tick() { return to_status(mosquitto_loop_misc(client_.get())); }

Status MqttSession::publish(const Message& message) {
  const auto drop = [&](const char* why) {
    log_.write(Level::error, "message not sent", {{"topic", message.topic}, {"reason", why}});
    return Status::ok();
  };
  if (message.payload.size() > MqttTransport::kPayloadMax) return drop("larger than 64 KiB");
  const int limit = MqttTransport::kOutstandingMax - (message.retain ? 0 : MqttTransport::kSendWindow);
  if (outstanding_ >= limit) {
    return std::exchange(overflow_logged_, true) ? Status::ok() : drop("the broker cannot keep up");
  }
  Properties properties;
  if (!add_properties(properties, message)) return drop("a property is too large");
  ++outstanding_;  // first: the library may call on_publish before it returns
  was_full_ = was_full_ || send_window() == 0;
  const int code =
      mosquitto_publish_v5(client_.get(), nullptr, message.topic.c_str(), static_cast<int>(message.payload.size()),
                           message.payload.data(), message.qos, message.retain, properties.list);
  switch (code) {
    case MOSQ_ERR_SUCCESS: return Status::ok();
    case MOSQ_ERR_INVAL:
    case MOSQ_ERR_MALFORMED_UTF8:
    case MOSQ_ERR_PAYLOAD_SIZE:
    case MOSQ_ERR_OVERSIZE_PACKET:
    case MOSQ_ERR_QOS_NOT_SUPPORTED:
    case MOSQ_ERR_RETAIN_NOT_SUPPORTED: --outstanding_; return drop(mosquitto_strerror(code));
    default: return to_status(code);
  }
}

std::size_t MqttSession::send_window() const {
  return static_cast<std::size_t>(std::max(0, MqttTransport::kSendWindow - outstanding_));
}

bool MqttSession::take_window_reopened() {
  if (!was_full_ || outstanding_ > MqttTransport::kSendWindow / 2) return false;
  overflow_logged_ = false;
  return std::exchange(was_full_, false);
}

void MqttSession::gather(bool on) {
  if (std::exchange(gathers_, on) == on) return;
  const int corked = on ? 1 : 0;
  setsockopt(socket(), IPPROTO_TCP, TCP_CORK, &corked, sizeof corked);  // a failure only costs speed
}

Status MqttSession::subscribe(const std::string& filter, int qos, SubscribeOptions options) {
  const int flags = (options.no_local ? MQTT_SUB_OPT_NO_LOCAL : 0) |
                    (options.retain_as_published ? MQTT_SUB_OPT_RETAIN_AS_PUBLISHED : 0);
  const int code = mosquitto_subscribe_v5(client_.get(), nullptr, filter.c_str(), qos, flags, nullptr);
  if (code != MOSQ_ERR_INVAL && code != MOSQ_ERR_MALFORMED_UTF8) return to_status(code);
  log_.write(Level::error, "subscription not sent", {{"filter", filter}, {"reason", mosquitto_strerror(code)}});
  return Status::ok();
}

void MqttSession::send_disconnect() {
  static_cast<void>(mosquitto_disconnect_v5(client_.get(), MQTT_RC_NORMAL_DISCONNECTION, nullptr));
  for (int i = 0; i < 100 && socket() >= 0 && wants_write(); ++i) mosquitto_loop_write(client_.get(), 1);
}

}  // namespace berth
