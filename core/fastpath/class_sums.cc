#include "core/fastpath/class_sums.h"

#include <algorithm>

namespace berth {

void ClassSums::add(SummingPlugin* plugin) {
  if (std::find(all_.begin(), all_.end(), plugin) == all_.end()) all_.push_back(plugin);
}

bool ClassSums::hold(const Snapshot& snapshot) const {
  return std::all_of(all_.begin(), all_.end(), [&](const SummingPlugin* plugin) {
    const bool was_idle = std::find(active_.begin(), active_.end(), plugin) == active_.end();
    return plugin->sums_hold(state_, pod_) && (!was_idle || plugin->is_idle(state_, pod_, snapshot));
  });
}

void ClassSums::begin(const Snapshot& snapshot) {
  domains_ = Domains();
  active_.clear();
  kind_filter_ = {};
  verdicts_.clear();
  touched_.clear();
  for (SummingPlugin* plugin : all_) {
    plugin->begin_sums(state_, pod_, snapshot, domains_);
    if (!plugin->is_idle(state_, pod_, snapshot)) active_.push_back(plugin);
  }
  if (active_.empty()) return;
  for (const SummingPlugin* plugin : active_) plugin->filter_kinds(state_, pod_, kind_filter_);
  const auto& kinds = snapshot.pod_kinds().all();
  for (PodKinds::Number number = 0; number < kinds.size(); ++number) {
    const PodKinds::Kind& kind = kinds[number];
    if (!kind_filter_.passes(kind) || kind.pods == 0) continue;
    if (!verdicts_.counts(number, kind.serial, [&] { return counts_pod(*kind.pod); })) continue;
    kind.on_nodes.for_each([&](std::size_t index, std::int64_t pods) {
      add_pods(index, *snapshot.nodes()[index]->node, *kind.pod, pods);
    });
  }
}

void ClassSums::add_node(const Node& node, std::int64_t times) {
  for (SummingPlugin* plugin : active_) plugin->sum_node(state_, pod_, node, times);
}

void ClassSums::add_whole(std::size_t index, const NodeInfo& node, std::int64_t times) {
  if (times > 0) add_node(*node.node, times);
  for (const auto& other : node.pods) {
    if (counts_pod(*other)) add_pods(index, *node.node, *other, times);
  }
  if (times < 0) add_node(*node.node, times);
}

bool ClassSums::have_traits() const {
  return std::any_of(active_.begin(), active_.end(),
                     [this](const SummingPlugin* plugin) { return plugin->has_traits(state_, domains_); });
}

void ClassSums::add_traits(const NodeInfo& node, Traits& traits) const {
  for (const SummingPlugin* plugin : active_) plugin->add_traits(state_, pod_, node, domains_, traits);
}

bool ClassSums::counts_pod(const Pod& other) {
  return std::any_of(active_.begin(), active_.end(),
                     [&](const SummingPlugin* plugin) { return plugin->counts_pod(state_, pod_, other); });
}

bool ClassSums::counts_kind(const PodKinds::Change& change, const Snapshot& snapshot) {
  return verdicts_.counts(change.kind, change.serial, [&] {
    const PodKinds::Kind& kind = snapshot.pod_kinds().all()[change.kind];
    const bool is_there = kind.serial == change.serial;  // otherwise the number is that of another kind now
    return (!is_there || kind_filter_.passes(kind)) && counts_pod(*change.pod);
  });
}

void ClassSums::add_pods(std::size_t index, const Node& node, const Pod& other, std::int64_t pods) {
  touched_.insert(index);
  for (SummingPlugin* plugin : active_) plugin->sum_pods(state_, pod_, node, other, pods, domains_);
}

}  // namespace berth
