// LimitedLog: keeps what one device can cause from filling the log. Warnings, and records whose first field is a node,
// are limited for each pair of event and source; the source is the node, or the first levels of the topic. The last one
// within a window says that more are left out, and the next window begins with how many they were.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/clock.h"
#include "core/log.h"

namespace berth {

class LimitedLog final : public Log {
 public:
  static constexpr Millis kWindowMs = 60'000;
  static constexpr std::size_t kRecords = 30;     // in a window, of one event and one source
  static constexpr std::size_t kSources = 2'000;  // known at a time; of further ones, an event's records count together

  // Both outlive it.
  LimitedLog(Log& to, const Clock& clock);

  void write(Level level, std::string_view event, std::initializer_list<Field> fields) override;

 private:
  struct Count {
    Millis since = 0;
    std::size_t written = 0;
    std::size_t left_out = 0;
  };

  Count& count_of(const std::string& event, const std::string& source);
  void drop_old();

  Log& to_;
  const Clock& clock_;
  std::unordered_map<std::string, Count> counts_;  // by event and source
};

}  // namespace berth
