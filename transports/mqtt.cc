#include "transports/mqtt.h"

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "core/random.h"
#include "transports/mqtt_session.h"
#include "transports/read_rest.h"

namespace berth {

namespace {

constexpr int kReadsPerTurn = 64;
// Messages delivered in one loop handler: the loop checks the time only between handlers, and one call of the library
// reads as many packets as it has unacknowledged messages, thousands when all devices connect together.
constexpr int kDeliveredAtOnce = 8;
constexpr std::size_t kBytesDeliveredAtOnce = 128 * 1024;
constexpr std::size_t kMessagesKept = 256;  // for so many the memory is kept
// libmosquitto checks its keepalive only when called, and counts whole seconds. As long as both sides speak it need not
// be called; after that so many times in a keepalive. Brokers wait for half of one more.
constexpr std::chrono::seconds kWhole{1};
constexpr int kTicksPerKeepalive = 4;
constexpr std::chrono::seconds kProvenAfter{10};  // a link that lasted this long resets the backoff

}  // namespace

//            start()                   address             CONNACK
//   stopped ---------> resolving ----------------> connecting --------> up
//      ^                   ^  \ no such name           |  refused, lost  | lost
//      | disconnect()      |   \                       v                 v
//   (any state)            +----------------------- waiting <------------+
class MqttTransport::Impl : public std::enable_shared_from_this<MqttTransport::Impl> {
 public:
  Impl(asio::io_context& loop, Log& log, MqttOptions options)
      : loop_(loop),
        log_(log),
        options_(std::move(options)),
        random_(options_.seed),
        resolver_(loop),
        descriptor_(loop),
        deadline_(loop),
        tick_(loop),
        read_rest_(std::chrono::milliseconds(options_.read_rest)),
        rest_(loop) {}

  void start();
  void disconnect(bool notify_handler);
  void send(const Message& message);
  std::size_t send_window() const { return is_up() ? session_->send_window() : 0; }
  void gather(bool on);
  void subscribe(const std::string& filter, int qos, SubscribeOptions options);
  bool is_up() const { return state_ == State::up; }
  std::string local_address() const;

  Handler* handler = nullptr;
  std::function<void()> on_turn;
  MqttOptions& options() { return options_; }

 private:
  enum class State { stopped, resolving, connecting, up, waiting };
  struct Gathered {
    int messages = 0;
    std::size_t bytes = 0;  // of payload
    bool is_urgent = false;
  };
  using Ready = void (Impl::*)();

  void resolve();
  void connect();
  void fail(const std::string& reason);
  void retry_later(const std::string& reason);
  void forget_session();

  void wait();
  void wait_for(asio::posix::stream_descriptor::wait_type type, bool& waiting, Ready ready);
  void wait_for_tick();
  void rest();
  void on_readable();
  void on_writable();
  // After a call of the session: handles its status, delivers incoming messages, waits for the socket again.
  void settle(const Status& status);
  // Delivers all incoming messages, or only as many as one loop handler may; the rest follows.
  void deliver(bool all);
  bool has_undelivered() const { return next_received_ < received_.size(); }
  void forget_received();
  bool is_awaited(const Message& message) const {
    const std::string& below = options_.awaited_below;
    return message.qos > 0 || (!below.empty() && message.topic.starts_with(below));
  }
  void report_link(bool up);
  void end_turn() {
    const std::function<void()> call = on_turn;  // a copy: the turn may destroy the transport
    if (call) call();
  }
  void lose_soon(const Status& status);
  std::string broker() const { return options_.host + ":" + std::to_string(options_.port); }
  // Runs `then` unless the session or connection attempt has changed by then.
  template <class F>
  auto guarded(F then) {
    return [self = weak_from_this(), generation = generation_, then = std::move(then)](auto&&... arguments) {
      if (const auto impl = self.lock(); impl != nullptr && impl->generation_ == generation) then(*impl, arguments...);
    };
  }

