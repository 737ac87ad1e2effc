#include "tests/bench/exchange_streams.h"

#include <algorithm>
#include <asio.hpp>
#include <chrono>
#include <utility>

#include "tests/bench/exchange_fleet.h"

namespace berth::bench {

namespace {

class EndlessLines final : public StreamSource {
 public:
  Part read(std::size_t bytes_max) override {
    constexpr std::string_view kLine =
        "2016-10-06T00:17:09.669000000Z stdout F a line of ordinary length, as programs write\n";
    Part part{.more = true};
    while (part.bytes.size() + kLine.size() <= bytes_max) part.bytes.append(kLine);
    part.position = "0123456789abcdef-123456";
    return part;
  }
};

}  // namespace

struct LoopTimers::Alarm {
  explicit Alarm(asio::steady_timer made) : timer(std::move(made)) {}
  asio::steady_timer timer;
};

LoopTimers::LoopTimers(asio::io_context& loop, std::function<void()> after)
    : alarm_(std::make_shared<Alarm>(asio::steady_timer(loop))), after_(std::move(after)) {}

LoopTimers::~LoopTimers() = default;

Millis LoopTimers::SteadyMillis::now() const {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

void LoopTimers::arm() {
  const auto next = timers_.next();
  if (!next || *next == armed_for_) return;
  armed_for_ = *next;
  alarm_->timer.expires_after(std::chrono::milliseconds(std::max<Millis>(*next - clock_.now(), 0)));
  // One that has expired already runs though it is cancelled.
  alarm_->timer.async_wait([this, alarm = std::weak_ptr(alarm_)](const asio::error_code& error) {
    if (error || alarm.expired()) return;
    armed_for_ = 0;
    if (timers_.run_due(clock_.now()) > 0) after_();
    arm();
  });
}

StreamOfLines::StreamOfLines(asio::io_context& loop, Transport& link, const std::string& node)
    : timers_(loop, [this] { server_.end_turn(); }),
      server_("default", node, timers_.clock(), link, timers_.timers(), *this, log_) {
  server_.on_link(true);
}

bool StreamOfLines::on_message(const Message& message) {
  if (!server_.on_message(message)) return false;
  server_.end_turn();
  timers_.arm();
  return true;
}

Result<OpenedStream> StreamOfLines::open(const StreamQuery&, std::function<void()>) {
  return OpenedStream{std::make_unique<EndlessLines>(), "main", {"main"}};
}

StreamReader::StreamReader(asio::io_context& loop, Log& log, MqttOptions options, std::atomic<std::uint64_t>& bytes)
    : timers_(loop, [] {}), link_(loop, log, std::move(options)), bytes_(bytes) {
  link_.set_handler(this);
  link_.start();
}

void StreamReader::read_from(int devices) {
  streams_.clear();
  for (int node = 0; node < devices; ++node) {
    streams_.push_back(std::make_unique<StreamClient>(
        Topics("default"),
        StreamClient::Address{"node-" + std::to_string(10'000 + node), "reader", "r-" + std::to_string(++opened_)},
        timers_.clock(), link_, timers_.timers(), *this));
    LogQuery query;
    query.uid = "bench";
    streams_.back()->open(query);
  }
  timers_.arm();
}

void StreamReader::on_message(const Message& message) {
  for (const auto& stream : streams_) stream->on_message(message);
  timers_.arm();
}

void StreamReader::on_end(StreamEnd, const std::string& reason) { fail("a stream ended: " + reason); }

}  // namespace berth::bench
