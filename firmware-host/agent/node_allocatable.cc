#include "firmware-host/agent/node_allocatable.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <string_view>

namespace berth {

namespace {

bool may_be_reserved(std::string_view name) { return name == "cpu" || name == "memory" || name == "ephemeral-storage"; }

Quantity less(const Quantity& amount, std::int64_t milli) {
  return Quantity::from_milli(std::max<std::int64_t>(amount.milli_value() - milli, 0));
}

Quantity less_units(const Quantity& amount, std::int64_t units) {
  return Quantity(std::max<std::int64_t>(amount.value() - units, 0));
}

Quantity less_reserved(std::string_view name, const Quantity& amount, const Quantity& reserved) {
  return name == "cpu" ? less(amount, reserved.milli_value()) : less_units(amount, reserved.value());
}

}  // namespace

ResourceList allocatable_of(const ResourceList& capacity, const ResourceList& measured, const ResourceList& reserved,
                            const EvictionThresholds& hard) {
  ResourceList allocatable = capacity;
  for (auto& [name, amount] : allocatable) {
    if (const auto kept = reserved.find(name); kept != reserved.end()) {
      amount = less_reserved(name, amount, kept->second);
    }
    const auto own = measured.find(name);
    if (own == measured.end() || own->second != capacity.at(name)) continue;
    const bool is_memory = name == "memory";
    if (!is_memory && name != "ephemeral-storage") continue;
    const auto threshold = hard.find(is_memory ? EvictionSignal::memory_available : EvictionSignal::nodefs_available);
    if (threshold != hard.end()) amount = less_units(amount, threshold->second.of(own->second.value()));
  }
  return allocatable;
}

std::optional<std::int64_t> file_system_bytes(const std::string& directory) {
  struct statvfs found{};
  if (statvfs(directory.c_str(), &found) != 0) return std::nullopt;
  return static_cast<std::int64_t>(found.f_blocks * found.f_frsize);
}

Status check_reserved(const ResourceList& capacity, const ResourceList& reserved) {
  for (const auto& [name, amount] : reserved) {
    if (!may_be_reserved(name)) {
      return Status::error("reserved." + name + ": expected cpu, memory or ephemeral-storage");
    }
    if (const auto all = capacity.find(name); all != capacity.end() && all->second < amount) {
      return Status::error("reserved." + name + ": must not be more than the node has, " + all->second.to_text() +
                           ", got " + amount.to_text());
    }
  }
  return Status::ok();
}

}  // namespace berth
