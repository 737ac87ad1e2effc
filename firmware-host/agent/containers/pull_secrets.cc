#include "firmware-host/agent/containers/pull_secrets.h"

#include <memory>

#include "core/json/members.h"

namespace berth {

Result<PullSecrets> pull_secrets_of(const Json& pod, const PodObjects* objects, const Tag& tag) {
  PullSecrets secrets;
  for (const Json& reference : list_of(member(pod, "spec"), "imagePullSecrets")) {
    const std::string name = reference.string_at("name");
    if (name.empty()) continue;
    const auto secret = objects == nullptr ? nullptr : objects->find(tag, PodObjectKind::secret, name);
    if (secret != nullptr) {
      const Status added = secrets.keyring.add(secret->values);
      if (!added.is_success()) return Status::error("image pull secret \"" + name + "\": " + added.message());
    } else if (objects == nullptr || objects->is_absent(tag, PodObjectKind::secret, name)) {
      secrets.missing.push_back(name);
    } else {
      return Status::error("image pull " + objects->why_missing(tag, PodObjectKind::secret, name));
    }
  }
  return secrets;
}

}  // namespace berth
