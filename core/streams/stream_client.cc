#include "core/streams/stream_client.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace berth {

namespace {

// An opening that is delivered later than this, since the device was not there say, would be of an operator who has
// given up.
constexpr int kOpeningExpiryS = 20;

}  // namespace

StreamClient::StreamClient(Topics topics, Address address, const Clock& clock, Transport& transport, Timers& timers,
                           Handler& handler)
    : topics_(std::move(topics)),
      address_(std::move(address)),
      clock_(clock),
      transport_(transport),
      timers_(timers),
      handler_(handler) {}

StreamClient::~StreamClient() {
  timers_.cancel(timer_);
  if (state_ == State::opening || state_ == State::open) send({.type = StreamFrame::Type::close}, 1);
}

void StreamClient::open(StreamQuery query) {
  query_ = std::move(query);
  state_ = State::opening;
  subscribe();
  ask();
}

// Several programs may have the same operator's name: each begins at another slot, and goes on where one is occupied.
void StreamClient::subscribe() {
  const unsigned first = std::accumulate(address_.id.begin(), address_.id.end(), 0u,
                                         [](unsigned sum, char c) { return sum + static_cast<unsigned char>(c); });
  const unsigned slot = (first + static_cast<unsigned>(slots_tried_)) % kStreamSlots;
  base_ = topics_.stream(address_.node, address_.operator_name, std::to_string(slot));
  transport_.subscribe(base_ + "/up", 0);
}

// Of QoS 1, so that a broker that does not allow it says so.
void StreamClient::ask() {
  send({.type = StreamFrame::Type::open, .count = kWindow, .query = query_}, 1);
  timer_ = timers_.at(clock_.now() + kOpenAgainMs, [this] { ask(); });
}

bool StreamClient::on_message(const Message& message) {
  if (message.topic != base_ + "/up") return false;
  if (state_ != State::opening && state_ != State::open) return true;
  const Result<StreamFrame> frame = decode_stream_frame(message.payload);
  if (frame && !frame->id.empty() && frame->id != address_.id) return false;  // of another stream in this slot
  if (frame) {
    heard_at_ = clock_.now();
    on_frame(*frame);
  } else {
    end(StreamEnd::failed, "the device sent a frame that cannot be read: " + frame.error().message());
  }
  return true;
}

void StreamClient::on_frame(const StreamFrame& frame) {
  switch (frame.type) {
    case StreamFrame::Type::opened: return on_opened(frame);
    case StreamFrame::Type::data: return on_data(frame);
    case StreamFrame::Type::alive:
      if (frame.count > received_) return end(StreamEnd::lost, "frames were lost");
      return take_limit(frame.input);
    case StreamFrame::Type::end:
      if (frame.why == StreamEnd::occupied && state_ == State::opening && ++slots_tried_ < kStreamSlots) {
        timers_.cancel(timer_);
        subscribe();
        return ask();
      }
      if (frame.count > received_) return end(StreamEnd::lost, "frames were lost");
      exit_code_ = frame.exit_code;
      return end(frame.why == StreamEnd::occupied ? StreamEnd::busy : frame.why, frame.reason);
    default: return end(StreamEnd::failed, "the device sent a frame of an operator");
  }
}

// Where an answer takes longer than kOpenAgainMs, it comes several times. Of another run it is another stream: the
// device has lost the one that data has come of.
void StreamClient::on_opened(const StreamFrame& frame) {
  if (state_ == State::open) {
    if (frame.run != run_) end(StreamEnd::lost, "the device has opened it again");
    return;
  }
  state_ = State::open;
  run_ = frame.run;
  timers_.cancel(timer_);
  timer_ = timers_.at(clock_.now() + kStreamAliveMs, [this] { tick(); });
  handler_.on_opened(frame.container, frame.containers);
  if (state_ == State::open) take_limit(frame.input);
}

void StreamClient::take_limit(std::uint64_t limit) {
  limit = std::min(limit, sent_ + kStreamWindowMax);  // a device may say anything
  if (limit <= input_limit_) return;
  input_limit_ = limit;
  if (state_ == State::open) handler_.on_writable();
}

void StreamClient::on_data(const StreamFrame& frame) {
  if (frame.count > received_) return end(StreamEnd::lost, "frames were lost");
  if (frame.count < received_) return;  // it came before
  if (frame.bytes.size() > limit_ - received_) return end(StreamEnd::failed, "the device sent more than was allowed");
  received_ += frame.bytes.size();
  if (frame.errors) {
    handler_.on_errors(frame.bytes);
  } else if (!frame.bytes.empty()) {
    handler_.on_data(frame.bytes, frame.position);
  }
  if (frame.last && state_ == State::open) handler_.on_last();
  if (state_ == State::open && received_ - held_ + kWindow - limit_ >= kStreamCreditBytes) give_credit();
}

void StreamClient::taken(std::uint64_t bytes) {
  held_ -= std::min(bytes, held_);
  if (state_ == State::open && received_ - held_ + kWindow - limit_ >= kStreamCreditBytes) give_credit();
}

void StreamClient::give_credit() {
  limit_ = received_ - held_ + kWindow;
  send({.type = StreamFrame::Type::credit, .count = limit_, .input = sent_}, 0);
}

void StreamClient::write(std::string_view bytes, bool last) {
  while (!bytes.empty() || last) {
    const std::string_view part = bytes.substr(0, kStreamPartBytes);
    bytes.remove_prefix(part.size());
    has_last_ = last && bytes.empty();
    send({.type = StreamFrame::Type::data, .count = sent_, .bytes = std::string(part), .last = has_last_}, 0);
    sent_ += part.size();
    if (has_last_) return;
  }
}

void StreamClient::resize(TerminalSize size) {
  if (state_ == State::open) send({.type = StreamFrame::Type::resize, .size = size}, 1);
}

void StreamClient::tick() {
  if (clock_.now() - heard_at_ >= kStreamSilenceMs) return end(StreamEnd::silent, "nothing was heard of the device");
  give_credit();
  timer_ = timers_.at(clock_.now() + kStreamAliveMs, [this] { tick(); });
}

void StreamClient::end(StreamEnd why, const std::string& reason) {
  const bool is_told = why == StreamEnd::lost || why == StreamEnd::silent || why == StreamEnd::failed;
  if (is_told) send({.type = StreamFrame::Type::close}, 1);
  state_ = State::ended;
  timers_.cancel(timer_);
  handler_.on_end(why, reason);
}

void StreamClient::send(StreamFrame frame, int qos) const {
  frame.id = address_.id;
  Message message;
  message.topic = base_ + "/down";
  message.payload = encode(frame);
  message.qos = qos;
  if (frame.type == StreamFrame::Type::open) message.expiry_s = kOpeningExpiryS;
  transport_.send(message);
}

}  // namespace berth
