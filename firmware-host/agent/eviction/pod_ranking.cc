#include "firmware-host/agent/eviction/pod_ranking.h"

#include <utility>

#include "core/api/quantity.h"
#include "core/json/members.h"
#include "core/stable_sort.h"
#include "firmware-host/agent/oci/pod_limits.h"

namespace berth {

namespace {

constexpr std::int64_t kCritical = 2'000'000'000;  // scheduling.SystemCriticalPriority

std::string resource_of(EvictionSignal signal) {
  switch (signal) {
    case EvictionSignal::memory_available: return "memory";
    case EvictionSignal::nodefs_available: return "ephemeral-storage";
    case EvictionSignal::nodefs_inodes_free: return "inodes";
    case EvictionSignal::pid_available: return "pids";
  }
  return {};
}

std::string show(EvictionSignal signal, std::int64_t amount) {
  const bool is_bytes = signal == EvictionSignal::memory_available || signal == EvictionSignal::nodefs_available;
  return is_bytes ? show_bytes(amount) : std::to_string(amount);
}

std::int64_t storage_asked(const Json& container) {
  const Json& resources = member(container, "resources");
  for (const char* key : {"requests", "limits"}) {
    const Json& amount = member(member(resources, key), "ephemeral-storage");
    const Result<Quantity> asked = Quantity::parse(amount.is_string() ? amount.as_string() : amount.dump());
    if (!amount.is_null() && asked) return asked->value();
  }
  return 0;
}

std::int64_t memory_asked(const Json& container) {
  const Result<ContainerLimits> limits = limits_of(member(container, "resources"), "");
  return limits ? limits->requests.memory_bytes.value_or(0) : 0;
}

std::int64_t priority_of(const Json& spec) {
  const Json& priority = member(spec, "priority");
  return priority.is_integer() ? priority.as_int() : 0;
}

// corev1helpers, TolerationsTolerateTaint, of the one taint that matters here.
bool tolerates_memory_pressure(const Json& spec) {
  for (const Json& each : list_of(spec, "tolerations")) {
    const std::string key = each.string_at("key"), effect = each.string_at("effect");
    const bool is_any = each.string_at("operator") == "Exists";
    const bool is_of_key = key == "node.kubernetes.io/memory-pressure" || (key.empty() && is_any);
    if (is_of_key && (effect.empty() || effect == "NoSchedule") && (is_any || each.string_at("value").empty())) {
      return true;
    }
  }
  return false;
}

}  // namespace

PodUse pod_use_of(const Tag& tag, const Json& spec, EvictionSignal signal) {
  PodUse use;
  use.tag = tag;
  use.priority = priority_of(spec);
  use.is_critical = use.priority >= kCritical;
  if (signal == EvictionSignal::memory_available) {
    if (const Result<Amounts> asked = pod_requests_of(spec)) use.asked = asked->memory_bytes.value_or(0);
  }
  for (const Json& container : list_of(spec, "containers")) {
    const std::string name = container.string_at("name");
    if (signal == EvictionSignal::memory_available) use.containers_asked[name] = memory_asked(container);
    if (signal != EvictionSignal::nodefs_available) continue;
    use.containers_asked[name] = storage_asked(container);
    use.asked += use.containers_asked[name];
  }
  return use;
}

std::vector<PodUse> rank_pods(std::vector<PodUse> pods, EvictionSignal signal) {
  std::erase_if(pods, [](const PodUse& pod) { return pod.is_critical; });
  const bool asks = signal != EvictionSignal::pid_available;
  stable_sort(pods, [asks](const PodUse& a, const PodUse& b) {
    // Of one whose use is not known nothing can be said for it.
    const auto is_over = [](const PodUse& pod) { return !pod.used || pod.beyond() > 0; };
    if (asks && is_over(a) != is_over(b)) return is_over(a);
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.used.has_value() != b.used.has_value()) return !a.used;
    return a.beyond() > b.beyond();
  });
  return pods;
}

std::string eviction_message(const PressureWatch::Due& due, const PodUse& pod) {
  const std::string resource = resource_of(due.signal);
  std::string text = "The node was low on resource: " + resource +
                     ". Threshold quantity: " + show(due.signal, due.threshold) +
                     ", available: " + show(due.signal, due.available) + ". ";
  for (const auto& [name, used] : pod.containers) {
    const auto asked = pod.containers_asked.find(name);
    const std::int64_t request = asked == pod.containers_asked.end() ? 0 : asked->second;
    if (used <= request) continue;
    text += "Container " + name + " was using " + show(due.signal, used) + ", request is " + show(due.signal, request) +
            ", has larger consumption of " + resource + ". ";
  }
  return text;
}

Status admit_under_pressure(const std::vector<std::string>& conditions, const Json& spec) {
  if (conditions.empty() || priority_of(spec) >= kCritical) return Status::ok();
  const bool is_memory_alone = conditions.size() == 1 && conditions.front() == kMemoryPressure;
  if (is_memory_alone && (qos_class_of(spec) != QosClass::best_effort || tolerates_memory_pressure(spec))) {
    return Status::ok();
  }
  std::string names;
  for (const std::string& each : conditions) names += (names.empty() ? "" : " ") + each;
  return Status::error("The node had condition: [" + names + "]. ");
}

}  // namespace berth
