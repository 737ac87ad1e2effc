// MadeObjects: ConfigMaps and Secrets that a test gives to pods.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/agent/pod_objects.h"

namespace berth {

struct MadeObjects final : PodObjects {
  std::shared_ptr<const PodObject> find(const Tag& /*pod*/, PodObjectKind kind,
                                        const std::string& name) const override {
    const auto found = made.find({kind, name});
    return found == made.end() ? nullptr : std::make_shared<const PodObject>(PodObject{found->second, false});
  }
  std::map<std::pair<PodObjectKind, std::string>, std::map<std::string, std::string>> made;
};

}  // namespace berth
