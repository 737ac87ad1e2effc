#include "core/agent/admission.h"

#include <algorithm>

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
  for (const InsufficientResource& lack : fits_resources(demand.requests, used, pods, offer.allocatable)) {
    const std::int64_t free = std::max<std::int64_t>(0, lack.capacity - lack.used);
    reasons.push_back("insufficient " + lack.name + ": " + show_amount(lack.name, lack.requested) + " asked, " +
                      show_amount(lack.name, free) + " free");
  }
}

void check_ports(const Demand& demand, const std::vector<const Demand*>& held, std::vector<std::string>& reasons) {
  const auto base = [](const std::string& port) { return port.substr(0, port.find(' ')); };
  const auto collide = [&](const std::string& a, const std::string& b) {
    // A port on every address collides with the same port on one.
    return a == b || (base(a) == base(b) && (a == base(a) || b == base(b)));
  };
  for (const std::string& port : demand.host_ports) {
    const bool taken = std::any_of(held.begin(), held.end(), [&](const Demand* other) {
      return std::any_of(other->host_ports.begin(), other->host_ports.end(),
                         [&](const std::string& theirs) { return collide(port, theirs); });
    });
    if (taken) reasons.push_back("host port " + port + " is taken");
  }
}

void check_volume(const VolumeGrant& grant, const Offer& offer, const std::vector<const Demand*>& held,
                  std::vector<std::string>& reasons) {
  const auto offered = std::find_if(offer.volumes.begin(), offer.volumes.end(),
                                    [&](const LocalVolume& volume) { return volume.path == grant.path; });
  if (offered == offer.volumes.end()) {
    reasons.push_back("volume " + grant.volume + ": this node offers no " + grant.path);
    return;
  }
  for (const Demand* other : held) {
    for (const VolumeGrant& theirs : other->volumes) {
      const bool same_claim = theirs.claim == grant.claim;
      const bool same_volume = theirs.path == grant.path || theirs.volume == grant.volume;
      if (same_volume && !same_claim) {
        reasons.push_back("volume " + grant.volume + " is held for claim " + theirs.claim);
        return;
      }
      if (same_claim && !same_volume) {
        reasons.push_back("claim " + grant.claim + " is held with volume " + theirs.volume);
        return;
      }
    }
  }
}

}  // namespace

std::vector<std::string> host_ports(const Json& manifest) {
  std::vector<std::string> ports;
  const Json* spec = manifest.find("spec");
  const Json* containers = spec == nullptr ? nullptr : spec->find("containers");
  if (containers == nullptr || !containers->is_array()) return ports;
  for (const Json& container : containers->as_array()) {
    const Json* list = container.find("ports");
    if (list == nullptr || !list->is_array()) continue;
    for (const Json& port : list->as_array()) {
      const Json* number = port.find("hostPort");
      if (number == nullptr || !number->is_integer() || number->as_int() <= 0) continue;
      const Json* protocol = port.find("protocol");
      const Json* address = port.find("hostIP");
      std::string text = protocol != nullptr && protocol->is_string() ? protocol->as_string() : "TCP";
      text += "/" + std::to_string(number->as_int());
      const bool one_address = address != nullptr && address->is_string() && !address->as_string().empty() &&
                               address->as_string() != "0.0.0.0";
      if (one_address) text += " on " + address->as_string();
      ports.push_back(std::move(text));
    }
  }
  return ports;
}

Status admit(const Demand& demand, const Offer& offer, const std::vector<const Demand*>& held) {
  std::vector<std::string> reasons;
  check_resources(demand, offer, held, reasons);
  check_ports(demand, held, reasons);
  for (const VolumeGrant& grant : demand.volumes) check_volume(grant, offer, held, reasons);
  if (reasons.empty()) return Status::ok();
  return {Code::unschedulable, std::move(reasons)};
}

}  // namespace berth
