#include "plugins/volumezone.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/volume.h"
#include "plugins/no_arguments.h"
#include "plugins/volume_claims.h"

namespace berth {

namespace {

const Status kOtherZone = Status::unresolvable("node(s) had no available volume zone");

// A topology label; a node may have the stable label where a volume has the beta one.
struct TopologyLabel {
  const char* name;
  const char* stable;
};
constexpr std::array kTopologyLabels{
    TopologyLabel{"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    TopologyLabel{"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    TopologyLabel{"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    TopologyLabel{"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
};

struct VolumeTopology {
  TopologyLabel label;
  std::set<std::string> values;
};

struct VolumeTopologies final : StateEntry {
  std::vector<VolumeTopology> all;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<VolumeTopologies>(*this); }
};

// "a__b" names two zones. With an empty name among them, the label is ignored (cloud-provider volume/helpers/zones.go
// LabelZonesToSet).
std::optional<std::set<std::string>> split_zones(const std::string& text) {
  static const std::string kDelimiter = "__";
  std::set<std::string> zones;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(kDelimiter, begin);
    std::string zone = text.substr(begin, end == std::string::npos ? end : end - begin);
    const std::size_t first = zone.find_first_not_of(" \t\n\r");
    if (first == std::string::npos) return std::nullopt;
    zone = zone.substr(first, zone.find_last_not_of(" \t\n\r") - first + 1);
    zones.insert(std::move(zone));
    if (end == std::string::npos) return zones;
    begin = end + kDelimiter.size();
  }
}

void add_topologies(const PersistentVolume& volume, std::vector<VolumeTopology>& out) {
  for (const TopologyLabel& label : kTopologyLabels) {
    const auto found = volume.metadata.labels.find(label.name);
    if (found == volume.metadata.labels.end()) continue;
    if (std::optional<std::set<std::string>> zones = split_zones(found->second)) {
      out.push_back({label, std::move(*zones)});
    }
  }
}

bool same_topologies(const PersistentVolume& a, const PersistentVolume& b) {
  std::vector<VolumeTopology> of_a;
  std::vector<VolumeTopology> of_b;
  add_topologies(a, of_a);
  add_topologies(b, of_b);
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                    [](const VolumeTopology& x, const VolumeTopology& y) {
                      return std::string_view(x.label.name) == y.label.name && x.values == y.values;
                    });
}

// A claim without a volume is not checked if its volume is chosen together with the node.
Status check_unbound(const Lister& lister, const PersistentVolumeClaim& claim) {
  const std::string name = class_of(claim);
  if (name.empty()) return Status::unresolvable("PersistentVolumeClaim had no pv name and storageClass name");
  const auto storage_class = lister.storage_class(name);
  if (storage_class == nullptr) {
    return Status::unresolvable("storageclass.storage.k8s.io \"" + name + "\" not found");
  }
  if (!storage_class->wait_for_first_consumer) return Status::unresolvable("PersistentVolume had no name");
  return {};
}

bool is_in_zone(const VolumeTopology& topology, const Labels& labels) {
  auto found = labels.find(topology.label.name);
  if (found == labels.end()) found = labels.find(topology.label.stable);
  return found != labels.end() && topology.values.contains(found->second);
}

bool is_in_zones(const std::vector<VolumeTopology>& topologies, const Labels& labels) {
  // Nodes need no labels if all are in one zone.
  const bool labelled = std::any_of(kTopologyLabels.begin(), kTopologyLabels.end(),
                                    [&labels](const TopologyLabel& label) { return labels.contains(label.name); });
  return !labelled || std::all_of(topologies.begin(), topologies.end(),
                                  [&labels](const VolumeTopology& each) { return is_in_zone(each, labels); });
}

Hint after_class_added(const Pod&, const EventObjects& objects) {
  const bool waits = objects.new_class == nullptr || objects.new_class->wait_for_first_consumer;
  return waits ? Hint::queue : Hint::skip;
}

// An event without a volume reports a dropped assumption, which does not change zones.
Hint after_volume_change(const Pod&, const EventObjects& objects) {
  if (objects.new_volume == nullptr) return Hint::skip;
  const bool moved = objects.old_volume == nullptr || !same_topologies(*objects.old_volume, *objects.new_volume);
  return moved ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> VolumeZone::make(const Json& args, Handle& handle) {
  return make_without_arguments<VolumeZone>(args, handle);
}

std::vector<EventWithHint> VolumeZone::events_to_register() const {
  return {{{EventResource::storage_class, kAdd, "StorageClassAdd"}, after_class_added},
          {{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, nullptr},
          {{EventResource::persistent_volume_claim, kAdd | kUpdate, "PvcChange"}, after_named_claim},
          {{EventResource::persistent_volume, kAdd | kUpdate, "PvChange"}, after_volume_change}};
}

Status VolumeZone::pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) {
  const Lister& lister = handle_.lister();
  auto found = std::make_unique<VolumeTopologies>();
  for (const PodVolume& volume : pod.volumes) {
    if (volume.claim_name.empty()) continue;
    const auto claim = lister.claim(pod.metadata.namespace_ + "/" + volume.claim_name);
    if (claim == nullptr) return Status::unresolvable(claim_not_found(volume.claim_name));
    if (claim->volume_name.empty()) {
      if (Status status = check_unbound(lister, *claim); !status.is_success()) return status;
      continue;
    }
    const auto bound = lister.volume(claim->volume_name);
    if (bound == nullptr) {
      return Status::unresolvable("persistentvolume \"" + claim->volume_name + "\" not found");
    }
    add_topologies(*bound, found->all);
  }
  if (found->all.empty()) return Status::skip();
  state.write(std::move(found));
  return {};
}

Status VolumeZone::filter(CycleState& state, const Pod&, const NodeInfo& node) {
  const auto* topologies = state.read<VolumeTopologies>();
  if (topologies == nullptr) return Status::error("PreFilter did not run");
  return is_in_zones(topologies->all, node.node->metadata.labels) ? Status() : kOtherZone;
}

}  // namespace berth
