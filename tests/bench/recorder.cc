#include "tests/bench/recorder.h"

#include <algorithm>
#include <cstdio>

#include "core/api/pod.h"

namespace berth::bench {

// Two runs with equal sums decided alike: which pod got which node or had to wait, in the same order.
void Recorder::note(std::string_view decided) {
  for (const char each : decided) decisions_ = (decisions_ ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
  decisions_ = (decisions_ ^ 0xff) * 0x100000001b3u;
}

// What is prepared, as a gateway does it between decisions, is part of a cycle, but of no decision.
bool Recorder::step() {
  Spent begin = meter_.read();
  while (world_.scheduler().prepare()) {
    const Spent prepared = meter_.read() - begin;
    attempts_ += prepared;
    longest_part_ns_ = std::max(longest_part_ns_, prepared.ns);
    begin = meter_.read();
  }
  const Scheduler::Attempt attempt = world_.scheduler().schedule_one();
  const Spent spent = meter_.read() - begin;
  const std::int64_t span = spent.ns;
  if (!attempt.popped) return false;
  attempts_ += spent;
  longest_attempt_ns_ = std::max(longest_attempt_ns_, span);
  ++tried_;
  // A preemptor's earlier attempts count towards its decision.
  if (const std::string preemptor = world_.remove_victims(); !preemptor.empty()) {
    spent_ns_[preemptor] += span;
    note(preemptor);
    return true;
  }
  if (attempt.binding == nullptr) {
    note("");
    return true;
  }
  note(attempt.binding->queued.pod->uid());
  note(attempt.binding->node);
  spans_.push_back(span + spent_ns_[attempt.binding->queued.pod->uid()]);
  if (world_.finish(*attempt.binding)) ++bound_;
  return true;
}

void Recorder::begin(std::size_t pods_expected) {
  attempts_ = {};
  loop_ = {};
  spans_.clear();
  spans_.reserve(pods_expected);
  bound_ = 0;
  tried_ = 0;
  longest_part_ns_ = 0;
  longest_attempt_ns_ = 0;
  began_ = meter_.read();
}

void Recorder::print(const Title& title, bool count_attempts) const {
  const std::size_t pods = count_attempts ? tried_ : bound_;
  line(title, "cycle", attempts_, pods);
  line(title, "loop", loop_, pods);
}

void Recorder::line(const Title& title, const char* scope, const Spent& spent, std::size_t counted) const {
  const double pods = static_cast<double>(counted);
  const auto per_pod = [&](auto amount) { return counted == 0 ? 0 : static_cast<double>(amount) / pods; };
  std::printf(
      "{\"workload\": \"%s\", \"nodes\": %zu, \"path\": \"%s\", \"undeclared\": \"%s\", \"scope\": \"%s\", \"pods\": "
      "%zu, "
      "\"pods_per_second\": %.1f, \"first_us\": %.1f, \"second_us\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
      "\"max_us\": %.1f, \"attempt_max_us\": %.1f, \"prepare_max_us\": %.1f, "
      "\"allocations_per_pod\": %.1f, \"resident_kib\": %lld, \"decisions\": \"%016llx\"",
      title.workload.c_str(), title.nodes, title.path.c_str(), title.undeclared.c_str(), scope, counted,
      spent.ns == 0 ? 0 : pods * 1e9 / static_cast<double>(spent.ns), span_us(0), span_us(1), quantile_us(spans_, 0.5),
      quantile_us(spans_, 0.99), quantile_us(spans_, 1), static_cast<double>(longest_attempt_ns_) / 1000,
      static_cast<double>(longest_part_ns_) / 1000, per_pod(spent.allocations), static_cast<long long>(resident_kib()),
      static_cast<unsigned long long>(decisions_));
  if (meter_.counts_instructions()) {
    std::printf(", \"instructions_per_pod\": %.0f", per_pod(spent.instructions));
  } else if (instructions_) {
    std::printf(", \"instructions_per_pod\": null");
  }
  std::printf("}\n");
}

}  // namespace berth::bench
