#include "core/api/qos_class.h"

#include <algorithm>
#include <array>

#include "core/api/pod.h"

namespace berth {

namespace {

constexpr std::array<const char*, 2> kResources{"cpu", "memory"};

bool has_some(const ResourceList& amounts) {
  return std::any_of(amounts.begin(), amounts.end(), [](const auto& item) {
    const bool counts = std::find(kResources.begin(), kResources.end(), item.first) != kResources.end();
    return counts && item.second > Quantity();
  });
}

bool has_all(const ResourceList& requests, const ResourceList& limits) {
  return std::all_of(kResources.begin(), kResources.end(), [&](const char* name) {
    const auto limit = limits.find(name);
    if (limit == limits.end() || !(limit->second > Quantity())) return false;
    const auto request = requests.find(name);
    return request == requests.end() || request->second == limit->second;
  });
}

}  // namespace

std::string_view to_string(QosClass qos) {
  switch (qos) {
    case QosClass::guaranteed: return "Guaranteed";
    case QosClass::burstable: return "Burstable";
    case QosClass::best_effort: break;
  }
  return "BestEffort";
}

QosClass qos_class_of(const PodSpec& spec) {
  if (has_some(spec.requests) || has_some(spec.limits)) {
    return has_all(spec.requests, spec.limits) ? QosClass::guaranteed : QosClass::burstable;
  }
  bool is_guaranteed = true, is_best_effort = true;
  for (const auto* containers : {&spec.init_containers, &spec.containers}) {
    for (const Container& container : containers->get()) {
      is_best_effort = is_best_effort && !has_some(container.requests) && !has_some(container.limits);
      is_guaranteed = is_guaranteed && has_all(container.requests, container.limits);
    }
  }
  if (is_best_effort) return QosClass::best_effort;
  return is_guaranteed ? QosClass::guaranteed : QosClass::burstable;
}

}  // namespace berth
