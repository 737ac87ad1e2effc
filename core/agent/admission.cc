#include "core/agent/admission.h"

#include <algorithm>

#include "core/api/host_ports.h"
#include "core/api/quantity.h"

namespace berth {

namespace {

std::string show_amount(const std::string& resource, std::int64_t amount) {
  if (resource == "cpu") return show_milli(amount);
  const bool is_bytes = resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  return is_bytes ? show_bytes(amount) : std::to_string(amount);
}

void check_resources(const Demand& demand, const Offer& offer, const std::vector<const Demand*>& held,
                     std::vector<std::string>& reasons) {
  Resources used;
  for (const Demand* other : held) used.add(other->requests);
  const auto pods = static_cast<std::int64_t>(held.size());
  std::vector<InsufficientResource> missing;
  fits_resources(demand.requests, used, pods, offer.allocatable, missing);
  for (const InsufficientResource& resource : missing) {
    const std::string name(resource.name);
    const std::int64_t free = std::max<std::int64_t>(0, resource.capacity - resource.used);
    reasons.push_back("insufficient " + name + ": " + show_amount(name, resource.requested) + " asked, " +
                      show_amount(name, free) + " free");
  }
}

// "TCP/80", or "TCP/80 on 10.0.0.1".
std::string show_port(const HostPort& port) {
  const std::string text = port.protocol + "/" + std::to_string(port.port);
  return port.host_ip.empty() || port.host_ip == "0.0.0.0" ? text : text + " on " + port.host_ip;
}

void check_ports(const Demand& demand, const std::vector<const Demand*>& held, std::vector<std::string>& reasons) {
  for (const HostPort& port : demand.host_ports) {
    const bool taken =
        std::any_of(held.begin(), held.end(), [&](const Demand* other) { return conflicts(port, other->host_ports); });
    if (taken) reasons.push_back("host port " + show_port(port) + " is taken");
  }
}

bool is_offered(const Offer& offer, const BoundVolume& bound_volume) {
  return std::any_of(offer.volumes.begin(), offer.volumes.end(),
                     [&](const LocalVolume& volume) { return volume.path == bound_volume.path; }) ||
         std::any_of(offer.pools.begin(), offer.pools.end(),
                     [&](const VolumePool& pool) { return bound_volume.path == path_in(pool, bound_volume.volume); });
}

void check_volume(const BoundVolume& bound_volume, const Offer& offer, const std::vector<const Demand*>& held,
                  std::vector<std::string>& reasons) {
  if (!is_offered(offer, bound_volume)) {
    reasons.push_back("volume " + bound_volume.volume + ": this node offers no " + bound_volume.path);
    return;
  }
  for (const Demand* other : held) {
    for (const BoundVolume& theirs : other->volumes) {
      const bool same_claim = theirs.claim == bound_volume.claim;
      const bool same_volume = theirs.path == bound_volume.path || theirs.volume == bound_volume.volume;
      if (same_volume && !same_claim) {
        reasons.push_back("volume " + bound_volume.volume + " is held for claim " + theirs.claim);
        return;
      }
      if (same_claim && !same_volume) {
        reasons.push_back("claim " + bound_volume.claim + " is held with volume " + theirs.volume);
        return;
      }
    }
  }
}

}  // namespace

Status admit(const Demand& demand, const Offer& offer, const std::vector<const Demand*>& held) {
  std::vector<std::string> reasons;
  check_resources(demand, offer, held, reasons);
  check_ports(demand, held, reasons);
  for (const BoundVolume& bound_volume : demand.volumes) check_volume(bound_volume, offer, held, reasons);
  if (reasons.empty()) return Status::ok();
  const bool can_end = std::all_of(demand.volumes.begin(), demand.volumes.end(),
                                   [&](const BoundVolume& volume) { return is_offered(offer, volume); });
  return {can_end ? Code::unschedulable : Code::unresolvable, std::move(reasons)};
}

}  // namespace berth
