// The node that a daemon pod is made for.
#pragma once

#include <string>

#include "tests/conformance/verdict.h"

namespace berth {

// The node that the pod's required node affinity names in matchFields; empty for pods that no DaemonSet has made.
inline std::string daemon_node(const Json& pod) {
  const Json& affinity = at(at(at(pod, "spec"), "affinity"), "nodeAffinity");
  const Json& required = at(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  for (const Json& term : list(at(required, "nodeSelectorTerms"))) {
    for (const Json& field : list(at(term, "matchFields"))) {
      const std::vector<std::string> values = strings(at(field, "values"));
      if (text(at(field, "key")) == "metadata.name" && values.size() == 1) return values.front();
    }
  }
  return "";
}

}  // namespace berth
