// PointPlugins: the plugins of a profile at each extension point, in the order in which they are called.
#pragma once

#include <cstdint>
#include <vector>

#include "core/framework/plugin.h"
#include "core/metrics.h"
#include "core/text.h"

namespace berth {

// A plugin at one point.
template <class T>
struct PointPlugin {
  Text name;
  T* plugin = nullptr;
  std::size_t number = 0;  // the same at each point
  std::int64_t weight = 1;
  Counter* evaluations = nullptr;  // null: not counted
  // The same plugin; null: does not implement it.
  NormalizeScorePlugin* normalizing = nullptr;
  SummingPlugin* summing = nullptr;
  TrackingPlugin* tracking = nullptr;
  BatchFilterPlugin* batch_filter = nullptr;
  BatchScorePlugin* batch_score = nullptr;
  AmountsFilterPlugin* amounts_filter = nullptr;
  void count(std::size_t calls = 1) const {
    if (evaluations != nullptr) evaluations->add(calls);
  }
};

template <class T>
using PluginList = std::vector<PointPlugin<T>>;

// From the choice of a node to the end of the binding.
struct BindingPlugins {
  PluginList<ReservePlugin> reserve;
  PluginList<PermitPlugin> permit;
  PluginList<PreBindPlugin> pre_bind;
  PluginList<BindPlugin> bind;
  PluginList<PostBindPlugin> post_bind;
};

struct PointPlugins {
  PluginList<PreEnqueuePlugin> pre_enqueue;
  PluginList<QueueSortPlugin> queue_sort;
  PluginList<PreFilterPlugin> pre_filter;
  PluginList<FilterPlugin> filter;
  PluginList<PostFilterPlugin> post_filter;
  PluginList<PreScorePlugin> pre_score;
  PluginList<ScorePlugin> score;
  std::vector<SummingPlugin*> summing;  // those at PreFilter or PreScore, each once
};

}  // namespace berth
