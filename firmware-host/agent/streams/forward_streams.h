// ForwardStreams: TCP connections of operators to ports of pods, in the pod's own network, on its loopback address as
// under a kubelet.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"
#include "core/streams/stream_source.h"

namespace asio {
class io_context;
}

namespace berth {

class ForwardStreams {
 public:
  // `pods`: the directory of the pods' directories. All must outlive it and the sources.
  ForwardStreams(std::string pods, asio::io_context& context) : pods_(std::move(pods)), context_(context) {}

  // As StreamSources::open().
  Result<OpenedStream> open(const ForwardQuery& query, std::function<void()> ready);

 private:
  const std::string pods_;
  asio::io_context& context_;
};

}  // namespace berth
