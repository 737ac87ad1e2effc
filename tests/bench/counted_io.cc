#include "tests/bench/counted_io.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace berth::bench {

namespace {
DiskUse use;
}  // namespace

DiskUse disk_use() { return use; }

}  // namespace berth::bench

// These definitions take precedence over the C library's, so SQLite calls them.
extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  berth::bench::use.bytes += count;
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

extern "C" int fdatasync(int fd) {
  ++berth::bench::use.syncs;
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

extern "C" int fsync(int fd) {
  ++berth::bench::use.syncs;
  return static_cast<int>(syscall(SYS_fsync, fd));
}
