// Recorder: runs the scheduler of a world attempt by attempt, and keeps what each cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/world.h"

namespace berth::bench {

class Recorder {
 public:
  // What a measurement is called in its output.
  struct Title {
    std::string workload;
    std::size_t nodes = 0;
    std::string path;        // "fast" or "plain"
    std::string undeclared;  // see undeclared.h
  };
  Recorder(World& world, bool instructions) : world_(world), instructions_(instructions), meter_(instructions) {}

  // Runs one attempt and, if it chose a node, the binding. False: no pod is to be tried now.
  bool step();
  // Forgets what was recorded; the loop begins now.
  void begin(std::size_t pods_expected);
  // The loop ends now, or stands still until it goes on.
  void end() { loop_ += meter_.read() - began_; }
  void go_on() { began_ = meter_.read(); }

  std::size_t bound() const { return bound_; }
  std::int64_t elapsed_ns() const { return loop_.ns + now_ns() - began_.ns; }
  // One line of JSON for the scope "cycle" and one for "loop". `count_attempts`: pods per second are attempts per
  // second, as in a storm of pods that mostly fit nowhere.
  void print(const Title& title, bool count_attempts = false) const;

 private:
  void note(std::string_view decided);
  void line(const Title& title, const char* scope, const Spent& spent, std::size_t pods) const;
  double span_us(std::size_t at) const { return at < spans_.size() ? static_cast<double>(spans_[at]) / 1000 : 0; }

  World& world_;
  bool instructions_;
  Meter meter_;
  Spent began_;
  Spent attempts_;  // pop, decision, assume, Reserve and Permit
  Spent loop_;
  std::vector<std::int64_t> spans_;               // of the decisions that found a node
  std::map<std::string, std::int64_t> spent_ns_;  // by uid: time of attempts that ended in a preemption
  std::size_t bound_ = 0;
  std::size_t tried_ = 0;
  std::int64_t longest_part_ns_ = 0;               // of what is prepared between decisions
  std::int64_t longest_attempt_ns_ = 0;            // of those that fail too
  std::uint64_t decisions_ = 0xcbf29ce484222325u;  // FNV-1a of all of them, from the first pod on
};

}  // namespace berth::bench
