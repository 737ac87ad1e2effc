// What and how berthd schedules: a YAML file with the fields of KubeSchedulerConfiguration v1
// (kubescheduler.config.k8s.io/v1). What Berth does not support of it is refused by name.
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
  std::vector<Profile> profiles;  // at least one, laid over the default plugins, in the order of the file
  Millis pod_initial_backoff_ms = 1000;
  Millis pod_max_backoff_ms = 10000;
  // The same as a document: defaults filled in, every point with exactly the plugins that run there, arguments as the
  // plugins understood them. Read as a file, it gives itself.
  Json completed;
};

// Errors: one reason per fault, "<file>:<line>:<column>: profiles[0].plugins.score.enabled[1].name: ...".
Result<SchedulerConfig> parse_scheduler_config(std::string_view file, std::string_view text, const Registry& registry);

// The same of a file; `path` empty: what a file without any profile would say.
Result<SchedulerConfig> read_scheduler_config(const std::string& path, const Registry& registry);

}  // namespace berth
