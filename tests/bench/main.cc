// berth_bench WORKLOAD.json NODES fast|plain [SECONDS [instructions] [score|normalized|filter]]: runs the workload on a
// fleet of this size, measuring for at most this many seconds, and prints one line of JSON per scope. The last argument
// adds a plugin that declares nothing. tests/bench/run calls it.
#include <cstdio>
#include <map>
#include <string>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "tests/bench/measure.h"
#include "tests/bench/workload.h"
#include "tests/bench/world.h"

namespace berth::bench {

namespace {

class Run {
 public:
  Run(const Workload& workload, std::size_t nodes, std::string path, double seconds, bool instructions,
      std::string undeclared)
      : workload_(workload),
        nodes_(nodes),
        path_(std::move(path)),
        limit_ns_(static_cast<std::int64_t>(seconds * 1e9)),
        instructions_(instructions),
        undeclared_(std::move(undeclared)),
        meter_(instructions),
        world_(path_ == "fast", undeclared_) {}

  // Creates the fleet with all pods that run before the measurement.
  Status prepare() {
    for (std::size_t i = 0; i < nodes_; ++i) {
      const auto node = World::make_node(workload_.object("node", i));
      if (!node) return node.error();
      world_.add_node(*node);
    }
    if (const Json object = workload_.object("storage_class", 0); !object.is_null()) {
      if (Status status = world_.add_storage_class(object); !status.is_success()) return status;
    }
    for (std::size_t i = 0; i < workload_.count("volumes", nodes_); ++i) {
      if (Status status = world_.add_volume(workload_.object("volume", i)); !status.is_success()) return status;
    }
    const std::size_t per_node = workload_.count("pods_per_node", nodes_);
    for (std::size_t i = 0; i < nodes_ * per_node; ++i) {
      auto pod = world_.make_pod(workload_.object("node_pod", i));
      if (!pod) return pod.error();
      world_.place_pod(*pod, "node-" + std::to_string(i / per_node));
    }
    std::vector<std::shared_ptr<const Pod>> pods;
    if (Status made = make("initial", 0, workload_.count("initial_pods", nodes_), pods); !made.is_success()) {
      return made;
    }
    for (const auto& pod : pods) world_.queue_pod(pod);
    while (step()) {
    }
    const std::size_t measured = workload_.count("measured_pods", nodes_);
    if (Status made = make("measured", pods.size(), measured, measured_); !made.is_success()) return made;
    return make_changes(measured);
  }

  // Queues the measured pods, all at once or one by one, and runs the scheduler until all are bound or time is up.
  void measure() {
    const std::size_t churn_every = workload_.count("churn_every", nodes_);
    spans_.reserve(measured_.size() * 4);
    const Spent begin = meter_.read();
    const bool one_by_one = workload_.count("one_by_one", nodes_) > 0;
    std::size_t queued = one_by_one ? 0 : measured_.size();
    for (std::size_t i = 0; i < queued; ++i) world_.queue_pod(measured_[i]);
    attempts_ = {};
    spans_.clear();
    bound_ = 0;
    while (bound_ < measured_.size() && now_ns() - begin.ns < limit_ns_) {
      if (one_by_one && bound_ == queued) world_.queue_pod(measured_[queued++]);
      if (!step() && !world_.wait_for_queue()) break;
      if (churn_every > 0 && bound_ / churn_every > churned_) world_.replace_node(churned_++);
      change_nodes();
    }
    loop_ = meter_.read() - begin;
  }

  void print() const {
    line("cycle", attempts_);
    line("loop", loop_);
  }

 private:
  Status make(const char* what, std::size_t first, std::size_t count, std::vector<std::shared_ptr<const Pod>>& pods) {
    for (std::size_t i = first; i < first + count; ++i) {
      if (const Json claim = workload_.object("claim", i); !claim.is_null() && what == std::string("measured")) {
        if (Status status = world_.add_claim(claim); !status.is_success()) return status;
      }
      auto pod = world_.make_pod(workload_.object(what, i));
      if (!pod) return pod.error();
      pods.push_back(*pod);
    }
    return {};
  }

  // Prepares the node updates that happen while this many pods are bound.
  Status make_changes(std::size_t pods) {
    const std::size_t percent = workload_.count("changed_nodes_percent", nodes_);
    for (std::size_t i = 0; i < pods * nodes_ * percent / 100'000; ++i) {
      const auto node = World::make_node(workload_.object("changed_node", i % nodes_));
      if (!node) return node.error();
      changes_.push_back(*node);
    }
    return {};
  }

