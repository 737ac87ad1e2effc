// StatusView: what the gateway shows of an object: the manifest with a status of its own, and why a pod is pending.
#pragma once

#include <string>

#include "core/gateway/readiness.h"
#include "core/placement/placement.h"

namespace berth {

class StatusView {
 public:
  // Both outlive it.
  StatusView(const PlacementContext& context, const Placement& placement) : context_(context), placement_(placement) {}

  // The object with its status, as `get` shows it; null: none.
  Json view(Kind kind, const std::string& key) const;
  // A workload without an object, shown as a pod; null: there is none. `orphan`: its key in the release list.
  Json orphan_view(const std::string& orphan) const;
  // A directory without a volume, shown as one.
  Json orphan_view(const OrphanVolumes::Orphan& orphan) const;
  // The status alone; null: no such object.
  Json status_of(Kind kind, const std::string& key) const;
  // That as it is published: without what only those who ask need.
  Json published_status_of(Kind kind, const std::string& key) const;
  // About to be decided, or asked of a node: it is bound in a moment, and one status reports it, since on a radio link
  // each costs as much as a request. One that takes longer is shown with the next tick.
  bool is_passing(const std::string& pod_key) const;
  // [{node, message}]: what the gateway does not believe of what devices say, `first` first; of many the first few.
  Json node_notes(const std::string& first) const;
  // Of a pod that is not bound.
  std::string why_pending(const PodEntry& entry) const;

 private:
  Json pod_status(const PodEntry& entry) const;
  Json budget_status(const PodDisruptionBudget& budget) const;
  Json node_status(const std::string& name, const DeviceNode& device) const;
  std::string wrong_reports_of(const std::string& node) const;
  std::string orphan_volumes_of(const std::string& node) const;
  Json::Array trouble_of(const std::string& name, const DeviceNode& device) const;
  std::string reason_pending(const PodEntry& entry, const std::string& why) const;
  std::string nominated_node(const PodEntry& entry) const;

  const PlacementContext& context_;
  const Placement& placement_;
};

}  // namespace berth
