#include "firmware-host/agent/streams/device_streams.h"

#include <utility>

namespace berth {

Result<OpenedStream> DeviceStreams::open(const StreamQuery& query, std::function<void()> ready) {
  if (const auto* logs = std::get_if<LogQuery>(&query)) return logs_.open(*logs, std::move(ready));
  if (const auto* exec = std::get_if<ExecQuery>(&query)) return exec_.open(*exec, std::move(ready));
  if (const auto* forward = std::get_if<ForwardQuery>(&query)) return forward_.open(*forward, std::move(ready));
  if (const auto* load = std::get_if<LoadQuery>(&query)) return load_.open(*load, std::move(ready));
  return usage_.open(std::move(ready));
}

}  // namespace berth
