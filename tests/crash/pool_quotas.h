// PoolQuotas: the projects of a PoolDisk's file system, as a kernel counts them. What is changed is durable once
// anything is synced, in order, as with a journal; a power cut takes the rest back, or the last of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "firmware-host/agent/project_quotas.h"
#include "tests/crash/disk.h"

namespace berth::crash {

class PoolQuotas final : public ProjectQuotas {
 public:
  // `root`: of the pool.
  explicit PoolQuotas(std::function<std::string()> root) : root_(std::move(root)) {}

  void reset(bool keeps_limits);
  void sync() { unsynced_.clear(); }
  void lose_power(const Fault& cut);
  // Without a fault; for what was there before.
  void put(const std::string& directory, std::uint32_t project, std::uint64_t limit);
  // Bytes; 0: none.
  std::uint64_t limit_of(const std::string& directory) const;
  // Of projects that no directory in the pool has.
  std::vector<std::uint32_t> needless_limits() const;

  Status check(int) override { return Status::ok(); }
  Result<std::uint32_t> project(int directory) override;
  Status set_project(int directory, std::uint32_t project) override;
  Result<Use> use(int directory, std::uint32_t project) override;
  Status set_limit(int directory, std::uint32_t project, std::uint64_t bytes) override;

 private:
  std::uint64_t count(std::uint32_t project) const;
  Status change(std::function<void()> carry_out, std::function<void()> take_back);

  std::function<std::string()> root_;
  bool keeps_limits_ = false;  // a deliberate fault: no limit ends
  std::map<ino_t, std::uint32_t> projects_;
  std::map<std::uint32_t, std::uint64_t> limits_;
  std::vector<std::function<void()>> unsynced_;  // each takes one change back; in order
};

}  // namespace berth::crash
