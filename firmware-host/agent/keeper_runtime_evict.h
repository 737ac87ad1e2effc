// KeeperRuntime::Evictions: pods that the device ends by itself (eviction_record.h), and those that it does not take.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "firmware-host/agent/eviction_record.h"
#include "firmware-host/agent/exit_collector.h"
#include "firmware-host/agent/keeper_runtime.h"

namespace berth {

class KeeperRuntime::Evictions {
 public:
  using Visit = std::function<void(const Tag& tag, const std::string& directory, const std::string& manifest)>;
  using Gate = std::function<Status(const std::string& pod)>;

  Evictions(KeeperRuntime& runtime, asio::io_context& context) : runtime_(runtime), sweepers_(context) {}

  // Pods that run, or wait to be run again, and are not evicted.
  void for_each_running(const Visit& visit) const;
  // Nothing of it runs any more, or is being stopped.
  bool has_ended(const Tag& tag) const;
  // Ends the pod for good; on_status() tells it as finished. After an error nothing was decided.
  Status evict(const Tag& tag, const Eviction& eviction);
  // Whether a pod is being ended.
  bool is_any() const;
  // Whether files of pods that have ended are being deleted.
  bool is_removing() const { return !sweepers_.is_empty(); }
  // What pods that have ended have written, but for their output.
  void remove_files_of_finished();
  // Pods are refused with its error from now on, by prepare() and check().
  void set_gate(Gate gate) { gate_ = std::move(gate); }

  // For the runtime. Success: the pod's manifest may pass.
  Status admit(const std::string& pod) const { return gate_ ? gate_(pod) : Status::ok(); }
  // Goes on with an eviction that an earlier agent may have decided. An error: that cannot be told now.
  Status resume(Pod& pod);
  void remove_files(const std::string& directory);

 private:
  KeeperRuntime& runtime_;
  Gate gate_;  // none: all are taken
  ExitCollector sweepers_;
};

}  // namespace berth
