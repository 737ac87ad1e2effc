#include "firmware-host/agent/pod_planner.h"

#include <cstdlib>

#include "core/api/features.h"
#include "core/json/json.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/pod_order.h"
#include "firmware-host/agent/process_tree.h"

namespace berth {

namespace {

// A pod that asks for less than root, or for limits, must not run without them.
Status admit(const Json& pod, const std::string& node) {
  std::string missing;
  for (const Need& need : missing_of(needs_of(pod), process_features())) {
    missing += (missing.empty() ? "" : ", ") + to_text(need);
  }
  if (missing.empty()) return Status::ok();
  return Status::error("node " + node + " does not support " + missing +
                       "; remove it, or place the pod on a node that does");
}

}  // namespace

std::string PodPlanner::directory_of(const Tag& tag) const { return site_.root + "/" + directory_name(tag); }

Result<Workload> PodPlanner::plan(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes,
                                  bool is_new) const {
  if (!is_plain(tag.uid)) {
    return Status::error("metadata.uid: must consist of letters, digits, '-', '.' and '_', got '" + tag.uid + "'");
  }
  const Result<Json> json = Json::parse(pod);
  if (!json) return Status::error("pod: " + json.error().message());
  if (Status admitted = is_new ? admit(*json, site_.node) : Status::ok(); !admitted.is_success()) return admitted;
  const char* path = std::getenv("PATH");
  const char* home = std::getenv("HOME");
  Site site;
  site.fleet = site_.fleet;
  site.node = site_.node;
  site.owner = owner_of(site_.root);
  site.pod_directory = directory_of(tag);
  site.search_path = path != nullptr ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  site.home = home != nullptr ? home : "/";
  return plan_workload(*json, tag, volumes, site);
}

KeeperPlan PodPlanner::first_keeper(const Tag& tag, Workload workload) const {
  KeeperPlan made;
  made.workload = std::move(workload);
  made.directory = directory_of(tag);
  made.backoff = backoff_;
  made.demands = demands_;
  made.is_first = true;
  return made;
}

std::optional<KeeperPlan> PodPlanner::first_keeper(const std::string& order) const {
  const Result<PodOrder> read = PodOrder::read(order);
  if (!read) return std::nullopt;
  Result<Workload> workload = plan(read->tag, read->manifest, read->volumes);
  if (!workload) return std::nullopt;
  return first_keeper(read->tag, std::move(*workload));
}

}  // namespace berth
