// StreamServer: the device's side of all its streams. It reads from their sources what operators have given credit for,
// and sends ahead of what they have taken no more than a stream's share of kInFlightBytes: that bounds the memory at
// the broker and what an answer of the handshake has to wait for, and an operator who takes nothing does not hold up
// the streams of others. Nor does it send more than kBytesPerSecond: on a small machine, or a slow link, the handshake
// has most of both. What operators send is bounded in the same way: as much as a source has taken, and a window, at the
// same rate. Streams are not stored: they end with the connection, the operator's silence, or the program. An opening
// that comes again, late, opens none: a command runs once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/handshake/topics.h"
#include "core/log.h"
#include "core/streams/frame.h"
#include "core/streams/rate.h"
#include "core/streams/stream_source.h"
#include "core/timers.h"
#include "core/transport.h"

namespace berth {

class StreamServer {
 public:
  static constexpr std::size_t kStreamsMax = 8;
  static constexpr std::uint64_t kInFlightBytes = 64 * 1024;     // shared by the streams that are open
  static constexpr std::size_t kTurnBytes = 32 * 1024;           // sent in one turn, and ahead of the rate
  static constexpr std::uint64_t kBytesPerSecond = 1024 * 1024;  // in each direction
  static constexpr std::uint64_t kInputWindow = 64 * 1024;       // of each stream
  static constexpr std::size_t kEndedMax = 64;                   // ids of earlier streams that are known

  // All must outlive it.
  StreamServer(std::string fleet, const std::string& node, const Clock& clock, Transport& transport, Timers& timers,
               StreamSources& sources, Log& log);
  ~StreamServer();
  StreamServer(const StreamServer&) = delete;
  StreamServer& operator=(const StreamServer&) = delete;

  // Subscribes; or ends all streams.
  void on_link(bool up);
  // False: the message is of no stream.
  bool on_message(const Message& message);
  // Sends what may be sent. Called at the end of each turn, behind everything else that it sends.
  void end_turn();
  std::size_t size() const { return streams_.size(); }

 private:
  struct Stream {
    std::string operator_name;
    std::string id;
    std::uint64_t run = 0;
    std::string container;
    std::vector<std::string> containers;
    std::unique_ptr<StreamSource> source;
    std::uint64_t window = 0;  // the first limit
    std::uint64_t limit = 0;
    std::uint64_t sent = 0;
    Millis heard_at = 0;
    Millis told_at = 0;
    bool has_more = true;  // of the source, as far as is known
    bool takes_input = false;
    std::uint64_t input_limit = 0;
    std::uint64_t input = 0;  // received
  };
  using Streams = std::map<std::string, Stream>;  // by what their topics begin with

  void on_frame(const std::string& base, const std::string& operator_name, const StreamFrame& frame);
  void open(const std::string& base, const std::string& operator_name, const StreamFrame& frame);
  void log_opened(const Stream& stream, const StreamQuery& query) const;
  void confirm(const std::string& base, const Stream& stream) const;
  void give_credit(Streams::iterator stream, const StreamFrame& frame);
  void take_input(Streams::iterator stream, const StreamFrame& frame);
  std::uint64_t share() const;
  std::uint64_t part_bytes() const;
  bool may_send(const Stream& stream) const;
  void send_parts();
  void grant_input();
  void wake_again();
  // Bytes sent; 0: its source had none. May end the stream.
  std::size_t send_part(Streams::iterator stream);
  void refuse(const std::string& base, const std::string& id, StreamEnd why, const std::string& reason) const;
  void end(Streams::iterator stream, const StreamSource::Part& part);
  void end(Streams::iterator stream, StreamEnd why, const std::string& reason);
  void forget(Streams::iterator stream, std::string_view why);
  void send(const std::string& base, const std::string& id, StreamFrame frame) const;
  void tick();
  void arm_tick();

  const std::string base_;  // of all topics
  const Clock& clock_;
  Transport& transport_;
  Timers& timers_;
  StreamSources& sources_;
  Log& log_;
  Streams streams_;
  std::string next_;  // the stream whose turn it is; or the first one behind it
  Rate output_{kBytesPerSecond, kTurnBytes};
  Rate input_{kBytesPerSecond, kTurnBytes};
  std::uint64_t run_ = 0;          // the last one
  std::deque<std::string> ended_;  // ids, the last one at the end
  Timers::Id again_ = 0;
  Timers::Id tick_ = 0;
};

}  // namespace berth
