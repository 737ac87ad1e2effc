#include "tests/bench/socket_bytes.h"

#include <fcntl.h>
#include <linux/tcp.h>  // <netinet/tcp.h> lacks the byte counts
#include <sys/resource.h>
#include <sys/socket.h>

namespace berth::bench {

std::set<int> open_files() {
  std::set<int> files;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return files;
  for (int file = 0; file < static_cast<int>(limit.rlim_cur); ++file) {
    if (fcntl(file, F_GETFD) >= 0) files.insert(file);
  }
  return files;
}

std::uint64_t bytes_on(const std::set<int>& files) {
  constexpr int kTcp = 6;
  std::uint64_t bytes = 0;
  for (const int file : files) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(file, kTcp, TCP_INFO, &info, &size) != 0) continue;
    bytes += info.tcpi_bytes_acked + info.tcpi_bytes_received;
  }
  return bytes;
}

}  // namespace berth::bench
