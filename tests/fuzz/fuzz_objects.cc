// Any bytes as an object; the first byte selects the kind, the rest is the manifest.
#include <array>
#include <type_traits>

#include "core/api/config_objects.h"
#include "core/api/decode.h"
#include "core/api/defaults.h"
#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/volume.h"
#include "core/check.h"

namespace {

using namespace berth;

template <class T>
void try_one(Result<T> (*decode)(const Json&, Warnings*, Rules), const Json& json) {
  for (const Rules rules : {Rules::enforced, Rules::off}) {
    Warnings warnings;
    const Result<T> decoded = decode(json, &warnings, rules);
    if (!decoded) continue;
    // The store holds the manifest's text: it must be parsed to the same manifest, and be accepted again.
    const Manifest manifest = [&decoded]() -> Manifest {
      if constexpr (std::is_same_v<T, Pod>) {
        return decoded->manifest();
      } else {
        return decoded->manifest;
      }
    }();
    const Result<Json> again = Json::parse(manifest.text(), {.bytes = 1 << 20, .depth = 64});
    CHECK(again.has_value());
    CHECK(Manifest(*again) == manifest);
    CHECK(decode(*again, nullptr, rules).has_value());
  }
}

void try_pod(const Json& json) {
  try_one<Pod>(decode_pod, json);
  Result<Pod> pod = decode_pod(json, nullptr, Rules::enforced);
  if (pod) set_defaults(*pod);
}

constexpr std::array<void (*)(const Json&), 14> kTrials{
    try_pod,
    [](const Json& json) { try_one<Node>(decode_node, json); },
    [](const Json& json) { try_one<PersistentVolume>(decode_persistent_volume, json); },
    [](const Json& json) { try_one<PersistentVolumeClaim>(decode_persistent_volume_claim, json); },
    [](const Json& json) { try_one<StorageClass>(decode_storage_class, json); },
    [](const Json& json) { try_one<PriorityClass>(decode_priority_class, json); },
    [](const Json& json) { try_one<Namespace>(decode_namespace, json); },
    [](const Json& json) { try_one<Service>(decode_service, json); },
    [](const Json& json) { try_one<PodDisruptionBudget>(decode_pod_disruption_budget, json); },
    [](const Json& json) { try_one<CsiNode>(decode_csi_node, json); },
    [](const Json& json) { try_one<CsiDriver>(decode_csi_driver, json); },
    [](const Json& json) { try_one<CsiStorageCapacity>(decode_csi_storage_capacity, json); },
    [](const Json& json) { try_one<ConfigMap>(decode_config_map, json); },
    [](const Json& json) { try_one<Secret>(decode_secret, json); },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const Result<Json> json = Json::parse({reinterpret_cast<const char*>(bytes) + 1, size - 1});
  if (!json) return 0;
  const Result<Json> again = Json::parse(json->dump(), {.bytes = 1 << 20, .depth = 64});
  CHECK(again.has_value() && *again == *json);
  kTrials.at((bytes[0] - 'a') % kTrials.size())(*json);
  return 0;
}
