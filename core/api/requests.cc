#include "core/api/requests.h"

#include <algorithm>

#include "core/api/pod.h"

namespace berth {
namespace {

void add(ResourceList& total, const ResourceList& more) {
  for (const auto& [name, quantity] : more) total[name] = total[name] + quantity;
}

void raise_to(ResourceList& total, const ResourceList& other) {
  for (const auto& [name, quantity] : other) {
    const auto [entry, added] = total.emplace(name, quantity);
    if (!added) entry->second = std::max(entry->second, quantity);
  }
}

// emplace() keeps the container's own requests.
ResourceList requests_of(const Container& container, const ResourceList& missing) {
  ResourceList list = container.requests;
  for (const auto& [name, quantity] : missing) list.emplace(name, quantity);
  return list;
}

}  // namespace

bool is_pod_level_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

ResourceList container_requests(const Pod& pod, const ResourceList& missing) {
  ResourceList running;
  for (const Container& container : pod.spec->containers) add(running, requests_of(container, missing));
  ResourceList sidecars;
  ResourceList peak;
  for (const Container& container : pod.spec->init_containers) {
    ResourceList during = requests_of(container, missing);
    add(during, sidecars);
    if (container.restart_always) sidecars = during;
    raise_to(peak, during);
  }
  add(running, sidecars);
  raise_to(running, peak);
  return running;
}

ResourceList total_requests(const Pod& pod, const ResourceList& missing) {
  ResourceList total = container_requests(pod, missing);
  for (const auto& [name, quantity] : pod.spec->requests) {
    if (is_pod_level_resource(name)) total[name] = quantity;
  }
  add(total, pod.spec->overhead);
  return total;
}

}  // namespace berth
