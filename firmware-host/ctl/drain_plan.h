// Which pods of a node `drain` evicts, by the filters of kubectl (k8s.io/kubectl/pkg/drain/filters.go).
#pragma once

#include <string>
#include <vector>

#include "core/json/json.h"
#include "firmware-host/ctl/options.h"

namespace berth {

struct DrainedPod {
  std::string name_space;
  std::string name;
  std::string uid;
};

struct DrainPlan {
  std::vector<DrainedPod> pods;
  std::string error;    // why the node cannot be drained with these options; empty: it can
  std::string warning;  // about pods that stay, and pods that nobody makes again; empty: none
};

// `pods`: of all nodes, as the gateway shows them.
DrainPlan plan_drain(const std::vector<Json>& pods, const std::string& node, const DrainOptions& options);

}  // namespace berth
