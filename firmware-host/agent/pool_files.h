// PoolFiles: core's PoolDirectories in files. A volume is a directory below its pool's root, of mode 0700 and owned by
// the agent's user, as its pods are. Where the file system of a pool can, what pods write there is limited to what the
// volume's claim asks for (volume_limits.h); otherwise that is accounted only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/agent/pool_directories.h"
#include "core/api/volume_pool.h"
#include "core/log.h"
#include "firmware-host/agent/project_quotas.h"
#include "firmware-host/pool_quota.h"

namespace berth {

class PoolFiles final : public PoolDirectories {
 public:
  PoolFiles(ProjectQuotas& quotas, Log& log) : quotas_(quotas), log_(log) {}

  // Checks that the roots are there, and nothing but a directory, and finds out which pools are limited. `wanted`: one
  // for each pool. `mount_points`: the roots that count only while something is mounted there; nothing needs to be yet.
  // The error names the setting.
  Status open(std::vector<VolumePool>& pools, const std::vector<PoolQuota>& wanted,
              const std::vector<std::string>& mount_points = {});

  Status make(const std::string& root, const std::string& volume, std::int64_t bytes) override;
  Result<bool> is_free(const std::string& root, const std::string& volume) override;
  Status limit(const std::string& root, const std::string& volume, std::int64_t bytes) override;
  Result<bool> remove(const std::string& root, const std::string& volume, int entries) override;
  // But for lost+found. What cannot be read is left out.
  std::vector<std::string> list(const std::string& root) override;

 private:
  Status check_quota(int root);
  Result<bool> is_limited(const std::string& root, int directory);
  Status take_empty(int root, const std::string& path, const char* volume, bool is_limited);
  Status end_limit_of(int root, const std::string& volume);

  ProjectQuotas& quotas_;
  Log& log_;
  std::set<std::string> limited_;               // the roots of pools whose volumes are limited
  std::map<std::string, PoolQuota> undecided_;  // those whose disk has not been seen yet
  std::set<std::string> mount_points_;
};

}  // namespace berth
