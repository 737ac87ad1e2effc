#include "core/cache/node_info.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

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

void raise_to(Resources& total, const Resources& other) {
  total.milli_cpu = std::max(total.milli_cpu, other.milli_cpu);
  total.memory = std::max(total.memory, other.memory);
  total.ephemeral_storage = std::max(total.ephemeral_storage, other.ephemeral_storage);
  for (const auto& [name, amount] : other.scalar) {
    std::int64_t& mine = total.scalar[name];
    mine = std::max(mine, amount);
  }
}

// Resources counted by name: extended ones, huge pages, attachable volumes (kube-scheduler util IsScalarResourceName).
bool is_scalar(std::string_view name) {
  if (name.starts_with("requests.")) return false;
  return name.find('/') != std::string_view::npos || name.starts_with("hugepages-") ||
         name.starts_with("attachable-volumes-");
}

// The pod's own requests (spec.resources.requests), which replace the sum of its containers' for the resources that a
// pod may set as a whole. Not typed in Pod: read where the manifest has them.
ResourceList pod_level_requests(const Pod& pod) {
  ResourceList list;
  const Json* spec = pod.manifest.find("spec");
  const Json* resources = spec == nullptr ? nullptr : spec->find("resources");
  const Json* requests = resources == nullptr ? nullptr : resources->find("requests");
  if (requests == nullptr || !requests->is_object()) return list;
  for (const auto& [name, value] : requests->as_object()) {
    const bool may_be_set = name == "cpu" || name == "memory" || name.starts_with("hugepages-");
    if (!may_be_set || (!value.is_string() && !value.is_integer())) continue;
    const std::string text = value.is_string() ? value.as_string() : std::to_string(value.as_int());
    if (Result<Quantity> quantity = Quantity::parse(text)) list[name] = *quantity;
  }
  return list;
}

// What a container counts for where it names nothing.
struct Missing {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
};

Resources container_requests(const Container& container, const Missing& missing) {
  Resources amount = to_resources(container.requests);
  if (!container.requests.contains("cpu")) amount.milli_cpu = missing.milli_cpu;
  if (!container.requests.contains("memory")) amount.memory = missing.memory;
  return amount;
}

// Init containers run one after another, each beside the sidecars started before it; the containers run beside all
// sidecars.
Resources requests_of(const Pod& pod, const ResourceList& whole, const Missing& missing) {
  Resources running;
  for (const Container& container : pod.containers) running.add(container_requests(container, missing));
  Resources sidecars;
  Resources peak;
  for (const Container& container : pod.init_containers) {
    Resources during = container_requests(container, missing);
    during.add(sidecars);
    if (container.restart_always) sidecars = during;
    raise_to(peak, during);
  }
  running.add(sidecars);
  raise_to(running, peak);
  if (!whole.empty()) {
    const Resources amount = to_resources(whole);
    if (whole.contains("cpu")) running.milli_cpu = amount.milli_cpu;
    if (whole.contains("memory")) running.memory = amount.memory;
    for (const auto& [name, count] : amount.scalar) running.scalar[name] = count;
  }
  running.add(to_resources(pod.overhead));
  return running;
}

// One resource's verdict, or none when it fits.
std::optional<InsufficientResource> lacking(const std::string& name, std::int64_t asked, std::int64_t used,
                                            std::int64_t capacity) {
  if (asked <= 0 || asked <= plus(capacity, -used)) return std::nullopt;
  return InsufficientResource{name, "Insufficient " + name, asked, used, capacity, asked > capacity};
}

std::int64_t amount_of(const Resources& resources, const std::string& scalar) {
  auto found = resources.scalar.find(scalar);
  return found == resources.scalar.end() ? 0 : found->second;
}

}  // namespace

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
  for (const auto& [name, quantity] : list) {
    if (name == "cpu") {
      resources.milli_cpu = quantity.milli_value();
    } else if (name == "memory") {
      resources.memory = quantity.value();
    } else if (name == "ephemeral-storage") {
      resources.ephemeral_storage = quantity.value();
    } else if (name == "pods") {
      resources.allowed_pods = quantity.value();
    } else if (is_scalar(name)) {
      resources.scalar[name] = quantity.value();
    }
  }
  return resources;
}

void NodeInfo::add_pod(const std::shared_ptr<const Pod>& pod) {
  pods.push_back(pod);
  if (!pod->pod_affinity.empty() || !pod->pod_anti_affinity.empty()) pods_with_affinity.push_back(pod);
  if (!pod->pod_anti_affinity.required.empty()) pods_with_required_anti_affinity.push_back(pod);
  requested.add(pod_requests(*pod));
  requested_for_scoring.add(pod_requests_for_scoring(*pod));
}

void NodeInfo::remove_pod(const std::string& uid) {
  const auto found = std::find_if(pods.begin(), pods.end(), [&uid](const auto& pod) { return pod->uid() == uid; });
  CHECK(found != pods.end());
  requested.subtract(pod_requests(**found));
  requested_for_scoring.subtract(pod_requests_for_scoring(**found));
  auto is_it = [&uid](const auto& pod) { return pod->uid() == uid; };
  std::erase_if(pods_with_affinity, is_it);
  std::erase_if(pods_with_required_anti_affinity, is_it);
  pods.erase(found);  // last: `uid` may be the pod's own
}

Resources pod_requests(const Pod& pod) { return requests_of(pod, pod_level_requests(pod), {}); }

Resources pod_requests_for_scoring(const Pod& pod) {
  const ResourceList whole = pod_level_requests(pod);
  Missing missing{kDefaultMilliCpu, kDefaultMemory};
  if (!whole.empty()) {
    // Requests of the pod as a whole: only what it names nowhere is made up.
    const Resources plain = requests_of(pod, whole, {});
    if (plain.milli_cpu != 0) missing.milli_cpu = 0;
    if (plain.memory != 0) missing.memory = 0;
  }
  return requests_of(pod, whole, missing);
}

Resources container_requests_for_scoring(const Pod& pod) {
  return requests_of(pod, {}, {kDefaultMilliCpu, kDefaultMemory});
}

std::vector<InsufficientResource> fits_resources(const Resources& asked, const Resources& used, std::int64_t pods_now,
                                                 const Resources& allocatable) {
  std::vector<InsufficientResource> missing;
  if (pods_now + 1 > allocatable.allowed_pods) {
    missing.push_back({"pods", "Too many pods", 1, pods_now, allocatable.allowed_pods, false});
  }
  auto check = [&missing](const std::string& name, std::int64_t wanted, std::int64_t taken, std::int64_t capacity) {
    if (auto verdict = lacking(name, wanted, taken, capacity)) missing.push_back(std::move(*verdict));
  };
  check("cpu", asked.milli_cpu, used.milli_cpu, allocatable.milli_cpu);
  check("memory", asked.memory, used.memory, allocatable.memory);
  check("ephemeral-storage", asked.ephemeral_storage, used.ephemeral_storage, allocatable.ephemeral_storage);
  for (const auto& [name, wanted] : asked.scalar) {
    check(name, wanted, amount_of(used, name), amount_of(allocatable, name));
  }
  return missing;
}

}  // namespace berth
