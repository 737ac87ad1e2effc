#include "core/streams/stream_server.h"

#include <algorithm>
#include <utility>

#include "core/api/names.h"
#include "core/handshake/fields.h"

namespace berth {

namespace {

using Type = StreamFrame::Type;

constexpr std::string_view kDown = "/down";
constexpr char kLastSlot = '0' + kStreamSlots - 1;
static_assert(kStreamSlots <= 10);

}  // namespace

StreamServer::StreamServer(std::string fleet, const std::string& node, const Clock& clock, Transport& transport,
                           Timers& timers, StreamSources& sources, Log& log)
    : base_(Topics(std::move(fleet)).streams(node)),
      clock_(clock),
      transport_(transport),
      timers_(timers),
      sources_(sources),
      log_(log) {}

StreamServer::~StreamServer() {
  timers_.cancel(again_);
  timers_.cancel(tick_);
}

void StreamServer::on_link(bool up) {
  if (up) {
    transport_.subscribe(base_ + "+/+/down", 1);
  } else {
    while (!streams_.empty()) forget(streams_.begin(), "the connection was lost");
  }
}

bool StreamServer::on_message(const Message& message) {
  if (!message.topic.starts_with(base_) || !message.topic.ends_with(kDown)) return false;
  if (message.retain) return true;  // of a stream that is long over
  const std::string base = message.topic.substr(0, message.topic.size() - kDown.size());
  const std::size_t slash = base.find('/', base_.size());
  const std::string operator_name = base.substr(base_.size(), slash - base_.size());
  if (slash == std::string::npos || !is_valid_name(operator_name) || !is_valid_id(base.substr(slash + 1))) return true;
  const Result<StreamFrame> frame = decode_stream_frame(message.payload);
  if (!frame) {
    refuse(base, {}, StreamEnd::refused, frame.error().message());
  } else if (const std::string slot = base.substr(slash + 1); slot.size() > 1 || slot[0] < '0' || slot[0] > kLastSlot) {
    refuse(base, frame->id, StreamEnd::refused, "slot: must be from 0 to 7, got " + slot + ": upgrade berthctl");
  } else if (frame->id.empty()) {
    refuse(base, {}, StreamEnd::refused, "id: missing: upgrade berthctl");
  } else {
    on_frame(base, operator_name, *frame);
  }
  return true;
}

void StreamServer::on_frame(const std::string& base, const std::string& operator_name, const StreamFrame& frame) {
  if (frame.type == Type::open) return open(base, operator_name, frame);
  const auto stream = streams_.find(base);
  if (stream == streams_.end() || stream->second.id != frame.id) {
    if (frame.type == Type::close) return;
    return refuse(base, frame.id, StreamEnd::unknown, "no such stream: open another one");
  }
  stream->second.heard_at = clock_.now();
  switch (frame.type) {
    case Type::credit: return give_credit(stream, frame);
    case Type::data: return take_input(stream, frame);
    case Type::resize: return stream->second.source->resize(frame.size);
    case Type::close: return forget(stream, "closed");
    default: return end(stream, StreamEnd::refused, "type: this frame is sent by devices only");
  }
}

void StreamServer::open(const std::string& base, const std::string& operator_name, const StreamFrame& frame) {
  if (const auto known = streams_.find(base); known != streams_.end()) {
    if (known->second.id != frame.id && streams_.size() < kStreamsMax) {
      return refuse(base, frame.id, StreamEnd::occupied, "another stream of this operator has this slot");
    }
    if (known->second.id == frame.id) {
      known->second.heard_at = clock_.now();  // the answer was lost, or is on its way
      return confirm(base, known->second);
    }
  }
  if (std::find(ended_.begin(), ended_.end(), frame.id) != ended_.end()) {
    return refuse(base, frame.id, StreamEnd::unknown, "it has ended: open another one");
  }
  if (frame.count < kStreamWindowMin || frame.count > kStreamWindowMax) {
    return refuse(base, frame.id, StreamEnd::refused,
                  "limit: must be from " + std::to_string(kStreamWindowMin) + " to " +
                      std::to_string(kStreamWindowMax) + ", got " + std::to_string(frame.count));
  }
  if (streams_.size() >= kStreamsMax) {
    return refuse(base, frame.id, StreamEnd::busy,
                  "this device serves at most " + std::to_string(kStreamsMax) + " streams at once: end one of them");
  }
  const auto ready = [this, base] {
    if (const auto stream = streams_.find(base); stream != streams_.end()) stream->second.has_more = true;
  };
  Result<OpenedStream> opened = sources_.open(frame.query, ready);
  if (!opened) return refuse(base, frame.id, StreamEnd::refused, opened.error().message());
  Stream& stream = streams_[base];
  stream.operator_name = operator_name;
  stream.id = frame.id;
  stream.run = run_ = std::max(run_ + 1, static_cast<std::uint64_t>(std::max<Millis>(clock_.now(), 0)));
  stream.container = std::move(opened->container);
  stream.containers = std::move(opened->containers);
  stream.source = std::move(opened->source);
  stream.window = stream.limit = frame.count;
  stream.takes_input = opened->takes_input;
  if (stream.takes_input) stream.input_limit = kInputWindow;
  stream.heard_at = stream.told_at = clock_.now();
  log_opened(stream, frame.query);
  confirm(base, stream);
  arm_tick();
}

// What an operator does on a device is seen there: of a command its program, since arguments may be secrets.
void StreamServer::log_opened(const Stream& stream, const StreamQuery& query) const {
  const auto tell = [&](const std::string& kind, const std::string& pod, const std::string& detail) {
    log_.write(Level::info, "stream opened",
               {{"operator", stream.operator_name}, {"kind", kind}, {"pod", pod}, {"detail", detail}});
  };
  if (const auto* logs = std::get_if<LogQuery>(&query)) {
    tell("logs", logs->pod, stream.container);
  } else if (const auto* exec = std::get_if<ExecQuery>(&query)) {
    tell("exec", exec->pod, stream.container + ": " + exec->command.front());
  } else if (const auto* forward = std::get_if<ForwardQuery>(&query)) {
    tell("forward", forward->pod, std::to_string(forward->port));
  } else if (const auto* load = std::get_if<LoadQuery>(&query)) {
    tell("load", {}, load->name);
  } else {
    tell("usage", {}, {});
  }
}

void StreamServer::confirm(const std::string& base, const Stream& stream) const {
  send(base, stream.id,
       {.type = Type::opened,
        .container = stream.container,
        .containers = stream.containers,
        .run = stream.run,
        .input = stream.input_limit});
}

// Nobody can have taken what was not sent: whoever says so means an earlier stream of that id.
void StreamServer::give_credit(Streams::iterator found, const StreamFrame& frame) {
  Stream& stream = found->second;
  if (frame.count > stream.sent + stream.window) {
    return end(found, StreamEnd::unknown,
               "limit: must be at most " + std::to_string(stream.sent + stream.window) + ", got " +
                   std::to_string(frame.count));
  }
  if (frame.input > stream.input) return end(found, StreamEnd::failed, "frames of the operator were lost");
  stream.limit = std::max(stream.limit, frame.count);
}

void StreamServer::take_input(Streams::iterator found, const StreamFrame& frame) {
  Stream& stream = found->second;
  if (!stream.takes_input) return end(found, StreamEnd::refused, "type: this stream takes no data");
  if (frame.count > stream.input) return end(found, StreamEnd::failed, "frames of the operator were lost");
  if (frame.count < stream.input) return;  // it came before
  if (frame.bytes.size() > stream.input_limit - stream.input) {
    return end(found, StreamEnd::refused,
               "offset: more than was allowed: at most " + std::to_string(stream.input_limit));
  }
  stream.input += frame.bytes.size();
  stream.source->write(frame.bytes, frame.last);
}

// Of kInFlightBytes, of a stream that has something to send or to be taken.
std::uint64_t StreamServer::share() const {
  const auto sending = std::count_if(streams_.begin(), streams_.end(), [](const auto& each) {
    const Stream& stream = each.second;
    return stream.has_more || stream.sent > stream.limit - stream.window;
  });
  return kInFlightBytes / static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(sending, 1));
}

