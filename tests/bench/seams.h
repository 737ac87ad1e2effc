// What a benchmark puts around a gateway or scheduler in its own process: a log of warnings, a transport that keeps
// what is sent, and the end of a run that cannot measure.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "core/status.h"
#include "core/transport.h"

namespace berth::bench {

[[noreturn]] inline void cannot_measure(const std::string& what) {
  std::printf("could not measure: %s\n0 passed, 1 failed\n", what.c_str());
  std::exit(1);
}

inline void require(const Status& status, const char* what) {
  if (!status.is_success()) cannot_measure(std::string(what) + ": " + status.message());
}

class WarningLog final : public Log {
 public:
  void write(Level level, std::string_view event, std::initializer_list<Field> fields) override {
    if (level < Level::warn) return;
    std::printf("  log: %s", std::string(event).c_str());
    for (const Field& field : fields) std::printf(" %s=%s", std::string(field.key).c_str(), field.value.c_str());
    std::printf("\n");
  }
};

class RecordingTransport final : public Transport {
 public:
  void set_handler(Handler*) override {}
  bool is_up() const override { return up; }
  void send(const Message& message) override { sent.push_back(message); }
  void subscribe(const std::string&, int, SubscribeOptions) override {}
  bool up = false;
  std::vector<Message> sent;
};

}  // namespace berth::bench