  asio::io_context& loop_;
  Log& log_;
  MqttOptions options_;
  Random random_;
  asio::ip::tcp::resolver resolver_;
  asio::posix::stream_descriptor descriptor_;  // borrowed: the library owns the socket
  asio::steady_timer deadline_;                // for the broker's answer, or until the next attempt
  asio::steady_timer tick_;
  ReadRest read_rest_;
  asio::steady_timer rest_;  // while it runs, nothing is read
  std::unique_ptr<MqttSession> session_;
  State state_ = State::stopped;
  std::uint64_t generation_ = 0;  // of the session; handlers of an older one do nothing
  std::vector<std::string> addresses_;
  std::size_t next_address_ = 0;
  int failures_ = 0;
  std::chrono::steady_clock::time_point up_since_;
  std::chrono::steady_clock::time_point heard_;
  std::chrono::steady_clock::time_point said_;  // by send(); of what the library sends by itself, nothing is known
  std::vector<Message> received_;  // delivered up to the next one; while others are left, nothing more is read
  std::size_t next_received_ = 0;
  Gathered gathered_;  // delivered since the last read
  bool delivery_posted_ = false;
  bool read_waiting_ = false;  // or a rest runs
  bool turn_reads_ = false;    // since the last gather(false)
  bool write_waiting_ = false;
};

void MqttTransport::Impl::start() {
  if (state_ != State::stopped) return;
  state_ = State::waiting;
  failures_ = 0;
  asio::post(loop_, guarded([](Impl& self) { self.resolve(); }));
}

void MqttTransport::Impl::resolve() {
  state_ = State::resolving;
  addresses_.clear();
  next_address_ = 0;
  asio::error_code no_address;
  asio::ip::make_address(options_.host, no_address);
  if (!no_address) {
    addresses_.push_back(options_.host);
    return connect();
  }
  const auto resolved = [](Impl& self, const asio::error_code& error,
                           const asio::ip::tcp::resolver::results_type& all) {
    if (error) return self.retry_later("name " + self.options_.host + " not found: " + error.message());
    for (const auto& entry : all) self.addresses_.push_back(entry.endpoint().address().to_string());
    self.connect();
  };
  resolver_.async_resolve(options_.host, std::to_string(options_.port), guarded(resolved));
}

void MqttTransport::Impl::connect() {
  if (next_address_ >= addresses_.size()) return retry_later("name " + options_.host + " has no address");
  state_ = State::connecting;
  const std::string& address = addresses_[next_address_++];
  auto opened = MqttSession::open(options_, log_);
  if (!opened) return fail(opened.error().message());
  session_ = std::move(*opened);
  if (const Status connected = session_->connect(options_, address); !connected.is_success()) {
    return fail(connected.message());
  }
  deadline_.expires_after(std::chrono::milliseconds(options_.answer_timeout));
  deadline_.async_wait(guarded([](Impl& self, const asio::error_code& error) {
    if (error || self.state_ != State::connecting) return;
    self.fail("no answer within " + std::to_string(self.options_.answer_timeout) + " ms");
  }));
  wait_for_tick();
  settle(Status::ok());
}

// A name may resolve to several addresses: the next one is tried at once.
void MqttTransport::Impl::fail(const std::string& reason) {
  const bool was_up = state_ == State::up;
  const bool is_refused = session_ != nullptr && session_->may_be_refused();
  forget_session();
  if (is_refused && options_.tls.on_refused) options_.tls.on_refused();
  if (was_up || next_address_ >= addresses_.size()) return retry_later(reason);
  log_.write(Level::info, "mqtt address failed",
             {{"broker", broker()}, {"address", addresses_[next_address_ - 1]}, {"reason", reason}});
  connect();
}

std::string MqttTransport::Impl::local_address() const {
  if (!is_up()) return {};
  asio::ip::tcp::endpoint endpoint;
  auto size = static_cast<socklen_t>(endpoint.capacity());
  if (getsockname(session_->socket(), endpoint.data(), &size) != 0) return {};
  return endpoint.address().to_string();
}

void MqttTransport::Impl::retry_later(const std::string& reason) {
  const bool was_up = std::exchange(state_, State::waiting) == State::up;
  if (was_up && std::chrono::steady_clock::now() - up_since_ >= kProvenAfter) failures_ = 0;
  const Millis whole = std::min(options_.backoff_max, options_.backoff_min << std::min(failures_++, 20));
  // Up to half of it is jitter, so that the clients of a restarted broker do not reconnect together.
  const Millis delay = whole - static_cast<Millis>(random_.below(static_cast<std::uint64_t>(whole / 2 + 1)));
  log_.write(Level::warn, was_up ? "mqtt link lost" : "mqtt connect failed",
             {{"broker", broker()}, {"reason", reason}, {"retry_ms", std::to_string(delay)}});
  deadline_.expires_after(std::chrono::milliseconds(delay));
  deadline_.async_wait(guarded([](Impl& self, const asio::error_code& error) {
    if (!error && self.state_ == State::waiting) self.resolve();
  }));
  if (was_up) report_link(false);
}

void MqttTransport::Impl::forget_session() {
  ++generation_;
  if (descriptor_.is_open()) descriptor_.release();
  read_waiting_ = write_waiting_ = delivery_posted_ = false;
  forget_received();
  gathered_ = {};
  deadline_.cancel();
  tick_.cancel();
  rest_.cancel();
  session_.reset();
}

void MqttTransport::Impl::disconnect(bool notify_handler) {
  if (state_ == State::stopped) return;
  const bool was_up = std::exchange(state_, State::stopped) == State::up;
  if (was_up && notify_handler) session_->send_disconnect();
  forget_session();
  resolver_.cancel();
  if (was_up && notify_handler) report_link(false);
}

void MqttTransport::Impl::wait() {
  if (session_ == nullptr) return;
  if (session_->socket() < 0) return lose_soon(Status::error("the socket was closed"));
  if (has_undelivered()) {
    if (options_.gather_acks) session_->gather(false);
    if (!std::exchange(delivery_posted_, true)) {
      asio::post(loop_, guarded([](Impl& self) {
                   self.delivery_posted_ = false;
                   self.settle(Status::ok());
                 }));
    }
  } else if (!read_waiting_ && session_->has_decrypted()) {
    // Bytes that TLS has already decrypted do not make the socket readable.
    read_waiting_ = true;
    asio::post(loop_, guarded([](Impl& self) {
                 self.read_waiting_ = false;
                 self.on_readable();
               }));
  }
  if (!has_undelivered() && !read_waiting_)
    wait_for(asio::posix::stream_descriptor::wait_read, read_waiting_, &Impl::on_readable);
  if (!write_waiting_ && session_->wants_write()) {
    wait_for(asio::posix::stream_descriptor::wait_write, write_waiting_, &Impl::on_writable);
  }
}

void MqttTransport::Impl::wait_for(asio::posix::stream_descriptor::wait_type type, bool& waiting, Ready ready) {
  if (!descriptor_.is_open()) {
    asio::error_code error;
    descriptor_.assign(session_->socket(), error);
    if (error) return lose_soon(Status::error("cannot watch the socket: " + error.message()));
  }
  waiting = true;
  bool* const flag = &waiting;
  descriptor_.async_wait(type, guarded([flag, ready](Impl& self, const asio::error_code& error) {
                           *flag = false;
                           if (!error) (self.*ready)();
                         }));
}

void MqttTransport::Impl::wait_for_tick() {
  const std::chrono::seconds keepalive{options_.keepalive_s};
  const auto at_least = std::chrono::steady_clock::now() + std::chrono::milliseconds(keepalive) / kTicksPerKeepalive;
  tick_.expires_at(
      std::max<std::chrono::steady_clock::time_point>(std::min(heard_, said_) + keepalive + kWhole, at_least));
  tick_.async_wait(guarded([](Impl& self, const asio::error_code& error) {
    if (error) return;
    const Status status = self.session_->tick();
    self.wait_for_tick();
    self.settle(status);
  }));
}

void MqttTransport::Impl::rest() {
  const Gathered all = std::exchange(gathered_, {});
  if (options_.read_rest == 0 || read_waiting_) return;
  const ReadRest::Duration rest =
      read_rest_.after(std::chrono::steady_clock::now(), all.is_urgent, all.bytes, all.messages);
  if (rest == ReadRest::Duration::zero()) return;
  read_waiting_ = true;
  // The loop would be woken for each message that arrives, even if nobody waits for it.
  if (!write_waiting_ && descriptor_.is_open()) descriptor_.release();
  rest_.expires_after(rest);
  rest_.async_wait(guarded([](Impl& self, const asio::error_code& error) {
    if (error) return;
    self.read_waiting_ = false;
    self.on_readable();
  }));
}

void MqttTransport::Impl::on_readable() {
  if (has_undelivered()) return;
  // Where more comes in the same turn, the broker waits for the acknowledgements to send the rest.
  if (options_.gather_acks && is_up()) session_->gather(std::exchange(turn_reads_, true) == false);
  heard_ = std::chrono::steady_clock::now();
  Status status;
  bool more = true;
  for (int i = 0; i < kReadsPerTurn && status.is_success() && more; ++i) status = session_->read(more);
  settle(status);
}

void MqttTransport::Impl::on_writable() { settle(session_->write()); }

void MqttTransport::Impl::settle(const Status& status) {
  // If the library has closed the socket, release the descriptor first: the next file opened may get its number.
  if (session_->socket() < 0 && descriptor_.is_open()) descriptor_.release();
  const std::uint64_t generation = generation_;
  deliver(!status.is_success());
  if (generation != generation_) return;
  if (!status.is_success()) return fail(status.message());
  wait();
}

void MqttTransport::Impl::deliver(bool all) {
  const std::uint64_t generation = generation_;
  session_->take_messages(received_);
  const bool comes_up = state_ == State::connecting && session_->is_accepted();
  if (comes_up) {
    state_ = State::up;
    up_since_ = std::chrono::steady_clock::now();
    deadline_.cancel();
    log_.write(Level::info, "mqtt link up", {{"broker", broker()}, {"client", options_.client_id}});
    if (handler != nullptr) handler->on_link(true);
  }
  int delivered = 0;
  std::size_t bytes = 0;
  for (; generation == generation_ && handler != nullptr && has_undelivered(); ++delivered) {
    if (!all && (delivered == kDeliveredAtOnce || bytes >= kBytesDeliveredAtOnce)) break;
    const Message message = std::move(received_[next_received_++]);
    bytes += message.payload.size();
    gathered_.is_urgent = gathered_.is_urgent || is_awaited(message);
    handler->on_message(message);
  }
  if (generation == generation_ && !has_undelivered()) forget_received();
  gathered_.messages += delivered;
  gathered_.bytes += bytes;
  const bool reopened = !all && generation == generation_ && session_->take_window_reopened();
  if (reopened && handler != nullptr) handler->on_send_window();
  if (delivered > 0 && generation == generation_ && !has_undelivered()) rest();
  if (comes_up || delivered > 0 || reopened) end_turn();
}

void MqttTransport::Impl::forget_received() {
  next_received_ = 0;
  received_.clear();
  if (received_.capacity() > kMessagesKept) received_ = {};
}

void MqttTransport::Impl::report_link(bool up) {
  if (handler != nullptr) handler->on_link(up);
  end_turn();
}

void MqttTransport::Impl::send(const Message& message) {
  if (!is_up()) return;
  said_ = std::chrono::steady_clock::now();
  const Status sent = session_->publish(message);
  if (!sent.is_success()) return lose_soon(sent);
  wait();
}

void MqttTransport::Impl::gather(bool on) {
  if (!on) turn_reads_ = false;
  if (state_ == State::up) session_->gather(on);
}

void MqttTransport::Impl::subscribe(const std::string& filter, int qos, SubscribeOptions options) {
  if (!is_up()) return;
  const Status sent = session_->subscribe(filter, qos, options);
  if (!sent.is_success()) return lose_soon(sent);
  wait();
}

// The sender is in the middle of a turn: the lost link is reported in a separate turn.
void MqttTransport::Impl::lose_soon(const Status& status) {
  if (session_->socket() < 0 && descriptor_.is_open()) descriptor_.release();
  asio::post(loop_, guarded([reason = status.message()](Impl& self) { self.fail(reason); }));
}

MqttTransport::MqttTransport(asio::io_context& loop, Log& log, MqttOptions options)
    : impl_(std::make_shared<Impl>(loop, log, std::move(options))) {}

MqttTransport::~MqttTransport() {
  impl_->handler = nullptr;
  impl_->on_turn = nullptr;
  impl_->disconnect(false);
}

void MqttTransport::set_handler(Handler* handler) { impl_->handler = handler; }
bool MqttTransport::is_up() const { return impl_->is_up(); }

std::string MqttTransport::local_address() const { return impl_->local_address(); }
void MqttTransport::send(const Message& message) { impl_->send(message); }
std::size_t MqttTransport::send_window() const { return impl_->send_window(); }
void MqttTransport::gather(bool on) { impl_->gather(on); }
void MqttTransport::subscribe(const std::string& filter, int qos, SubscribeOptions options) {
  impl_->subscribe(filter, qos, options);
}
void MqttTransport::set_on_turn(std::function<void()> on_turn) { impl_->on_turn = std::move(on_turn); }
void MqttTransport::set_will(Message will) { impl_->options().will = std::move(will); }
void MqttTransport::set_client_certificate(std::string cert, std::string key) {
  impl_->options().tls.cert = std::move(cert);
  impl_->options().tls.key = std::move(key);
}
void MqttTransport::start() { impl_->start(); }
void MqttTransport::disconnect() { impl_->disconnect(true); }

}  // namespace berth
