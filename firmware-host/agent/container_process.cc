#include "firmware-host/agent/container_process.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

namespace berth {

ContainerProcess::~ContainerProcess() {
  if (output_ >= 0) close(output_);
}

void ContainerProcess::read_output() {
  std::array<char, 8192> part;
  for (int taken = 0; output_ >= 0 && taken < kReadBytesMax;) {
    const ssize_t n = read(output_, part.data(), part.size());
    if (n < 0) return;
    if (n == 0) {
      close(output_);
      output_ = -1;
      return;
    }
    log_.append(std::string_view(part.data(), static_cast<std::size_t>(n)));
    taken += static_cast<int>(n);
  }
}

// It may have left its group.
void ContainerProcess::kill_group(int signal) const {
  if (kill(-pid_, signal) != 0 || signal == SIGKILL) kill(pid_, signal);
}

}  // namespace berth
