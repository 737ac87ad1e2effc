// ProjectQuotas interface: the kernel's projects (quotactl(2), ioctl_xfs_fsgetxattr(2)). A directory has a project,
// what is made in it inherits it, and the file system counts what all files of a project take. Of ext4, XFS and F2FS.
// KernelQuotas: the kernel itself.
#pragma once

#include <cstdint>

#include "core/status.h"

namespace berth {

class ProjectQuotas {
 public:
  static constexpr std::uint64_t kUnit = 1024;  // bytes, of limits; whatever the file system's blocks

  struct Use {
    std::uint64_t limit = 0;   // bytes; 0: none
    std::uint64_t inodes = 0;  // of all files and directories of the project
  };

  virtual ~ProjectQuotas() = default;
  // All take an open directory; an error is the kernel's. Project 0 stands for none.
  // Whether its file system holds projects to their limits, and this process may set them; the error says why not.
  virtual Status check(int directory) = 0;
  virtual Result<std::uint32_t> project(int directory) = 0;
  // For what is made there from now on too.
  virtual Status set_project(int directory, std::uint32_t project) = 0;
  virtual Result<Use> use(int directory, std::uint32_t project) = 0;
  // `bytes`: a multiple of kUnit; 0: no limit.
  virtual Status set_limit(int directory, std::uint32_t project, std::uint64_t bytes) = 0;
};

class KernelQuotas final : public ProjectQuotas {
 public:
  Status check(int directory) override;
  Result<std::uint32_t> project(int directory) override;
  Status set_project(int directory, std::uint32_t project) override;
  Result<Use> use(int directory, std::uint32_t project) override;
  Status set_limit(int directory, std::uint32_t project, std::uint64_t bytes) override;
};

}  // namespace berth
