#include "firmware-host/agent/container_process.h"

#include <unistd.h>

#include <array>
#include <string_view>

namespace berth {

ContainerProcess::~ContainerProcess() {
  for (const int output : outputs_) {
    if (output >= 0) close(output);
  }
}

void ContainerProcess::read_output() {
  for (const OutputStream stream : {OutputStream::standard, OutputStream::errors}) read_output(stream);
}

void ContainerProcess::read_output(OutputStream stream) {
  int& output = outputs_[static_cast<std::size_t>(stream)];
  std::array<char, 8192> part;
  for (int taken = 0; output >= 0 && taken < kReadBytesMax;) {
    const ssize_t n = read(output, part.data(), part.size());
    if (n < 0) return;
    if (n == 0) {
      close(output);
      output = -1;
      return;
    }
    log_.append(stream, std::string_view(part.data(), static_cast<std::size_t>(n)));
    taken += static_cast<int>(n);
  }
}

}  // namespace berth
