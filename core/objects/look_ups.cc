#include "core/objects/look_ups.h"

#include <algorithm>
#include <utility>

#include "core/api/default_class.h"
#include "core/api/policy.h"
#include "core/api/timestamp.h"

namespace berth {

namespace {

bool is_default_class(const StorageClass& storage_class) {
  const Labels& annotations = storage_class.metadata.annotations.get();
  return std::any_of(kDefaultClassAnnotations.begin(), kDefaultClassAnnotations.end(), [&](std::string_view key) {
    const auto found = annotations.find(std::string(key));
    return found != annotations.end() && found->second == "true";
  });
}

constexpr std::int32_t kSystemCritical = 2'000'000'000;  // pkg/apis/scheduling/types.go SystemCriticalPriority

}  // namespace

std::shared_ptr<const PriorityClass> find_priority_class(const Objects& objects, const std::string& name) {
  if (auto found = objects.find<PriorityClass>(name)) return found;
  const bool of_node = name == "system-node-critical";
  if (!of_node && name != "system-cluster-critical") return nullptr;
  PriorityClass made;
  made.metadata.name = name;
  made.value = of_node ? kSystemCritical + 1000 : kSystemCritical;
  return std::make_shared<const PriorityClass>(std::move(made));
}

std::shared_ptr<const PriorityClass> default_priority_class(const Objects& objects) {
  std::shared_ptr<const PriorityClass> best;
  for (const auto& [name, priority_class] : objects.all<PriorityClass>()) {
    if (!priority_class->global_default) continue;
    if (best == nullptr || priority_class->value > best->value) best = priority_class;
  }
  return best;
}

std::shared_ptr<const StorageClass> default_storage_class(const Objects& objects) {
  std::shared_ptr<const StorageClass> best;
  std::int64_t best_created = 0;
  for (const auto& [name, storage_class] : objects.all<StorageClass>()) {
    if (!is_default_class(*storage_class)) continue;
    const Json* metadata = storage_class->manifest.find("metadata");
    const std::int64_t created = parse_timestamp(metadata->string_at("creationTimestamp")).value_or(0);
    if (best != nullptr && created <= best_created) continue;
    best = storage_class;
    best_created = created;
  }
  return best;
}

// An ephemeral volume's claim is used by the pod that it was made for alone (pvc-protection's podUsesPVC).
std::vector<const Pod*> pods_using(const Objects& objects, const std::string& claim_key) {
  std::vector<const Pod*> users;
  const auto claim = objects.claim(claim_key);
  for (const auto& [key, entry] : objects.pods().all()) {
    if (entry.finished) continue;
    const ObjectMeta& pod = entry.pod->metadata;
    const auto& volumes = entry.pod->volumes;
    if (std::any_of(volumes.begin(), volumes.end(), [&](const PodVolume& volume) {
          if (volume.ephemeral && claim != nullptr && claim->metadata.controller_uid != pod.uid) return false;
          const std::string name = volume.ephemeral ? pod.name + "-" + volume.name : volume.claim_name;
          return !name.empty() && pod.namespace_ + "/" + name == claim_key;
        })) {
      users.push_back(entry.pod.get());
    }
  }
  return users;
}

std::string locked_secrets(const Objects& objects) {
  std::size_t count = 0;
  std::string why;
  for (const auto& [key, secret] : objects.all<Secret>()) {
    if (secret->locked.empty()) continue;
    if (count++ == 0) why = "Secret \"" + key + "\": " + secret->locked;
  }
  return count < 2 ? why : why + "; likewise " + std::to_string(count - 1) + " more";
}

}  // namespace berth
