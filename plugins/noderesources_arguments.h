// The arguments of the resource plugins, as in KubeSchedulerConfiguration (apis/config/types_pluginargs.go, validated
// as in apis/config/validation/validation_pluginargs.go).
#pragma once

#include <set>
#include <string>

#include "core/json/json.h"
#include "core/status.h"
#include "plugins/noderesources_scoring.h"

namespace berth {

// NodeResourcesFitArgs.
struct FitArguments {
  std::set<std::string> ignored_resources;        // extended resources that Filter ignores
  std::set<std::string> ignored_resource_groups;  // all of "example.com/..."
  ScoringStrategy strategy;
};
Result<FitArguments> read_fit_arguments(const Json& args);
// With defaults filled in, in the form of a configuration file.
Json to_json(const FitArguments& arguments);

// NodeResourcesBalancedAllocationArgs: `resources` only; every weight is 1.
Result<std::vector<ScoredResource>> read_balanced_arguments(const Json& args);
Json to_json(const std::vector<ScoredResource>& resources);

}  // namespace berth
