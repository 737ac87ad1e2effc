#include "firmware-host/gateway/signing.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/api/names.h"
#include "core/json/json.h"
#include "firmware-host/gateway/certificate_authority.h"
#include "firmware-host/gateway/exit_codes.h"
#include "firmware-host/loop.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

constexpr std::size_t kBytesMax = 4 * kCertificateBytesMax;  // a text of that size is longer as JSON
constexpr Millis kSigningPatience = 60'000;
constexpr Millis kAgain = Millis{3600} * 1000;

IssuedCertificate refused(std::string why) { return {{}, std::move(why), kAgain}; }

std::string text_at(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

std::string encode_answer(const IssuedCertificate& issued) {
  Json json = Json::object();
  if (!issued.certificate.empty()) return json.set("certificate", issued.certificate).dump();
  return json.set("refusal", issued.refusal).set("retryMs", std::to_string(issued.retry_ms)).dump();
}

IssuedCertificate decode_answer(const std::string& text) {
  const Result<Json> json = Json::parse(text);
  if (!json || !json->is_object()) return refused("the signing service has not answered: see its log");
  const std::string certificate = text_at(*json, "certificate");
  if (is_pem(certificate, "CERTIFICATE") && certificate.size() <= kCertificateBytesMax) return {certificate, {}, 0};
  const std::string why = text_at(*json, "refusal");
  const Millis retry_ms = std::strtoll(text_at(*json, "retryMs").c_str(), nullptr, 10);
  return {{},
          why.empty() ? "the signing service has not answered: see its log" : why,
          std::max(retry_ms, kSigningPatience)};
}

// Until the other end has said everything.
std::string read_all(int in) {
  std::string text;
  pollfd readable{in, POLLIN, 0};
  while (text.size() <= kBytesMax && ::poll(&readable, 1, static_cast<int>(kSigningPatience)) > 0) {
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(in, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool write_all(int out, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(out, text.data(), text.size());
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

IssuedCertificate sign(const std::string& dir, const std::string& asked) {
  const Result<Json> json = asked.size() <= kBytesMax ? Json::parse(asked) : Status::error("too long");
  if (!json || !json->is_object()) return refused("expected an object with node and request");
  const std::string node = text_at(*json, "node");
  const std::string request = text_at(*json, "request");
  if (!is_valid_name(node)) return refused("node: expected the name of a node");
  if (request.size() > kCertificateBytesMax || !is_pem(request, "CERTIFICATE REQUEST")) {
    return refused("request: expected a certificate signing request, PEM");
  }
  const RealClock clock;
  Timers timers;
  EventLoop loop(clock, timers);
  CertificateAuthority authority(loop.context(), clock, timers, dir);
  std::optional<IssuedCertificate> outcome;
  authority.issue(node, request, [&](const IssuedCertificate& issued) {
    outcome = issued;
    loop.stop();
  });
  if (!outcome) (void)loop.run();
  return outcome.value_or(refused("stopped while it was signing"));
}

}  // namespace

int sign_one(const std::string& dir, int in, int out) {
  return write_all(out, encode_answer(sign(dir, read_all(in)))) ? gateway_exit::kOk : gateway_exit::kMachine;
}

// One connection: asks, and reads until the other end closes.
class SigningClient::Call : public std::enable_shared_from_this<Call> {
 public:
  Call(SigningClient& client, Done done)
      : client_(&client), socket_(client.loop_), done_(std::move(done)), text_(kBytesMax, '\0') {
    deadline_ =
        client.timers_.at(client.clock_.now() + 2 * kSigningPatience, [this] { end(refused("no answer in time")); });
  }

  void begin(std::string asked) {
    asked_ = std::move(asked);
    socket_.async_connect(client_->path_, [self = shared_from_this()](const asio::error_code& error) {
      if (!self->is_over(error)) self->write();
    });
  }
  void cancel() {
    if (client_ == nullptr) return;
    client_->timers_.cancel(deadline_);
    client_ = nullptr;
    asio::error_code ignored;
    socket_.close(ignored);
  }

 private:
  bool is_over(const asio::error_code& error) {
    if (client_ == nullptr) return true;
    if (error) end(refused(client_->path_ + ": " + error.message()));
    return static_cast<bool>(error);
  }
  void write() {
    asio::async_write(socket_, asio::buffer(asked_), [self = shared_from_this()](const asio::error_code& error, auto) {
      if (self->is_over(error)) return;
      asio::error_code ignored;
      self->socket_.shutdown(asio::local::stream_protocol::socket::shutdown_send, ignored);
      self->read();
    });
  }
  void read() {
    asio::async_read(socket_, asio::buffer(text_),
                     [self = shared_from_this()](const asio::error_code& error, std::size_t length) {
                       if (self->is_over(error == asio::error::eof ? asio::error_code() : error)) return;
                       self->end(decode_answer(self->text_.substr(0, length)));
                     });
  }
  // `done` may ask for the next one.
  void end(const IssuedCertificate& issued) {
    SigningClient& client = *client_;
    const std::shared_ptr<Call> self = shared_from_this();
    cancel();
    client.call_.reset();
    done_(issued);
  }

  SigningClient* client_;  // null: it is over
  asio::local::stream_protocol::socket socket_;
  const Done done_;
  std::string asked_, text_;
  Timers::Id deadline_ = 0;
};

SigningClient::SigningClient(asio::io_context& loop, const Clock& clock, Timers& timers, std::string path)
    : loop_(loop), clock_(clock), timers_(timers), path_(std::move(path)) {}

SigningClient::~SigningClient() {
  if (call_ != nullptr) call_->cancel();
}

void SigningClient::issue(const std::string& node, const std::string& request, Done done) {
  if (!std::filesystem::exists(path_)) {
    return done({{}, "this gateway does not hold the authority of the broker's certificates", kAgain * 24});
  }
  Json asked = Json::object();
  asked.set("node", node).set("request", request);
  call_ = std::make_shared<Call>(*this, std::move(done));
  call_->begin(asked.dump());
}

}  // namespace berth
