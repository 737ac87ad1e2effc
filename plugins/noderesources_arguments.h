// The arguments of the resource plugins, as KubeSchedulerConfiguration spells them (apis/config/types_pluginargs.go,
// validated as apis/config/validation/validation_pluginargs.go does).
#pragma once

#include <set>
#include <string>

#include "core/json/json.h"
#include "core/status.h"
#include "plugins/noderesources_scoring.h"

namespace berth {

// NodeResourcesFitArgs.
struct FitArguments {
  std::set<std::string> ignored_resources;        // extended resources that Filter leaves out
  std::set<std::string> ignored_resource_groups;  // all of "example.com/..."
  ScoringStrategy strategy;
};
Result<FitArguments> read_fit_arguments(const Json& args);
// Completed, as a configuration file says it.
Json to_json(const FitArguments& arguments);

// NodeResourcesBalancedAllocationArgs: `resources` alone; every weight is 1.
Result<std::vector<ScoredResource>> read_balanced_arguments(const Json& args);
Json to_json(const std::vector<ScoredResource>& resources);

}  // namespace berth
