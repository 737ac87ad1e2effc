// ReadRest: when a client leaves its socket unread for a moment. Where thousands of devices send heartbeats, hardly two
// of them arrive together, and to wake up for each costs far more than to read it. So after a turn of nothing but
// messages for which nobody waits, the next ones are gathered for a while: only where they come densely, and not while
// others come too (of QoS 1, or below MqttOptions::awaited_below), or so many bytes that the broker could run out of
// room for more, and drop them. Where many come in each rest the rests become longer: what a wake-up costs is mostly
// that memory has gone cold.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace berth {

class ReadRest {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  // After a message that somebody waits for nothing waits for so long: it is often the first of an exchange.
  static constexpr std::chrono::milliseconds kAwake{100};
  static constexpr std::size_t kManyBytes = 16 << 10;
  static constexpr int kManyMessages = 4;  // in one rest: the next one is twice as long
  static constexpr int kLongest = 4;       // times the first one; that long an exchange may wait to begin

  // 0: never rests.
  explicit ReadRest(Duration rest) : rest_(rest) {}

  // So many messages with `bytes` of payload were delivered; `urgent`: somebody waits for one of them. Returns how long
  // to leave the socket unread.
  Duration after(Time now, bool urgent, std::size_t bytes, int messages) {
    if (urgent || bytes > kManyBytes) urgent_ = now;
    const bool is_dense = last_ && now - *last_ <= rest_ + std::max(rest_, rested_);
    last_ = now;
    const bool is_awake = urgent_ && now - *urgent_ < kAwake;
    const Duration next = messages < kManyMessages ? rest_ : std::clamp(2 * rested_, rest_, kLongest * rest_);
    rested_ = is_dense && !is_awake ? next : Duration::zero();
    return rested_;
  }

 private:
  const Duration rest_;
  Duration rested_{};           // before the delivery
  std::optional<Time> last_;    // a delivery
  std::optional<Time> urgent_;  // one after which the next is read at once
};

}  // namespace berth
