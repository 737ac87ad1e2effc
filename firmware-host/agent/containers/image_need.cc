#include "firmware-host/agent/containers/image_need.h"

#include <algorithm>

#include "core/json/members.h"

namespace berth {

namespace {

// pkg/apis/core/v1/defaults.go, SetDefaults_Container: what says no version is looked for each time.
PullPolicy policy_of(const Json& container, const ImageReference& reference) {
  const std::string policy = container.string_at("imagePullPolicy");
  if (policy == "Always") return PullPolicy::always;
  if (policy == "Never") return PullPolicy::never;
  if (policy == "IfNotPresent") return PullPolicy::if_not_present;
  return reference.tag == "latest" ? PullPolicy::always : PullPolicy::if_not_present;
}

}  // namespace

Result<std::vector<ImageNeed>> image_needs_of(const Json& pod) {
  std::vector<ImageNeed> needs;
  const Json& spec = member(pod, "spec");
  for (const char* key : {"initContainers", "containers"}) {
    const Json::Array& containers = list_of(spec, key);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const std::string name = containers[i].string_at("image");
      const Result<ImageReference> reference = parse_image_reference(name);
      if (!reference) {
        return Status::error(std::string("spec.") + key + "[" + std::to_string(i) +
                             "].image: " + reference.error().message());
      }
      const PullPolicy policy = policy_of(containers[i], *reference);
      const auto known = std::find_if(needs.begin(), needs.end(), [&](const auto& need) { return need.name == name; });
      if (known == needs.end()) {
        needs.push_back({name, *reference, policy});
      } else {
        known->policy = std::min(known->policy, policy);  // the strictest
      }
    }
  }
  return needs;
}

}  // namespace berth
