// The scheduler configuration of berthd: a YAML file with the fields of KubeSchedulerConfiguration v1
// (kubescheduler.config.k8s.io/v1). Fields without a meaning here (leaderElection ...) are warnings; fields that would
// change where pods are placed, and that Berth does not support, are errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/framework/framework.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

struct SchedulerConfig {
  std::vector<Profile> profiles;  // at least one, merged with the default plugins, in the order of the file
  Millis pod_initial_backoff_ms = 1000;
  Millis pod_max_backoff_ms = 10000;
  // The same as a document: defaults filled in, every extension point with exactly the plugins that run there,
  // arguments as the plugins read them. Parsing it yields the same document again.
  Json completed;
  std::vector<std::string> warnings;  // "<file>:<line>:<column>: parallelism: ..."
};

// Errors: one reason per fault, "<file>:<line>:<column>: profiles[0].plugins.score.enabled[1].name: ...".
Result<SchedulerConfig> parse_scheduler_config(std::string_view file, std::string_view text, const Registry& registry);

// Reads a file; an empty `path` means the configuration of a file without profiles.
Result<SchedulerConfig> read_scheduler_config(const std::string& path, const Registry& registry);

}  // namespace berth
