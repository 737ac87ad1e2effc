// BindingPoints: the extension points from the choice of a node to the end of the binding: Reserve, Permit, PreBind,
// Bind and PostBind of one profile.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/framework/point_plugins.h"
#include "core/framework/run_recorder.h"

namespace berth {

// Each returned status carries the name of the plugin that decided.
class BindingPoints {
 public:
  BindingPoints(BindingPlugins plugins, RunRecorder recorder)
      : plugins_(std::move(plugins)), recorder_(std::move(recorder)) {}

  Status run_reserve(CycleState& state, const Pod& pod, const std::string& node) const;  // does not roll back
  void run_unreserve(CycleState& state, const Pod& pod,
                     const std::string& node) const;  // all plugins, in reverse order
  void run_restore(CycleState& state, const Pod& pod, const std::string& node,
                   const std::vector<BoundVolume>& bound_volumes) const;
  // On Wait, `timeouts` has one entry per plugin that waits, each at most 15 minutes.
  Status run_permit(CycleState& state, const Pod& pod, const std::string& node,
                    std::map<std::string, Millis>& timeouts) const;
  // Skip when every PreBind plugin skipped.
  Status run_pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) const;
  // `request` is that of the last call, if a plugin waits for a provisioner since: it goes on with that one.
  Status run_pre_bind(CycleState& state, const Pod& pod, const std::string& node, PlacementRequest& request) const;
  // Skip when every plugin skipped.
  Status run_bind(CycleState& state, const Pod& pod, const std::string& node) const;
  void run_post_bind(CycleState& state, const Pod& pod, const std::string& node) const;

 private:
  BindingPlugins plugins_;
  RunRecorder recorder_;
};

}  // namespace berth
