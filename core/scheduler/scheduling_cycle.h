// The scheduling cycle: a plain function of a snapshot that cannot suspend (kube-scheduler schedule_one.go
// schedulingCycle, schedulePod).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cache/cache.h"
#include "core/framework/framework.h"
#include "core/random.h"
#include "core/status.h"

namespace berth {

// Why a pod found no node (FitError). message() is upstream's text:
// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s)."
struct Diagnosis {
  std::map<std::string, Status> node_statuses;
  std::size_t nodes_total = 0;
  std::string pre_filter_message;
  std::string post_filter_message;
  std::set<std::string> unschedulable_plugins;
  std::set<std::string> pending_plugins;
  std::string message() const;
};

struct Decision {
  std::string node;
  std::size_t evaluated = 0;
  std::size_t feasible = 0;
  std::vector<Framework::PluginScores> plugin_scores;  // empty with one feasible node
  std::vector<NodeScore> totals;
};

struct ScheduleResult {
  Status status;  // success: `decision` holds; rejected: `diagnosis` holds; error otherwise
  Decision decision;
  Diagnosis diagnosis;
  std::optional<std::string> nominated_node;  // from PostFilter, see PostFilterResult
};

// PreFilter, Filter, [PostFilter], PreScore, Score, pick. All nodes are considered. Ties among the highest totals are
// broken by `random`, uniformly. Changes nothing but `state`.
ScheduleResult schedule_pod(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            Random& random);

// Undo is a type: holds an assumed pod and what Reserve did. Dropped while armed, it runs Unreserve in reverse and
// forgets the assumed pod. Move-only. Everything it points to outlives it.
class Reservation {
 public:
  // Assume, Reserve. On failure everything is undone and the status returned.
  static Result<Reservation> make(const Framework& framework, Cache& cache, std::unique_ptr<CycleState> state,
                                  std::shared_ptr<const Pod> pod, std::string node);
  // After a restart: assumes the pod again, and every Reserve plugin takes again what the row's grants name. Armed, so
  // that a drop undoes it. A pod that the cache knows already stays as it is there.
  static Reservation restore(const Framework& framework, Cache& cache, std::unique_ptr<CycleState> state,
                             std::shared_ptr<const Pod> pod, std::string node, const std::vector<VolumeGrant>& grants);
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  // The node holds the pod: nothing is undone any more.
  void commit();
  bool is_armed() const { return framework_ != nullptr; }
  CycleState& state() { return *state_; }
  const std::shared_ptr<const Pod>& pod() const { return pod_; }
  const std::string& node() const { return node_; }

 private:
  void undo();
  const Framework* framework_ = nullptr;
  Cache* cache_ = nullptr;
  std::unique_ptr<CycleState> state_;
  std::shared_ptr<const Pod> pod_;
  std::string node_;
};

}  // namespace berth