// What is left of a share while no credit has come for its last bytes is enough for a part.
std::uint64_t StreamServer::part_bytes() const {
  return std::min<std::uint64_t>(kStreamPartBytes, share() - kStreamCreditBytes);
}

bool StreamServer::may_send(const Stream& stream) const {
  const std::uint64_t not_taken = stream.sent - (stream.limit - stream.window);
  return stream.has_more && stream.limit - stream.sent >= part_bytes() && not_taken + part_bytes() <= share();
}

void StreamServer::end_turn() {
  if (streams_.empty()) return;
  send_parts();
  grant_input();
  wake_again();
}

void StreamServer::send_parts() {
  output_.fill(clock_.now());
  // A source may take its time without giving any bytes: a round without any is the last one of the turn.
  for (std::size_t in_round = 1; in_round > 0 && output_.bytes() >= kStreamPartBytes;) {
    in_round = 0;
    auto stream = streams_.lower_bound(next_);
    for (std::size_t left = streams_.size(); left > 0 && output_.bytes() >= kStreamPartBytes; --left) {
      if (stream == streams_.end()) stream = streams_.begin();
      const auto current = stream++;
      if (!may_send(current->second)) continue;
      const std::size_t sent = send_part(current);
      in_round += sent;
      output_.take(sent);
      next_ = stream == streams_.end() ? std::string() : stream->first;
    }
  }
}