  // Applies the updates that are due; they are spread evenly over the pods.
  void change_nodes() {
    while (changed_ < changes_.size() && (2 * changed_ + 1) * measured_.size() <= 2 * bound_ * changes_.size()) {
      world_.change_node(changed_, changes_[changed_]);
      ++changed_;
    }
  }

  // Runs one attempt and, if it chose a node, the binding. False: the queue is empty for now.
  bool step() {
    const Spent begin = meter_.read();
    const Scheduler::Attempt attempt = world_.scheduler().schedule_one();
    const Spent spent = meter_.read() - begin;
    const std::int64_t span = spent.ns;
    if (!attempt.popped) return false;
    attempts_ += spent;
    // A preemptor's earlier attempts count towards its decision.
    if (const std::string preemptor = world_.remove_victims(); !preemptor.empty()) {
      spent_ns_[preemptor] += span;
      return true;
    }
    if (attempt.binding == nullptr) return true;
    spans_.push_back(span + spent_ns_[attempt.binding->queued.pod->uid()]);
    if (world_.finish(*attempt.binding)) ++bound_;
    return true;
  }

  void line(const char* scope, const Spent& spent) const {
    const double pods = static_cast<double>(bound_);
    const auto per_pod = [&](auto amount) { return bound_ == 0 ? 0 : static_cast<double>(amount) / pods; };
    std::printf(
        "{\"workload\": \"%s\", \"nodes\": %zu, \"path\": \"%s\", \"undeclared\": \"%s\", \"scope\": \"%s\", \"pods\": "
        "%zu, "
        "\"pods_per_second\": %.1f, \"first_us\": %.1f, \"second_us\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
        "\"max_us\": %.1f, "
        "\"allocations_per_pod\": %.1f, \"resident_kib\": %lld",
        workload_.name().c_str(), nodes_, path_.c_str(), undeclared_.c_str(), scope, bound_,
        spent.ns == 0 ? 0 : pods * 1e9 / static_cast<double>(spent.ns), span_us(0), span_us(1),
        quantile_us(spans_, 0.5), quantile_us(spans_, 0.99), quantile_us(spans_, 1), per_pod(spent.allocations),
        static_cast<long long>(resident_kib()));
    if (meter_.counts_instructions()) {
      std::printf(", \"instructions_per_pod\": %.0f", per_pod(spent.instructions));
    } else if (instructions_) {
      std::printf(", \"instructions_per_pod\": null");
    }
    std::printf("}\n");
  }

  double span_us(std::size_t at) const { return at < spans_.size() ? static_cast<double>(spans_[at]) / 1000 : 0; }

  const Workload& workload_;
  std::size_t nodes_;
  std::string path_;
  std::int64_t limit_ns_;
  bool instructions_;
  std::string undeclared_;
  Meter meter_;
  World world_;
  std::vector<std::shared_ptr<const Pod>> measured_;
  std::vector<std::int64_t> spans_;
  std::map<std::string, std::int64_t> spent_ns_;  // by uid: time of attempts that ended in a preemption
  Spent attempts_;
  Spent loop_;
  std::size_t bound_ = 0;
  std::size_t churned_ = 0;
  std::vector<std::shared_ptr<const Node>> changes_;
  std::size_t changed_ = 0;  // number of updates applied
};

}  // namespace

}  // namespace berth::bench

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(
        stderr,
        "usage: berth_bench WORKLOAD.json NODES fast|plain [SECONDS [instructions] [score|normalized|filter]]\n");
    return 2;
  }
  const auto workload = berth::bench::Workload::read(argv[1]);
  if (!workload) {
    std::fprintf(stderr, "berth_bench: %s\n", workload.error().message().c_str());
    return 1;
  }
  bool instructions = false;
  std::string undeclared;
  for (int i = 5; i < argc; ++i) {
    if (std::string(argv[i]) == "instructions") {
      instructions = true;
    } else {
      undeclared = argv[i];
    }
  }
  berth::bench::Run run(*workload, std::stoul(argv[2]), argv[3], argc > 4 ? std::stod(argv[4]) : 12, instructions,
                        undeclared);
  if (const berth::Status ready = run.prepare(); !ready.is_success()) {
    std::fprintf(stderr, "berth_bench: %s: %s\n", argv[1], ready.message().c_str());
    return 1;
  }
  run.measure();
  run.print();
  return 0;
}
