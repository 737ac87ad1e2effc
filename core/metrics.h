// Metrics: counters, gauges and histograms with labels, and their text form for Prometheus (exposition format 0.0.4).
// Names, labels, buckets and meaning of scheduler_* are kube-scheduler's (pkg/scheduler/metrics/metrics.go); berth_*
// are Berth's own. Counting allocates nothing once a set of label values has been seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

class Counter {
 public:
  explicit Counter(const std::vector<double>& /*bounds*/ = {}) {}
  void add(std::uint64_t amount = 1) { value_ += amount; }
  // For values counted elsewhere; must never decrease.
  void set(std::uint64_t value) { value_ = value; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

class Gauge {
 public:
  explicit Gauge(const std::vector<double>& /*bounds*/ = {}) {}
  void set(std::int64_t value) { value_ = value; }
  std::int64_t value() const { return value_; }

 private:
  std::int64_t value_ = 0;
};

class Histogram {
 public:
  // `bounds`: upper bounds of the buckets, ascending, without +Inf. Must outlive the histogram.
  explicit Histogram(const std::vector<double>& bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  // Per bucket, not cumulative; the last one is beyond all bounds.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  const std::vector<double>& bounds_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

// Both from Clock::now_us().
inline double seconds_between(std::int64_t from_us, std::int64_t to_us) {
  return static_cast<double>(to_us - from_us) * 1e-6;
}

// start, start x factor, start x factor^2, ...
std::vector<double> exponential_buckets(double start, double factor, int count);

// One metric: a T for each set of label values used so far.
template <class T>
class Family {
 public:
  using Values = std::initializer_list<std::string_view>;

  // Name and help must be string literals.
  Family(std::string_view name, std::string_view help, std::vector<std::string> labels = {},
         std::vector<double> bounds = {})
      : name_(name), help_(help), labels_(std::move(labels)), bounds_(std::move(bounds)) {}
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  // One value for each label, in the order of the labels.
  T& at(Values values = {}) {
    auto found = members_.find(values);
    if (found != members_.end()) return found->second;
    return members_.try_emplace(std::vector<std::string>(values.begin(), values.end()), bounds_).first->second;
  }
  // Removes all members: for gauges that are recomputed.
  void clear() { members_.clear(); }
  void render(std::string& text) const;

 private:
  struct Less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                          [](std::string_view x, std::string_view y) { return x < y; });
    }
  };
  std::string_view name_, help_;
  std::vector<std::string> labels_;
  std::vector<double> bounds_;
  std::map<std::vector<std::string>, T, Less> members_;
};

struct Metrics {
  // kube-scheduler's. Durations in seconds. result: scheduled, unschedulable, error.
  Family<Counter> schedule_attempts{
      "scheduler_schedule_attempts_total", "Attempts to schedule a pod, by result", {"profile", "result"}};
  Family<Histogram> attempt_duration{"scheduler_scheduling_attempt_duration_seconds",
                                     "Time from the pop of a pod to its binding or failure",
                                     {"profile", "result"},
                                     exponential_buckets(0.001, 2, 15)};
  Family<Histogram> algorithm_duration{"scheduler_scheduling_algorithm_duration_seconds",
                                       "Time to choose a node",
                                       {},
                                       exponential_buckets(0.001, 2, 15)};
  Family<Histogram> sli_duration{"scheduler_pod_scheduling_sli_duration_seconds",
                                 "Time from the first attempt of a pod to its binding",
                                 {"attempts"},
                                 exponential_buckets(0.01, 2, 20)};
  Family<Histogram> attempts{
      "scheduler_pod_scheduling_attempts", "Attempts needed by pods that were bound", {}, exponential_buckets(1, 2, 5)};
  Family<Histogram> point_duration{"scheduler_framework_extension_point_duration_seconds",
                                   "Time of all plugins of one extension point",
                                   {"extension_point", "status", "profile"},
                                   exponential_buckets(0.0001, 2, 12)};
  Family<Histogram> plugin_duration{"scheduler_plugin_execution_duration_seconds",
                                    "Time of one plugin at one extension point, in every tenth cycle; Filter and Score "
                                    "only when all nodes are evaluated",
                                    {"plugin", "extension_point", "status"},
                                    exponential_buckets(0.00001, 1.5, 20)};
  Family<Counter> plugin_evaluations{"scheduler_plugin_evaluation_total",
                                     "Calls of plugins at PreFilter, Filter, PreScore and Score",
                                     {"plugin", "extension_point", "profile"}};
  Family<Counter> incoming_pods{
      "scheduler_queue_incoming_pods_total", "Pods added to a part of the queue, by event", {"queue", "event"}};
  Family<Histogram> hint_duration{
      "scheduler_queueing_hint_execution_duration_seconds",
      "Calls of a plugin's queueing hint, which tells whether an event may make the pod schedulable",
      {"plugin", "event", "hint"},
      exponential_buckets(0.00001, 1.5, 20)};
  Family<Gauge> inflight_events{"scheduler_inflight_events", "Events kept for pods being scheduled", {"event"}};
  Family<Gauge> pending_pods{"scheduler_pending_pods", "Pods in each part of the queue", {"queue"}};
  Family<Gauge> unschedulable_pods{
      "scheduler_unschedulable_pods", "Waiting pods that a plugin rejected", {"plugin", "profile"}};
  Family<Gauge> cache_size{"scheduler_cache_size", "Objects in the cache, by type", {"type"}};
  Family<Histogram> permit_wait{"scheduler_permit_wait_duration_seconds",
                                "Time waited at Permit, by result",
                                {"result"},
                                exponential_buckets(0.001, 2, 15)};
  Family<Counter> preemption_attempts{"scheduler_preemption_attempts_total", "Preemption attempts"};
  Family<Histogram> preemption_victims{
      "scheduler_preemption_victims", "Pods evicted per preemption", {}, exponential_buckets(1, 2, 7)};