// What a source has taken may be sent again, as far as the rate allows it.
void StreamServer::grant_input() {
  input_.fill(clock_.now());
  for (auto& [base, stream] : streams_) {
    if (!stream.takes_input) continue;
    const std::uint64_t limit = stream.source->taken() + kInputWindow;
    const std::uint64_t due = limit - std::min(limit, stream.input_limit);
    const bool is_worth_it = due >= kInputWindow / 4 || (due > 0 && stream.source->taken() == stream.input);
    const std::uint64_t granted = is_worth_it ? std::min(due, input_.bytes()) : 0;
    if (granted == 0) continue;
    input_.take(granted);
    stream.input_limit += granted;
    send(base, stream.id, {.type = Type::alive, .count = stream.sent, .input = stream.input_limit});
  }
}

// Another turn: at once, behind what has come meanwhile, or when the rate allows it.
void StreamServer::wake_again() {
  timers_.cancel(again_);
  again_ = 0;
  std::optional<Millis> wait;
  for (const auto& [base, stream] : streams_) {
    if (may_send(stream)) wait = std::min(wait.value_or(1000), output_.wait_for(kStreamPartBytes));
    if (stream.takes_input && stream.source->taken() + kInputWindow >= stream.input_limit + kInputWindow / 4) {
      wait = std::min(wait.value_or(1000), input_.wait_for(kStreamWindowMin / 4));
    }
  }
  if (wait) again_ = timers_.at(clock_.now() + *wait, [this] { again_ = 0; });
}

std::size_t StreamServer::send_part(Streams::iterator current) {
  Stream& stream = current->second;
  const auto most = static_cast<std::size_t>(part_bytes());
  stream.has_more = false;  // `ready` may be called meanwhile
  StreamSource::Part part = stream.source->read(most);
  stream.has_more = stream.has_more || part.more;
  const std::size_t size = part.bytes.size();
  if (size > 0 || part.last) {
    send(current->first, stream.id,
         {.type = Type::data,
          .count = stream.sent,
          .position = std::move(part.position),
          .bytes = std::move(part.bytes),
          .errors = part.errors,
          .last = part.last});
    stream.sent += size;
    stream.told_at = clock_.now();
  }
  if (part.end) end(current, part);
  return size;
}

void StreamServer::refuse(const std::string& base, const std::string& id, StreamEnd why,
                          const std::string& reason) const {
  send(base, id, {.type = Type::end, .why = why, .reason = reason});
}

void StreamServer::end(Streams::iterator stream, StreamEnd why, const std::string& reason) {
  end(stream, StreamSource::Part{.end = why, .reason = reason});
}

void StreamServer::end(Streams::iterator stream, const StreamSource::Part& part) {
  send(stream->first, stream->second.id,
       {.type = Type::end,
        .count = stream->second.sent,
        .why = part.end.value_or(StreamEnd::done),
        .reason = part.reason,
        .exit_code = part.exit_code});
  forget(stream, part.reason.empty() ? "all was sent" : part.reason);
}

void StreamServer::forget(Streams::iterator stream, std::string_view why) {
  log_.write(Level::info, "stream ended",
             {{"operator", stream->second.operator_name},
              {"bytes", std::to_string(stream->second.sent)},
              {"why", std::string(why)}});
  ended_.push_back(stream->second.id);
  if (ended_.size() > kEndedMax) ended_.pop_front();
  streams_.erase(stream);
}

// What is lost is noticed by its offset, and a later frame of the same kind replaces it: QoS 0.
void StreamServer::send(const std::string& base, const std::string& id, StreamFrame frame) const {
  frame.id = id;
  Message message;
  message.topic = base + "/up";
  message.payload = encode(frame);
  message.qos = 0;
  transport_.send(message);
}

void StreamServer::arm_tick() {
  if (tick_ != 0 || streams_.empty()) return;
  tick_ = timers_.at(clock_.now() + kStreamAliveMs, [this] {
    tick_ = 0;
    tick();
  });
}

void StreamServer::tick() {
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    const auto current = stream++;
    if (clock_.now() - current->second.heard_at >= kStreamSilenceMs) {
      forget(current, "nothing was heard of the operator");
    } else if (clock_.now() - current->second.told_at >= kStreamAliveMs) {
      current->second.told_at = clock_.now();
      send(current->first, current->second.id,
           {.type = Type::alive, .count = current->second.sent, .input = current->second.input_limit});
    }
  }
  arm_tick();
}

}  // namespace berth
