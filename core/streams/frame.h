// Frames of a stream between an operator and a device (transports/README.md, Streams): a line of JSON, and behind it,
// in a frame of data, the bytes as they are. Offsets and limits count the bytes of data of one direction that were
// sent, or may be sent, since the stream was opened: a frame that is lost is noticed, and one that comes twice does no
// harm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "core/streams/stream_query.h"

namespace berth {

inline constexpr std::size_t kStreamFrameBytes = 16 * 1024;  // of a payload; longer ones are dropped
inline constexpr std::size_t kStreamPartBytes = 15 * 1024;   // of data in one frame
// What an operator may give as credit at once: below it, a device could not send two frames.
inline constexpr std::uint64_t kStreamWindowMin = 2 * kStreamFrameBytes;
inline constexpr std::uint64_t kStreamWindowMax = 256 * 1024;
// Both sides say something at least this often, and end a stream of which they have heard nothing for so long.
inline constexpr std::uint64_t kStreamCreditBytes = 1024;  // credit is given again once so much was taken
inline constexpr Millis kStreamAliveMs = 5'000;
inline constexpr Millis kStreamSilenceMs = 20'000;

// An operator has so many streams to a device at once: their topics are named by these numbers (Topics::stream), so
// that a device can leave no more than that many retained messages at the broker for each operator.
inline constexpr int kStreamSlots = 8;

enum class StreamEnd {
  done,      // there is no more
  refused,   // it cannot be had: no such pod or container
  busy,      // the device has as many streams as it allows
  unknown,   // the device has no such stream: it has restarted, or ended it
  failed,    // the device could not go on
  occupied,  // another stream has this slot: take another slot
  // Found by the operator's side, never in a frame:
  lost,    // frames are missing
  silent,  // nothing was heard of the device
};

struct StreamFrame {
  enum class Type {
    open,    // operator: `query`, `count` is the first limit
    credit,  // operator: `count` is the new limit, `input` what it has sent itself; the sign of life as well
    resize,  // operator: `size` of its terminal
    close,   // operator
    opened,  // device: `run`, `container`, `containers`, `input`
    data,    // both: `count` is the offset of `bytes`, `last`; device: `errors`, `position` is what is behind them
    alive,   // device: `count` is the offset, `input`
    end      // device: `count` is the offset, `why`, `reason`, `exit_code`
  };
  Type type = Type::close;
  std::uint64_t count = 0;
  StreamQuery query = {};
  std::string container = {};
  std::vector<std::string> containers = {};  // of the pod, as far as they are known
  std::string position = {};
  std::string bytes = {};
  StreamEnd why = StreamEnd::done;
  std::string reason = {};            // for people
  std::string id = {};                // of the stream, in every frame of it
  std::uint64_t run = 0;              // another one each time that a stream of this id is opened
  std::uint64_t input = 0;            // the limit of what the operator may send; 0: this stream takes nothing
  bool errors = false;                // the bytes are of the standard error
  bool last = false;                  // no more bytes follow in this direction
  std::optional<int> exit_code = {};  // of the command, as a shell has it
  TerminalSize size = {};
  bool operator==(const StreamFrame&) const = default;
};

std::string encode(const StreamFrame& frame);
// The error names the member at fault. Frames longer than kStreamFrameBytes are errors.
Result<StreamFrame> decode_stream_frame(std::string_view payload);

}  // namespace berth