  // Berth's own.
  Family<Gauge> nodes{"berth_nodes", "Nodes, by state: ready, not_ready, expected", {"state"}};
  Family<Gauge> rows{"berth_rows", "Binding rows, by phase", {"phase"}};
  Family<Gauge> releases{"berth_releases", "Release-list entries without an answer yet"};
  Family<Gauge> objects{"berth_objects", "Objects held, by kind", {"kind"}};
  Family<Gauge> ready{"berth_ready", "1 when the gateway places pods, else 0"};
  Family<Counter> messages{"berth_messages_total", "MQTT messages, by direction: in, out", {"direction"}};
  Family<Counter> store_commits{"berth_store_commits_total", "Transactions written"};
  Family<Counter> store_bytes{"berth_store_bytes_written_total", "Bytes written to flash by the store"};
  Family<Gauge> resident_memory{"process_resident_memory_bytes", "Resident memory of the process"};
  Family<Gauge> memory_limit{"berth_memory_limit_bytes",
                             "Resident memory above which new objects are refused; 0: no limit"};
  Family<Gauge> scheduling_cache{"berth_scheduling_cache_bytes",
                                 "Memory of what is kept of classes of pods for later decisions, about"};
  Family<Gauge> accepting{"berth_accepting", "1 when new objects are accepted, 0 when store or memory is full"};
  Family<Counter> connections{"berth_broker_connections_total", "Connections to the broker that were established"};
  Family<Histogram> turn_duration{
      "berth_turn_duration_seconds",
      "Processor time of one turn of the loop: messages, deadlines, decisions, commit, sending; waits excluded",
      {},
      {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.2, 0.5, 1, 2, 5}};
  Family<Histogram> commit_wait{"berth_commit_wait_seconds",
                                "Time that the commits of one turn waited for disk syncs",
                                {},
                                exponential_buckets(0.0001, 2, 18)};

  // All metrics that have at least one member, in text format.
  std::string text() const;
};

}  // namespace berth
