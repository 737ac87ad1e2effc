// PodDisk: what a pod has on the disk of the device: the writable layers and logs of its containers, and its emptyDirs
// (pkg/kubelet/stats, ephemeral storage; images and volumes of claims do not count).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/volumes/tree_usage.h"

namespace berth {

struct PodDisk {
  std::map<std::string, std::int64_t> containers;  // bytes by name: writable layer and logs
  std::map<std::string, std::int64_t> empty_dirs;  // bytes by name of the volume
  std::int64_t other = 0;                          // bytes: what plain processes have written where they start
  std::int64_t inodes = 0;
  std::string problem;      // why a part can never be measured: it is nested too deeply; its bytes are missing
  bool is_partial = false;  // a part could not be looked at this time, or not to its end; its bytes are missing

  std::int64_t total() const;
};

// One measurement, in steps, so that a loop can do other things in between.
class PodDiskMeter {
 public:
  // `directory`: of the pod, outside of its keeper's mounts. `spec`: of its manifest.
  PodDiskMeter(std::string directory, const Json& spec);

  // Looks at this many entries at most; none: there are more. After a result it is at its end.
  std::optional<PodDisk> step(int entries);
  // What it has seen, as partial. It is at its end.
  PodDisk give_up();

 private:
  using Part = std::pair<std::string, std::int64_t*>;  // a directory, and where its bytes are added
  void add_logs();
  void add(const std::string& directory, std::int64_t& to);

  const std::string directory_;
  std::unique_ptr<PodDisk> disk_;  // whose parts are pointed to
  std::vector<Part> parts_;        // those that are left
  std::unique_ptr<UsageMeter> meter_;
};

}  // namespace berth
