#include "firmware-host/agent/oci/pod_limits.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/json/members.h"

namespace berth {

namespace {

std::int64_t at_least_none(const std::optional<std::int64_t>& amount) {
  return std::max<std::int64_t>(amount.value_or(0), 0);
}

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// The most that containers have at a time of one resource: an init container runs besides the sidecars before it.
class Peak {
 public:
  void add(std::int64_t amount, bool runs_on) {
    const std::int64_t together = sum_of(lasting_, amount);
    if (runs_on) lasting_ = together;
    most_ = std::max(most_, together);
    is_declared_ = is_declared_ && amount > 0;
  }
  std::int64_t most() const { return most_; }
  // Each of them says an amount.
  bool is_declared() const { return is_declared_ && most_ > 0; }

 private:
  std::int64_t lasting_ = 0;
  std::int64_t most_ = 0;
  bool is_declared_ = true;
};

struct Peaks {
  Peak cpu_asked, memory_asked, cpu_most, memory_most;
  std::int64_t containers = 0;
};

Result<Peaks> peaks_of(const Json& spec) {
  Peaks peaks;
  for (const char* key : {"initContainers", "containers"}) {
    const Json::Array& containers = list_of(spec, key);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const std::string path = std::string("spec.") + key + "[" + std::to_string(i) + "].resources";
      const Result<ContainerLimits> limits = limits_of(member(containers[i], "resources"), path);
      if (!limits) return limits.error();
      const bool runs_on =
          key == std::string_view("containers") || containers[i].string_at("restartPolicy") == "Always";
      peaks.cpu_asked.add(at_least_none(limits->requests.milli_cpu), runs_on);
      peaks.memory_asked.add(at_least_none(limits->requests.memory_bytes), runs_on);
      peaks.cpu_most.add(at_least_none(limits->limits.milli_cpu), runs_on);
      peaks.memory_most.add(at_least_none(limits->limits.memory_bytes), runs_on);
      ++peaks.containers;
    }
  }
  return peaks;
}

// What the pod says comes before what its containers do.
std::int64_t one_of(const std::optional<std::int64_t>& own, std::int64_t of_containers,
                    const std::optional<std::int64_t>& limit) {
  if (own) return at_least_none(own);
  return of_containers > 0 ? of_containers : at_least_none(limit);
}

std::optional<std::int64_t> limit_of(const std::optional<std::int64_t>& own, const Peak& of_containers) {
  if (at_least_none(own) > 0) return own;
  return of_containers.is_declared() ? std::optional(of_containers.most()) : std::nullopt;
}

// As it stands in the manifest: limits_of() would take a limit of the pod for its request, and core/v1 defaults
// (defaultPodRequests) prefer the sum of its containers.
Result<ContainerLimits> own_limits_of(const Json& spec) {
  const Json& resources = member(spec, "resources");
  Result<ContainerLimits> limits = limits_of(resources, "spec.resources");
  if (!limits) return limits;
  const Json& asked = member(resources, "requests");
  if (member(asked, "cpu").is_null()) limits->requests.milli_cpu.reset();
  if (member(asked, "memory").is_null()) limits->requests.memory_bytes.reset();
  return limits;
}

}  // namespace

Result<PodLimits> pod_limits_of(const Json& pod_spec) {
  const Result<ContainerLimits> own = own_limits_of(pod_spec);
  if (!own) return own.error();
  const Result<Peaks> peaks = peaks_of(pod_spec);
  if (!peaks) return peaks.error();
  const Result<Amounts> requests = pod_requests_of(pod_spec);
  if (!requests) return requests.error();
  return PodLimits{cpu_shares(requests->milli_cpu.value_or(0)), limit_of(own->limits.milli_cpu, peaks->cpu_most),
                   limit_of(own->limits.memory_bytes, peaks->memory_most)};
}

Result<Amounts> pod_requests_of(const Json& pod_spec) {
  const Result<ContainerLimits> own = own_limits_of(pod_spec);
  if (!own) return own.error();
  const Result<Peaks> peaks = peaks_of(pod_spec);
  if (!peaks) return peaks.error();
  const Json as_limits = Json::object().set("limits", member(pod_spec, "overhead"));
  const Result<ContainerLimits> overhead = limits_of(as_limits, "spec.overhead");
  if (!overhead) return overhead.error();
  const Amounts& asked = own->requests;
  const Amounts& most = own->limits;
  return Amounts{sum_of(one_of(asked.milli_cpu, peaks->cpu_asked.most(), most.milli_cpu),
                        at_least_none(overhead->limits.milli_cpu)),
                 sum_of(one_of(asked.memory_bytes, peaks->memory_asked.most(), most.memory_bytes),
                        at_least_none(overhead->limits.memory_bytes))};
}

Result<std::int64_t> spare_memory_per_container(const Json& pod_spec) {
  const Result<ContainerLimits> own = own_limits_of(pod_spec);
  if (!own) return own.error();
  const Result<Peaks> peaks = peaks_of(pod_spec);
  if (!peaks) return peaks.error();
  const std::int64_t asked = one_of(own->requests.memory_bytes, peaks->memory_asked.most(), own->limits.memory_bytes);
  const std::int64_t spare = asked - peaks->memory_asked.most();
  return spare > 0 && peaks->containers > 0 ? spare / peaks->containers : 0;
}

}  // namespace berth
