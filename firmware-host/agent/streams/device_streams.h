// DeviceStreams: opens each stream by what it is for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/streams/stream_source.h"
#include "firmware-host/agent/streams/exec_streams.h"
#include "firmware-host/agent/streams/forward_streams.h"
#include "firmware-host/agent/streams/load_streams.h"
#include "firmware-host/agent/streams/log_streams.h"
#include "firmware-host/agent/streams/usage_streams.h"

namespace berth {

class DeviceStreams final : public StreamSources {
 public:
  // They must outlive this.
  DeviceStreams(LogStreams& logs, ExecStreams& exec, ForwardStreams& forward, LoadStreams& load, UsageStreams& usage)
      : logs_(logs), exec_(exec), forward_(forward), load_(load), usage_(usage) {}

  Result<OpenedStream> open(const StreamQuery& query, std::function<void()> ready) override;
  // Of the node's state.
  static std::vector<std::string> names() { return {"exec", "forward", "load", "logs", "usage"}; }

 private:
  LogStreams& logs_;
  ExecStreams& exec_;
  ForwardStreams& forward_;
  LoadStreams& load_;
  UsageStreams& usage_;
};

}  // namespace berth
