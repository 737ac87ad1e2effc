#include "firmware-host/agent/eviction/storage_limits.h"

#include <cstdint>
#include <optional>

#include "core/api/quantity.h"
#include "core/json/members.h"

namespace berth {

namespace {

constexpr const char* kResource = "ephemeral-storage";

std::string text_of(const Json& amount) { return amount.is_string() ? amount.as_string() : amount.dump(); }

// None: there is no such limit. Zero counts as none.
std::optional<std::int64_t> bytes_of(const Json& amount) {
  if (amount.is_null()) return std::nullopt;
  const Result<Quantity> quantity = Quantity::parse(text_of(amount));
  if (!quantity || quantity->value() <= 0) return std::nullopt;
  return quantity->value();
}

const Json& limit_of_container(const Json& container) {
  return member(member(member(container, "resources"), "limits"), kResource);
}

std::string empty_dir_over(const Json& spec, const PodDisk& disk) {
  for (const Json& volume : list_of(spec, "volumes")) {
    const Json& limit = member(member(volume, "emptyDir"), "sizeLimit");
    const std::string name = volume.string_at("name");
    const auto used = disk.empty_dirs.find(name);
    const std::optional<std::int64_t> most = bytes_of(limit);
    if (!most || used == disk.empty_dirs.end() || used->second <= *most) continue;
    return "Usage of EmptyDir volume \"" + name + "\" exceeds the limit \"" + text_of(limit) + "\". ";
  }
  return {};
}

// The sum of those that have one; a pod of which none has is not limited.
std::string pod_over(const Json& spec, const PodDisk& disk) {
  std::int64_t most = 0;
  for (const Json& container : list_of(spec, "containers")) {
    most += bytes_of(limit_of_container(container)).value_or(0);
  }
  if (most <= 0 || disk.total() <= most) return {};
  return "Pod ephemeral local storage usage exceeds the total limit of containers " + show_bytes(most) + ". ";
}

std::string container_over(const Json& spec, const PodDisk& disk) {
  for (const char* key : {"initContainers", "containers"}) {
    for (const Json& container : list_of(spec, key)) {
      const Json& limit = limit_of_container(container);
      const std::string name = container.string_at("name");
      const auto used = disk.containers.find(name);
      const std::optional<std::int64_t> most = bytes_of(limit);
      if (!most || used == disk.containers.end() || used->second <= *most) continue;
      return "Container " + name + " exceeded its local ephemeral storage limit \"" + text_of(limit) + "\". ";
    }
  }
  return {};
}

}  // namespace

bool has_storage_limits(const Json& spec) {
  for (const Json& volume : list_of(spec, "volumes")) {
    if (bytes_of(member(member(volume, "emptyDir"), "sizeLimit"))) return true;
  }
  for (const char* key : {"initContainers", "containers"}) {
    for (const Json& container : list_of(spec, key)) {
      if (bytes_of(limit_of_container(container))) return true;
    }
  }
  return false;
}

std::string exceeded_storage_limit(const Json& spec, const PodDisk& disk) {
  if (!has_storage_limits(spec)) return {};
  for (const auto look : {empty_dir_over, pod_over, container_over}) {
    if (std::string why = look(spec, disk); !why.empty()) return why;
  }
  if (disk.problem.empty()) return {};
  return "Pod ephemeral local storage usage cannot be measured: " + disk.problem + ". ";
}

}  // namespace berth
