// The in-tree plugins, and the profile that uses all of them in kube-scheduler's default order and weights
// (pkg/scheduler/apis/config/v1/default_plugins.go).
#pragma once

#include "core/framework/framework.h"

namespace berth {

Registry in_tree_registry();
Profile default_profile();

}  // namespace berth
