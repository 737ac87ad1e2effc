#include "core/cache/node_info.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/api/host_ports.h"
#include "core/api/node.h"
#include "core/api/requests.h"
#include "core/check.h"

namespace berth {

namespace {

constexpr std::int64_t kDefaultMilliCpu = 100;
constexpr std::int64_t kDefaultMemory = 200 * 1024 * 1024;

// Saturates: a request too large to count must stay too large to fit.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

// Resources counted by name: extended ones, huge pages, attachable volumes (kube-scheduler util IsScalarResourceName).
bool is_scalar(std::string_view name) {
  if (name.starts_with("requests.")) return false;
  return name.find('/') != std::string_view::npos || name.starts_with("hugepages-") ||
         name.starts_with("attachable-volumes-");
}

// What a container that names no cpu or no memory counts for in scores.
ResourceList unnamed_for_scoring() {
  return {{"cpu", Quantity::from_milli(kDefaultMilliCpu)}, {"memory", Quantity(kDefaultMemory)}};
}

std::int64_t scalar_amount(const Resources& resources, const std::string& scalar) {
  auto found = resources.scalar.find(scalar);
  return found == resources.scalar.end() ? 0 : found->second;
}

}  // namespace

std::int64_t free_amount(std::int64_t used, std::int64_t capacity) { return plus(capacity, -used); }

void Resources::add(const Resources& other) {
  milli_cpu = plus(milli_cpu, other.milli_cpu);
  memory = plus(memory, other.memory);
  ephemeral_storage = plus(ephemeral_storage, other.ephemeral_storage);
  allowed_pods = plus(allowed_pods, other.allowed_pods);
  for (const auto& [name, amount] : other.scalar) {
    std::int64_t& mine = scalar[name];
    mine = plus(mine, amount);
  }
}

void Resources::subtract(const Resources& other) {
  milli_cpu -= other.milli_cpu;
  memory -= other.memory;
  ephemeral_storage -= other.ephemeral_storage;
  allowed_pods -= other.allowed_pods;
  for (const auto& [name, amount] : other.scalar) {
    auto found = scalar.find(name);
    if (found == scalar.end()) continue;
    found->second -= amount;
    if (found->second == 0) scalar.erase(found);
  }
}

Resources to_resources(const ResourceList& list) {
  Resources resources;
  for (const auto& [key, quantity] : list) {
    const std::string_view name = key;
    if (name == "cpu") {
      resources.milli_cpu = quantity.milli_value();
    } else if (name == "memory") {
      resources.memory = quantity.value();
    } else if (name == "ephemeral-storage") {
      resources.ephemeral_storage = quantity.value();
    } else if (name == "pods") {
      resources.allowed_pods = quantity.value();
    } else if (is_scalar(name)) {
      resources.scalar[key] = quantity.value();
    }
  }
  return resources;
}

const std::string& NodeInfo::name() const { return node->metadata.name; }

void NodeInfo::add_pod(const PodPtr& pod) { add_pod(pod, amounts_of(*pod)); }

void NodeInfo::add_pod(const PodPtr& pod, const PodAmounts& amounts) {
  pods.push_back(pod);
  if (!pod->affinity.is_none()) {
    const Affinity& affinity = *pod->affinity;
    if (!affinity.pod_affinity.empty() || !affinity.pod_anti_affinity.empty()) pods_with_affinity.edit().push_back(pod);
    if (!affinity.pod_anti_affinity.required.empty()) pods_with_required_anti_affinity.edit().push_back(pod);
  }
  if (amounts.takes_host_ports) pods_with_host_ports.edit().push_back(pod);
  requested.add(amounts.requests);
  requested_for_scoring.add(amounts.for_scoring);
}

PodPtr NodeInfo::remove_pod(std::string_view uid) {
  const auto found = std::find_if(pods.begin(), pods.end(), [&uid](const auto& pod) { return pod->uid() == uid; });
  CHECK(found != pods.end());
  return remove_pod(uid, amounts_of(**found));
}

PodPtr NodeInfo::remove_pod(std::string_view uid, const PodAmounts& amounts) {
  const auto found = std::find_if(pods.begin(), pods.end(), [&uid](const auto& pod) { return pod->uid() == uid; });
  CHECK(found != pods.end());
  requested.subtract(amounts.requests);
  requested_for_scoring.subtract(amounts.for_scoring);
  auto is_it = [&uid](const auto& pod) { return pod->uid() == uid; };
  for (FewPods* few : {&pods_with_affinity, &pods_with_required_anti_affinity, &pods_with_host_ports}) {
    if (std::any_of(few->get().begin(), few->get().end(), is_it)) std::erase_if(few->edit(), is_it);
  }
  return pods.take(found);
}

// Most pods: what they ask is what their one container does.
static bool asks_as_one_container(const Pod& pod) {
  return pod.spec->containers.size() == 1 && pod.spec->init_containers.empty() && pod.spec->requests.empty() &&
         pod.spec->overhead.empty();
}

static Resources with_unnamed(Resources asked, const ResourceList& named) {
  if (!named.contains("cpu")) asked.milli_cpu = kDefaultMilliCpu;
  if (!named.contains("memory")) asked.memory = kDefaultMemory;
  return asked;
}

Resources pod_requests(const Pod& pod) {
  if (asks_as_one_container(pod)) return to_resources(pod.spec->containers.front().requests);
  return to_resources(total_requests(pod, {}));
}

Resources pod_requests_for_scoring(const Pod& pod) {
  if (asks_as_one_container(pod)) {
    const ResourceList& named = pod.spec->containers.front().requests;
    return with_unnamed(to_resources(named), named);
  }
  ResourceList unnamed = unnamed_for_scoring();
  const bool asks_as_a_whole = std::any_of(pod.spec->requests.begin(), pod.spec->requests.end(),
                                           [](const auto& item) { return is_pod_level_resource(item.first); });
  if (asks_as_a_whole) {
    // Only what the pod names nowhere is made up; a request of zero names it.
    for (const auto& [name, quantity] : total_requests(pod, {})) unnamed.erase(name);
  }
  return to_resources(total_requests(pod, unnamed));
}

PodAmounts amounts_of(const Pod& pod) {
  if (!asks_as_one_container(pod)) return {pod_requests(pod), pod_requests_for_scoring(pod), takes_host_ports(pod)};
  const ResourceList& named = pod.spec->containers.front().requests;
  const Resources asked = to_resources(named);
  return {asked, with_unnamed(asked, named), takes_host_ports(pod)};
}

Resources container_requests_for_scoring(const Pod& pod) {
  ResourceList list = container_requests(pod, unnamed_for_scoring());
  for (const auto& [name, quantity] : pod.spec->overhead) list[name] = list[name] + quantity;
  return to_resources(list);
}

std::string InsufficientResource::reason() const {
  return kind == Kind::pods ? "Too many pods" : "Insufficient " + std::string(name);
}

void fits_resources(const Resources& asked, const Resources& used, std::int64_t pods_now, const Resources& allocatable,
                    std::vector<InsufficientResource>& missing) {
  using Lack = InsufficientResource::Kind;
  missing.clear();
  if (pods_now + 1 > allocatable.allowed_pods) {
    missing.push_back({Lack::pods, "pods", 1, pods_now, allocatable.allowed_pods, false});
  }
  auto check = [&missing](Lack kind, std::string_view name, std::int64_t wanted, std::int64_t taken,
                          std::int64_t capacity) {
    if (wanted <= 0 || wanted <= free_amount(taken, capacity)) return;
    missing.push_back({kind, name, wanted, taken, capacity, wanted > capacity});
  };
  check(Lack::cpu, "cpu", asked.milli_cpu, used.milli_cpu, allocatable.milli_cpu);
  check(Lack::memory, "memory", asked.memory, used.memory, allocatable.memory);
  check(Lack::ephemeral_storage, "ephemeral-storage", asked.ephemeral_storage, used.ephemeral_storage,
        allocatable.ephemeral_storage);
  for (const auto& [name, wanted] : asked.scalar) {
    check(Lack::extended, name, wanted, scalar_amount(used, name), scalar_amount(allocatable, name));
  }
}

}  // namespace berth
