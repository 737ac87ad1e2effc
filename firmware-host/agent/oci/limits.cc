#include "firmware-host/agent/oci/limits.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/pod.h"
#include "core/api/quantity.h"
#include "core/json/members.h"

namespace berth {

namespace {

// Manifests may write a quantity as a number: "cpu: 1".
Result<std::optional<Quantity>> quantity_of(const Json& amounts, std::string_view name, const std::string& path) {
  const Json& value = member(amounts, name);
  if (value.is_null()) return std::optional<Quantity>();
  const std::string text = value.is_string() ? value.as_string() : value.dump();
  const Result<Quantity> quantity = Quantity::parse(text);
  if (!quantity) return Status::error(path + "." + std::string(name) + ": " + quantity.error().message());
  return std::optional<Quantity>(*quantity);
}

Result<Amounts> amounts_of(const Json& amounts, const std::string& path) {
  const auto cpu = quantity_of(amounts, "cpu", path);
  if (!cpu) return cpu.error();
  const auto memory = quantity_of(amounts, "memory", path);
  if (!memory) return memory.error();
  Amounts read;
  if (*cpu) read.milli_cpu = (*cpu)->milli_value();
  if (*memory) read.memory_bytes = (*memory)->value();
  return read;
}

bool is_positive(const std::optional<std::int64_t>& amount) { return amount.value_or(0) > 0; }

}  // namespace

Result<ContainerLimits> limits_of(const Json& resources, const std::string& path) {
  const Result<Amounts> limits = amounts_of(member(resources, "limits"), path + ".limits");
  if (!limits) return limits.error();
  const Result<Amounts> requests = amounts_of(member(resources, "requests"), path + ".requests");
  if (!requests) return requests.error();
  ContainerLimits both{*requests, *limits};
  // core/v1/defaults.go: what is limited and not asked for is asked for in full.
  if (!both.requests.milli_cpu) both.requests.milli_cpu = both.limits.milli_cpu;
  if (!both.requests.memory_bytes) both.requests.memory_bytes = both.limits.memory_bytes;
  return both;
}

// MilliCPUToShares
std::int64_t cpu_shares(std::int64_t milli_cpu) {
  constexpr std::int64_t kLeast = 2, kMost = 262'144, kOfOne = 1024;
  if (milli_cpu <= 0) return kLeast;
  return std::clamp(std::min(milli_cpu, kMost * 1000) * kOfOne / 1000, kLeast, kMost);
}

// MilliCPUToQuota
std::int64_t cpu_quota_us(std::int64_t milli_cpu, std::int64_t period_us) {
  constexpr std::int64_t kLeast = 1000;
  return std::max(milli_cpu * period_us / 1000, kLeast);
}

namespace {

ResourceList list_of_amounts(const Amounts& amounts) {
  ResourceList list;
  if (amounts.milli_cpu) list["cpu"] = Quantity::from_milli(*amounts.milli_cpu);
  if (amounts.memory_bytes) list["memory"] = Quantity(*amounts.memory_bytes);
  return list;
}

}  // namespace

// A container whose amounts cannot be read asks for something.
QosClass qos_class_of(const Json& pod_spec) {
  PodSpec spec;
  if (const auto own = limits_of(member(pod_spec, "resources"), "")) {
    spec.requests = list_of_amounts(own->requests);
    spec.limits = list_of_amounts(own->limits);
  }
  for (const char* key : {"initContainers", "containers"}) {
    for (const Json& container : list_of(pod_spec, key)) {
      const auto limits = limits_of(member(container, "resources"), "");
      if (!limits) return QosClass::burstable;
      Container read;
      read.requests = list_of_amounts(limits->requests);
      read.limits = list_of_amounts(limits->limits);
      spec.containers.edit().push_back(std::move(read));  // all containers count alike
    }
  }
  return qos_class_of(spec);
}

// GetContainerOOMScoreAdjust
int oom_score_adj(QosClass qos, std::int64_t memory_request, std::int64_t capacity, bool is_critical) {
  constexpr int kGuaranteed = -997, kBestEffort = 1000;
  if (is_critical || qos == QosClass::guaranteed) return kGuaranteed;
  if (qos == QosClass::best_effort) return kBestEffort;
  // Below those of best effort, above those of the system; the request's share of a thousand, without overflow.
  const double share = capacity > 0 ? 1000.0 * static_cast<double>(memory_request) / static_cast<double>(capacity) : 0;
  const int adjusted = 1000 - static_cast<int>(std::clamp(share, 0.0, 1000.0));
  if (adjusted < 1000 + kGuaranteed) return 1000 + kGuaranteed;
  return adjusted == kBestEffort ? adjusted - 1 : adjusted;
}

Json resources_json(const ContainerLimits& limits, std::int64_t pids) {
  constexpr std::int64_t kPeriodUs = 100'000;
  Json cpu = Json::object();
  cpu.set("shares", cpu_shares(limits.requests.milli_cpu.value_or(0)));
  if (is_positive(limits.limits.milli_cpu)) {
    cpu.set("quota", cpu_quota_us(*limits.limits.milli_cpu, kPeriodUs)).set("period", kPeriodUs);
  }
  Json resources = Json::object();
  resources.set("cpu", std::move(cpu));
  if (is_positive(limits.limits.memory_bytes)) {
    // No swap besides: without this an over-full container swaps the whole device instead of being ended.
    const std::int64_t most = *limits.limits.memory_bytes;
    resources.set("memory", Json::object().set("limit", most).set("swap", most));
  }
  if (pids > 0) resources.set("pids", Json::object().set("limit", pids));
  return resources;
}

}  // namespace berth
