#include "plugins/volumebinding_match.h"

#include <algorithm>
#include <optional>

namespace berth {

namespace {

constexpr const char* kHostLabel = "kubernetes.io/hostname";

// Hosts that the volume's affinity names; none when it may match by anything else.
std::optional<std::set<std::string>> named_hosts(const PersistentVolume& volume) {
  if (!volume.node_affinity) return std::nullopt;
  std::set<std::string> hosts;
  for (const NodeSelectorTerm& term : volume.node_affinity->terms) {
    const auto named =
        std::find_if(term.match_expressions.begin(), term.match_expressions.end(), [](const Requirement& requirement) {
          return requirement.key == kHostLabel && requirement.op == Requirement::Operator::in;
        });
    if (named == term.match_expressions.end()) return std::nullopt;
    hosts.insert(named->values.begin(), named->values.end());
  }
  return hosts;
}

// What holds on every node: size, mode, attributes, and that it is not going away.
bool can_hold(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.capacity >= claim.request && volume.volume_mode == claim.volume_mode &&
         volume.volume_attributes_class_name == claim.volume_attributes_class_name && !volume.metadata.deleting;
}

bool offers_modes(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return std::all_of(claim.access_modes.begin(), claim.access_modes.end(), [&volume](const std::string& mode) {
    return std::find(volume.access_modes.begin(), volume.access_modes.end(), mode) != volume.access_modes.end();
  });
}

bool fits(const PersistentVolume& volume, const PersistentVolumeClaim& claim, const Node& node) {
  if (!can_hold(volume, claim) || volume.phase != "Available") return false;
  if (claim.selector && !matches(*claim.selector, volume.metadata.labels)) return false;
  return offers_modes(volume, claim) && reaches(volume, node);
}

// Of matchFields upstream asks only that they can be read: it compares the term with the node's labels alone. An empty
// term is no node's.
bool reaches(const NodeSelectorTerm& term, const Labels& labels) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  const bool readable = std::all_of(term.match_fields.begin(), term.match_fields.end(), [](const Requirement& field) {
    return (field.op == Requirement::Operator::in || field.op == Requirement::Operator::not_in) &&
           field.values.size() == 1;
  });
  return readable && std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                                 [&labels](const Requirement& requirement) { return matches(requirement, labels); });
}

bool smaller(const PersistentVolume& a, const PersistentVolume& b) {
  if (a.capacity != b.capacity) return a.capacity < b.capacity;
  return a.metadata.name < b.metadata.name;
}

}  // namespace

bool reaches(const PersistentVolume& volume, const Node& node) {
  if (!volume.node_affinity) return true;
  const std::vector<NodeSelectorTerm>& terms = volume.node_affinity->terms;
  return std::any_of(terms.begin(), terms.end(),
                     [&node](const NodeSelectorTerm& term) { return reaches(term, node.metadata.labels); });
}

VolumeIndex::VolumeIndex(const Lister& volumes, const AssumedVolumes& assumed, const std::string& storage_class) {
  for (const auto& volume : volumes.volumes_of_class(storage_class)) {
    if (!volume->claim_ref.empty()) {
      reserved_.push_back({volume, volume->claim_ref, volume->claim_ref_uid});
      continue;
    }
    if (std::string claim = assumed.claim_of(volume->metadata.name); !claim.empty()) {
      reserved_.push_back({volume, std::move(claim), {}});
      continue;
    }
    if (const std::optional<std::set<std::string>> hosts = named_hosts(*volume)) {
      for (const std::string& host : *hosts) by_host_[host].push_back(volume);
    } else {
      anywhere_.push_back(volume);
    }
  }
}

std::shared_ptr<const PersistentVolume> VolumeIndex::reserved_for(const PersistentVolumeClaim& claim) const {
  const std::string key = claim.metadata.key();
  for (const Reserved& reserved : reserved_) {
    const bool mine = reserved.claim == key && (reserved.claim_uid.empty() || reserved.claim_uid == claim.metadata.uid);
    if (mine && can_hold(*reserved.volume, claim)) return reserved.volume;
  }
  return nullptr;
}

std::shared_ptr<const PersistentVolume> VolumeIndex::smallest_for(const PersistentVolumeClaim& claim, const Node& node,
                                                                  const std::set<std::string>& taken) const {
  std::shared_ptr<const PersistentVolume> best;
  auto consider = [&](const Volumes& volumes) {
    for (const auto& volume : volumes) {
      if (best != nullptr && !smaller(*volume, *best)) continue;
      if (!taken.contains(volume->metadata.name) && fits(*volume, claim, node)) best = volume;
    }
  };
  consider(anywhere_);
  const auto host = node.metadata.labels.find(kHostLabel);
  if (host == node.metadata.labels.end()) return best;
  if (const auto here = by_host_.find(host->second); here != by_host_.end()) consider(here->second);
  return best;
}

}  // namespace berth
