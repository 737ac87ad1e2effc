#include "firmware-host/agent/project_quotas.h"

#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "firmware-host/agent/mount_table.h"

namespace berth {

namespace {

static_assert(ProjectQuotas::kUnit == QIF_DQBLKSIZE);

Status kernel_error(const char* call) { return Status::error(std::string(call) + ": " + std::strerror(errno)); }

// Before Linux 5.14 a file system is named by its device.
long quota_of_device(int directory, int command, std::uint32_t project, void* argument) {
  struct stat found{};
  if (fstat(directory, &found) != 0) return -1;
  const std::string device = mounted_device(major(found.st_dev), minor(found.st_dev));
  if (device.empty()) {
    errno = ENODEV;
    return -1;
  }
  return syscall(SYS_quotactl, command, device.c_str(), project, argument);
}

bool quota(int directory, int request, std::uint32_t project, void* argument) {
  const int command = QCMD(request, PRJQUOTA);
  if (syscall(SYS_quotactl_fd, directory, command, project, argument) == 0) return true;
  // A file system without quotas says so too; then the device says it once more.
  return errno == ENOSYS && quota_of_device(directory, command, project, argument) == 0;
}

}  // namespace

Status KernelQuotas::check(int directory) {
  fs_quota_stat state{};
  if (!quota(directory, Q_XGETQSTAT, 0, &state) || (state.qs_flags & FS_QUOTA_PDQ_ENFD) == 0) {
    return Status::error(
        "its file system holds projects to no limits; mount it with prjquota (ext4 needs "
        "mkfs.ext4 -O quota,project -E quotatype=prjquota)");
  }
  // Of a project, nobody else may ask.
  if (const Result<Use> asked = use(directory, 1); !asked) {
    return Status::error(asked.error().message() + "; limits can be set with CAP_SYS_ADMIN only");
  }
  return Status::ok();
}

Result<std::uint32_t> KernelQuotas::project(int directory) {
  fsxattr attributes{};
  if (ioctl(directory, FS_IOC_FSGETXATTR, &attributes) != 0) return kernel_error("FS_IOC_FSGETXATTR");
  return attributes.fsx_projid;
}

Status KernelQuotas::set_project(int directory, std::uint32_t project) {
  fsxattr attributes{};
  if (ioctl(directory, FS_IOC_FSGETXATTR, &attributes) != 0) return kernel_error("FS_IOC_FSGETXATTR");
  attributes.fsx_projid = project;
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  return ioctl(directory, FS_IOC_FSSETXATTR, &attributes) == 0 ? Status::ok() : kernel_error("FS_IOC_FSSETXATTR");
}

Result<ProjectQuotas::Use> KernelQuotas::use(int directory, std::uint32_t project) {
  if_dqblk found{};
  if (quota(directory, Q_GETQUOTA, project, &found)) return Use{found.dqb_bhardlimit * kUnit, found.dqb_curinodes};
  if (errno == ENOENT) return Use{};  // XFS, of one that nothing has
  return kernel_error("Q_GETQUOTA");
}

Status KernelQuotas::set_limit(int directory, std::uint32_t project, std::uint64_t bytes) {
  if_dqblk wanted{};
  wanted.dqb_bhardlimit = bytes / kUnit;
  wanted.dqb_valid = QIF_BLIMITS;
  return quota(directory, Q_SETQUOTA, project, &wanted) ? Status::ok() : kernel_error("Q_SETQUOTA");
}

}  // namespace berth
