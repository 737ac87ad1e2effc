#include "firmware-host/program.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

namespace berth {

int run_guarded(const char* name, const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s; exiting\n", name, error.what());
    return kExitSystem;
  }
}

int print(const char* name, const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) == 0;
  if (written) return 0;
  std::fprintf(stderr, "%s: cannot write to standard output: %s\n", name, std::strerror(errno));
  return kExitSystem;
}

}  // namespace berth
