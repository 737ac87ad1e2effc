// ExhaustiveRun: plugin calls for explanations and for pods that name their node: the result of every plugin, where a
// scheduling decision stops at the first one that settles it. Nothing is timed or counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/framework/point_plugins.h"

namespace berth {

class ExhaustiveRun {
 public:
  struct Verdict {
    Status status;                                    // carries the plugin's name, on success too
    std::optional<std::set<std::string>> node_names;  // the nodes that PreFilter allows; none: all
  };

  // `plugins` must outlive this object.
  explicit ExhaustiveRun(const PointPlugins& plugins) : plugins_(plugins) {}

  // The result of every PreFilter plugin, without stopping at the first rejection; plugins that skip are left out. The
  // Filter of a plugin that skipped, rejected or failed is skipped afterwards.
  std::vector<Verdict> pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot) const;
  // The result of every Filter plugin for the node, in order; skipped plugins are left out.
  std::vector<Status> filter(CycleState& state, const Pod& pod, const NodeInfo& node) const;
  // Why the node does not admit a pod that names it: the rejections of the plugins with admit(), by it or by PreFilter.
  std::vector<Status> admit(CycleState& state, const Pod& pod, const Snapshot& snapshot, const NodeInfo& node) const;
  // The score that each plugin gives the node before normalization, by plugin; failed ones are left out.
  std::map<std::string, std::int64_t> raw_scores(CycleState& state, const Pod& pod, const NodeInfo& node) const;

 private:
  const PointPlugins& plugins_;
};

}  // namespace berth
