// The environment of a gateway or an agent that is fed with sequences of messages.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/log.h"
#include "core/timers.h"
#include "core/transport.h"
#include "tests/one_message.h"
#include "tests/unit/hand_clock.h"

namespace berth::fuzz {

class NullLog final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

class RecordingTransport final : public Transport {
 public:
  void set_handler(Handler* handler) override { handler_ = handler; }
  bool is_up() const override { return up; }
  void send(const Message& message) override {
    for (Message& each : taken_apart(message)) {
      if (sent.size() < 10'000) sent.push_back(std::move(each));
    }
  }
  void subscribe(const std::string&, int, SubscribeOptions) override {}
  bool up = false;
  std::vector<Message> sent;

 private:
  Handler* handler_ = nullptr;
};

// Advances the clock timer by timer; limited, since a timer may set the next one without delay.
inline void advance(HandClock& clock, Timers& timers, Millis ms, const auto& turn) {
  const Millis end = clock.now_ms + ms;
  for (int run = 0; run < 2'000 && timers.next() && *timers.next() <= end; ++run) {
    clock.now_ms = std::max(clock.now_ms, *timers.next());
    timers.run_due(clock.now_ms);
    turn();
  }
  clock.now_ms = end;
}

// A sequence has one event per line: a letter for its type, then arguments separated by blanks.
constexpr std::size_t kLinesMax = 48;

inline std::string_view take(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

// The number in the text as milliseconds, at most ten minutes.
inline Millis millis_of(std::string_view text) {
  Millis value = 0;
  for (const char digit : text.substr(0, 6)) value = digit >= '0' && digit <= '9' ? value * 10 + digit - '0' : value;
  return std::min<Millis>(value, 600'000);
}

}  // namespace berth::fuzz
