// LogStreams: the logs of this device's pods as streams (core/streams). It finds a pod's files by its uid: in the
// directory of the pod while it has a slot, and in that of kept output afterwards (output_files.h).
#pragma once

#include <functional>
#include <string>

#include "core/clock.h"
#include "core/streams/stream_source.h"
#include "core/timers.h"

namespace asio {
class io_context;
}

namespace berth {

class LogStreams {
 public:
  // `pods`: the directory of the pods' directories; `output`: likewise, of kept output. All must outlive it and the
  // sources.
  LogStreams(std::string pods, std::string output, asio::io_context& context, const Clock& clock, Timers& timers);

  // As StreamSources::open().
  Result<OpenedStream> open(const LogQuery& query, std::function<void()> ready);

 private:
  // Empty: nothing is there of the pod.
  std::string directory_of(const std::string& uid) const;

  const std::string pods_;
  const std::string output_;
  asio::io_context& context_;
  const Clock& clock_;
  Timers& timers_;
};

}  // namespace berth
