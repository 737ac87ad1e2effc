// PoolFiles: core's PoolDirectories in files. A volume is a directory below its pool's root, of mode 0700 and owned by
// the agent's user, as its pods are. How much a pod writes there is not limited: what volumes may hold is accounted by
// what their claims ask for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/agent/pool_directories.h"
#include "core/api/volume_pool.h"

namespace berth {

class PoolFiles final : public PoolDirectories {
 public:
  // The roots are there, and nothing but a directory. The error names the setting.
  static Status check(const std::vector<VolumePool>& pools);

  Status make(const std::string& root, const std::string& volume, std::int64_t bytes) override;
  Result<bool> remove(const std::string& root, const std::string& volume, int entries) override;
  // But for lost+found. What cannot be read is left out.
  std::vector<std::string> list(const std::string& root) override;
};

}  // namespace berth
