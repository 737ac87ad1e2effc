#include "firmware-host/agent/containers/runtime_version.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <sstream>

#include "core/api/features.h"
#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/output_pipe.h"
#include "firmware-host/agent/spawn.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

constexpr std::size_t kMostOutput = 4096;  // of a program that says more than its version

// What comes until the end, or until there is enough, or time is over.
std::string output_within(int file, Millis patience_ms) {
  const RealClock clock;
  const Millis until = clock.now() + patience_ms;
  std::string text;
  for (Millis left = patience_ms; left > 0 && text.size() < kMostOutput; left = until - clock.now()) {
    pollfd readable{file, POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(left)) <= 0) continue;
    std::array<char, 512> part;
    const ssize_t got = read(file, part.data(), part.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Its first word with a digit in front and a dot in it; runc and crun have one of their specification further down.
std::string version_in(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool is_number = word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string::npos;
    if (is_number && is_feature_name(word)) return word;
  }
  return {};
}

}  // namespace

RuntimeVersion runtime_version(const std::string& program, Millis patience_ms) {
  RuntimeVersion runtime{program.substr(program.rfind('/') + 1), {}};
  OutputPipe output;
  if (!output.open()) return runtime;
  const Result<pid_t> started = spawn(program, {program, "--version"}, nullptr, {-1, output.writing(), -1});
  if (!started) return runtime;
  const Descriptor reading(output.take_reading());
  output.close_writing();
  runtime.version = version_in(output_within(reading.get(), patience_ms));
  kill(*started, SIGKILL);  // it may not come to an end
  while (waitpid(*started, nullptr, 0) < 0 && errno == EINTR) continue;
  return runtime;
}

std::string feature_of(const RuntimeVersion& runtime) {
  const std::string feature = "runtimes/" + runtime.name;
  const std::string with_version = feature + "-" + runtime.version;
  return runtime.version.empty() || !is_feature_name(with_version) ? feature : with_version;
}

std::string container_runtime_version(const RuntimeVersion& runtime) {
  return runtime.name + "://" + (runtime.version.empty() ? "Unknown" : runtime.version);
}

}  // namespace berth
