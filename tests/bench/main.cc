// berth_bench WORKLOAD.json NODES fast|plain [SECONDS [instructions] [score|normalized|filter] [pods=N]]: runs the
// workload on a fleet of this size, measuring for at most this many seconds, and prints one line of JSON per scope. The
// kind of a plugin adds one that declares nothing. With pods=N the workload's pods are bound, deleted and bound again,
// until N were; deleting is not measured. berth_bench TRACE.jsonl fast|plain replays a trace. tests/bench/run calls it.
#include <algorithm>
#include <cstdio>
#include <string>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "tests/bench/recorder.h"
#include "tests/bench/trace.h"
#include "tests/bench/workload.h"
#include "tests/bench/world.h"

namespace berth::bench {

namespace {

class Run {
 public:
  Run(const Workload& workload, std::size_t nodes, const std::string& path, double seconds, bool instructions,
      const std::string& undeclared)
      : workload_(workload),
        nodes_(nodes),
        title_{workload.name(), nodes, path, undeclared},
        limit_ns_(static_cast<std::int64_t>(seconds * 1e9)),
        world_(path == "fast", undeclared),
        recorder_(world_, instructions) {}

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
      auto pod = World::make_pod(workload_.object("node_pod", i));
      if (!pod) return pod.error();
      world_.place_pod(*pod, "node-" + std::to_string(i / per_node));
    }
    std::vector<PodPtr> pods;
    if (Status made = make("initial", 0, workload_.count("initial_pods", nodes_), pods); !made.is_success()) {
      return made;
    }
    for (const auto& pod : pods) world_.queue_pod(pod);
    while (recorder_.step()) {
    }
    const std::size_t measured = workload_.count("measured_pods", nodes_);
    if (Status made = make("measured", pods.size(), measured, measured_); !made.is_success()) return made;
    return make_changes(measured);
  }

  // Measures until so many pods were bound, each round those of the workload, or time is up.
  void measure(std::size_t pods) {
    recorder_.begin(std::max(pods, measured_.size() * 4));
    for (std::size_t bound = bind_all(0); bound < pods && recorder_.elapsed_ns() < limit_ns_;) {
      recorder_.end();
      for (const auto& pod : measured_) world_.delete_pod(pod->metadata.key());
      recorder_.go_on();
      bound = bind_all(bound);
    }
    recorder_.end();
  }

  // Whether the workload's pods can be bound again when they were deleted.
  bool can_repeat() const {
    return workload_.object("claim", 0).is_null() && workload_.count("churn_every", nodes_) == 0 && changes_.empty() &&
           workload_.count("one_by_one", nodes_) == 0;
  }

  void print() const { recorder_.print(title_); }

 private:
  // Queues the measured pods, all at once or one by one, and runs the scheduler until all are bound or time is up.
  // Returns how many were bound in all; `before`: those of earlier rounds.
  std::size_t bind_all(std::size_t before) {
    const std::size_t churn_every = workload_.count("churn_every", nodes_);
    const bool one_by_one = workload_.count("one_by_one", nodes_) > 0;
    std::size_t queued = one_by_one ? 0 : measured_.size();
    for (std::size_t i = 0; i < queued; ++i) world_.queue_pod(measured_[i]);
    while (recorder_.bound() < before + measured_.size() && recorder_.elapsed_ns() < limit_ns_) {
      if (one_by_one && recorder_.bound() == queued) world_.queue_pod(measured_[queued++]);
      if (!recorder_.step() && !world_.wait_for_queue()) break;
      if (churn_every > 0 && recorder_.bound() / churn_every > churned_) world_.replace_node(churned_++);
      change_nodes();
    }
    return recorder_.bound();
  }

  Status make(const char* what, std::size_t first, std::size_t count, std::vector<PodPtr>& pods) {
    for (std::size_t i = first; i < first + count; ++i) {
      if (const Json claim = workload_.object("claim", i); !claim.is_null() && what == std::string("measured")) {
        if (Status status = world_.add_claim(claim); !status.is_success()) return status;
      }
      auto pod = World::make_pod(workload_.object(what, i));
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
    while (changed_ < changes_.size() &&
           (2 * changed_ + 1) * measured_.size() <= 2 * recorder_.bound() * changes_.size()) {
      world_.change_node(changes_[changed_]);
      ++changed_;
    }
  }

  const Workload& workload_;
  std::size_t nodes_;
  Recorder::Title title_;
  std::int64_t limit_ns_;
  World world_;
  Recorder recorder_;
  std::vector<PodPtr> measured_;
  std::size_t churned_ = 0;
  std::vector<std::shared_ptr<const Node>> changes_;
  std::size_t changed_ = 0;  // number of updates applied
};

int fail(const Status& why) {
  std::fprintf(stderr, "berth_bench: %s\n", why.message().c_str());
  return 1;
}

int replay(const std::string& file, const std::string& path) {
  const Result<Trace> trace = Trace::read(file);
  if (!trace) return fail(trace.error());
  World world(path == "fast", "");
  Recorder recorder(world, false);
  if (const Status status = trace->replay(world, recorder); !status.is_success()) return fail(status);
  recorder.print({trace->name(), trace->nodes(), path, ""}, trace->is_storm());
  return 0;
}

int run(const std::string& file, int argc, char** argv) {
  const auto workload = Workload::read(file);
  if (!workload) return fail(workload.error());
  bool instructions = false;
  std::string undeclared;
  std::size_t pods = 0;
  for (int i = 5; i < argc; ++i) {
    if (std::string(argv[i]) == "instructions") {
      instructions = true;
    } else if (std::string(argv[i]).starts_with("pods=")) {
      pods = std::stoul(argv[i] + 5);
    } else {
      undeclared = argv[i];
    }
  }
  Run run(*workload, std::stoul(argv[2]), argv[3], argc > 4 ? std::stod(argv[4]) : 12, instructions, undeclared);
  if (const Status ready = run.prepare(); !ready.is_success()) return fail(ready);
  if (pods > 0 && !run.can_repeat()) {
    return fail(Status::error("pods=" + std::to_string(pods) + ": " + file +
                              " has claims, pods one by one or nodes that change, which cannot be repeated"));
  }
  run.measure(pods);
  run.print();
  return 0;
}

}  // namespace

}  // namespace berth::bench

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "";
  const bool is_trace = file.ends_with(".jsonl");
  if (argc < (is_trace ? 3 : 4)) {
    std::fprintf(stderr,
                 "usage: berth_bench WORKLOAD.json NODES fast|plain [SECONDS [instructions] [score|normalized|filter] "
                 "[pods=N]]\n"
                 "       berth_bench TRACE.jsonl fast|plain\n");
    return 2;
  }
  return is_trace ? berth::bench::replay(file, argv[2]) : berth::bench::run(file, argc, argv);
}
