#include "core/cache/node_info.h"

#include <algorithm>

namespace berth {

namespace {

bool is_scalar(const std::string& name) {
  return name != "cpu" && name != "memory" && name != "ephemeral-storage" && name != "pods";
}

void take_largest(Resources& into, const Resources& other) {
  into.milli_cpu = std::max(into.milli_cpu, other.milli_cpu);
  into.memory = std::max(into.memory, other.memory);
  into.ephemeral_storage = std::max(into.ephemeral_storage, other.ephemeral_storage);
  for (const auto& [name, amount] : other.scalar) {
    std::int64_t& mine = into.scalar[name];
    mine = std::max(mine, amount);
  }
}

}  // namespace

void Resources::add(const Resources& other) {
  milli_cpu += other.milli_cpu;
  memory += other.memory;
  ephemeral_storage += other.ephemeral_storage;
  allowed_pods += other.allowed_pods;
  for (const auto& [name, amount] : other.scalar) scalar[name] += amount;
}

void Resources::subtract(const Resources& other) {
  milli_cpu -= other.milli_cpu;
  memory -= other.memory;
  ephemeral_storage -= other.ephemeral_storage;
  allowed_pods -= other.allowed_pods;
  for (const auto& [name, amount] : other.scalar) {
    auto mine = scalar.find(name);
    if (mine == scalar.end()) continue;
    mine->second -= amount;
    if (mine->second == 0) scalar.erase(mine);
  }
}

Resources to_resources(const ResourceList& list) {
  Resources resources;
  for (const auto& [name, quantity] : list) {
    if (name == "cpu") resources.milli_cpu = quantity.milli_value();
    if (name == "memory") resources.memory = quantity.value();
    if (name == "ephemeral-storage") resources.ephemeral_storage = quantity.value();
    if (name == "pods") resources.allowed_pods = quantity.value();
    if (is_scalar(name)) resources.scalar[name] = quantity.value();
  }
  return resources;
}

Resources pod_requests(const Pod& pod) {
  Resources sum;
  for (const Container& container : pod.containers) sum.add(to_resources(container.requests));
  // Init containers run one after another beside the sidecars started so far.
  Resources sidecars;
  Resources init;
  for (const Container& container : pod.init_containers) {
    Resources now = to_resources(container.requests);
    if (container.restart_always) {
      sidecars.add(now);
      now = sidecars;
    } else {
      now.add(sidecars);
    }
    take_largest(init, now);
  }
  sum.add(sidecars);
  take_largest(sum, init);
  sum.add(to_resources(pod.overhead));
  sum.allowed_pods = 0;
  return sum;
}

std::vector<InsufficientResource> fits_resources(const Resources& asked, const Resources& used, std::int64_t pods_now,
                                                 const Resources& allocatable) {
  std::vector<InsufficientResource> missing;
  if (pods_now + 1 > allocatable.allowed_pods) {
    missing.push_back({"pods", "Too many pods", 1, pods_now, allocatable.allowed_pods, false});
  }
  auto check = [&](const std::string& name, std::int64_t want, std::int64_t taken, std::int64_t capacity) {
    if (want <= 0 || want <= capacity - taken) return;
    missing.push_back({name, "Insufficient " + name, want, taken, capacity, want > capacity});
  };
  check("cpu", asked.milli_cpu, used.milli_cpu, allocatable.milli_cpu);
  check("memory", asked.memory, used.memory, allocatable.memory);
  check("ephemeral-storage", asked.ephemeral_storage, used.ephemeral_storage, allocatable.ephemeral_storage);
  auto amount = [](const Resources& resources, const std::string& name) {
    auto found = resources.scalar.find(name);
    return found == resources.scalar.end() ? std::int64_t{0} : found->second;
  };
  for (const auto& [name, want] : asked.scalar) check(name, want, amount(used, name), amount(allocatable, name));
  return missing;
}

}  // namespace berth
