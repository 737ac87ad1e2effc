#include "plugins/nodevolumelimits.h"

#include <algorithm>
#include <compare>
#include <string>

#include "core/api/pod.h"
#include "core/api/volume.h"
#include "plugins/no_arguments.h"
#include "plugins/volume_claims.h"
#include "plugins/volume_migration.h"

namespace berth {

namespace {

const Status kTooMany = Status::unschedulable("node(s) exceed max volume count");

// A volume as its driver identifies it: two pods that use the same volume have one attachment. A claim without a volume
// represents the volume it will get; upstream distinguishes such handles from real ones by a random prefix.
struct Attachable {
  std::string driver;
  std::string handle;
  bool is_claim = false;
  auto operator<=>(const Attachable&) const = default;
};
using Attachables = std::set<Attachable>;

bool is_countable(const PodVolume& volume) {
  return !volume.claim_name.empty() || volume.ephemeral || in_tree_plugin(volume.disk) != nullptr;
}

bool holds_volumes(const Pod& pod) { return std::any_of(pod.volumes.begin(), pod.volumes.end(), is_countable); }

// The volume that a claim will get from its class's provisioner; nullopt: it does not count.
std::optional<Attachable> by_class(const Lister& lister, const CsiNode* csi_node, const PersistentVolumeClaim& claim) {
  const std::string name = class_of(claim);
  const auto storage_class = name.empty() ? nullptr : lister.storage_class(name);
  if (storage_class == nullptr || storage_class->provisioner.empty()) return std::nullopt;
  Attachable found{storage_class->provisioner, claim.metadata.key(), true};
  if (const InTreePlugin* plugin = in_tree_plugin(storage_class->provisioner)) {
    if (!is_migrated(csi_node)) return std::nullopt;
    found.driver = plugin->driver;
  }
  return found;
}

std::optional<Attachable> by_claim(const Lister& lister, const CsiNode* csi_node, const PersistentVolumeClaim& claim) {
  const auto volume = claim.volume_name.empty() ? nullptr : lister.volume(claim.volume_name);
  if (volume == nullptr) return by_class(lister, csi_node, claim);
  if (!volume->csi_driver.empty()) {
    if (volume->csi_volume_handle.empty()) return std::nullopt;
    return Attachable{volume->csi_driver, volume->csi_volume_handle};
  }
  const InTreePlugin* plugin = in_tree_plugin(volume->disk);
  if (plugin == nullptr || !is_migrated(csi_node)) return std::nullopt;
  const Result<std::string> handle = csi_handle(volume->disk, volume.get());
  if (!handle || handle->empty()) return std::nullopt;
  return Attachable{std::string(plugin->driver), *handle};
}

Status add_inline(const PodVolume& volume, const CsiNode* csi_node, Attachables& out) {
  const InTreePlugin* plugin = in_tree_plugin(volume.disk);
  if (plugin == nullptr || !is_migrated(csi_node)) return {};
  const Result<std::string> handle = csi_handle(volume.disk, nullptr);
  if (!handle) {
    return Status::error("converting volume(" + volume.name + ") from inline to csi: " + handle.error().message());
  }
  out.insert({std::string(plugin->driver), *handle});
  return {};
}

// `placed`: the pod is on the node already; a missing claim is then ignored, while for a new pod it is an error.
Status add_attachables(const Lister& lister, const Pod& pod, const CsiNode* csi_node, bool placed, Attachables& out) {
  for (const PodVolume& volume : pod.volumes) {
    if (volume.claim_name.empty() && !volume.ephemeral) {
      if (Status status = add_inline(volume, csi_node, out); !status.is_success()) return status;
      continue;
    }
    const bool ephemeral = volume.claim_name.empty();
    const std::string name = ephemeral ? pod.metadata.name + "-" + volume.name : volume.claim_name;
    const std::string key = pod.metadata.namespace_ + "/" + name;
    const auto claim = lister.claim(key);
    if (claim == nullptr && placed) continue;
    if (claim == nullptr) return Status::unresolvable("looking up PVC " + key + ": " + claim_not_found(name));
    if (ephemeral) {
      if (const std::optional<std::string> why = not_owned(pod, *claim)) return Status::error(*why);
    }
    if (std::optional<Attachable> found = by_claim(lister, csi_node, *claim)) out.insert(std::move(*found));
  }
  return {};
}

using Counts = std::map<std::string, std::int64_t>;  // by driver

Counts limits_of(const CsiNode* csi_node) {
  Counts limits;
  if (csi_node == nullptr) return limits;
  for (const CsiNode::Driver& driver : csi_node->drivers) {
    if (driver.attach_limit) limits[driver.name] = *driver.attach_limit;
  }
  return limits;
}

Counts count_by_driver(const Attachables& volumes) {
  Counts counts;
  for (const Attachable& volume : volumes) ++counts[volume.driver];
  return counts;
}

bool within(const Counts& limits, const Attachables& asked, const Attachables& attached) {
  Attachables added;
  std::set_difference(asked.begin(), asked.end(), attached.begin(), attached.end(), std::inserter(added, added.end()));
  Counts used = count_by_driver(attached);
  const Counts more = count_by_driver(added);
  return std::all_of(more.begin(), more.end(), [&](const auto& entry) {
    const auto limit = limits.find(entry.first);
    return limit == limits.end() || used[entry.first] + entry.second <= limit->second;
  });
}

Hint after_csi_node_update(const Pod&, const EventObjects& objects) {
  if (objects.old_csi_node == nullptr || objects.new_csi_node == nullptr) return Hint::queue;
  Counts before;
  for (const CsiNode::Driver& driver : objects.old_csi_node->drivers) {
    before[driver.name] = driver.attach_limit.value_or(0);
  }
  const auto& after = objects.new_csi_node->drivers;
  const bool grew = std::any_of(after.begin(), after.end(), [&before](const CsiNode::Driver& driver) {
    const auto found = before.find(driver.name);
    return driver.attach_limit.value_or(0) > (found == before.end() ? 0 : found->second);
  });
  return grew ? Hint::queue : Hint::skip;
}

// Nominated pods count as well.
Hint after_attaching_pod_deleted(const Pod&, const EventObjects& objects) {
  if (objects.old_pod == nullptr) return Hint::queue;
  const bool has_node = !objects.old_pod->node_name.empty() || !objects.old_pod->nominated_node_name.empty();
  return has_node && holds_volumes(*objects.old_pod) ? Hint::queue : Hint::skip;
}

// A disk with an invalid name may belong to any driver.
Hint after_attachment_deleted(const Pod& pod, const EventObjects& objects) {
  const bool matters = std::any_of(pod.volumes.begin(), pod.volumes.end(), [&objects](const PodVolume& volume) {
    if (!volume.claim_name.empty()) return true;
    const InTreePlugin* plugin = in_tree_plugin(volume.disk);
    if (plugin == nullptr) return false;
    return objects.old_attachment == nullptr || objects.old_attachment->attacher == plugin->driver ||
           !csi_handle(volume.disk, nullptr);
  });
  return matters ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeVolumeLimits::make(const Json& args, Handle& handle) {
  return make_without_arguments<NodeVolumeLimits>(args, handle);
}

std::vector<EventWithHint> NodeVolumeLimits::events_to_register() const {
  return {{{EventResource::csi_node, kAdd, "CSINodeAdd"}, nullptr},
          {{EventResource::csi_node, kUpdate, "CSINodeUpdate"}, after_csi_node_update},
          {{EventResource::pod, kDelete, "PodDelete"}, after_attaching_pod_deleted},
          {{EventResource::persistent_volume_claim, kAdd, "PvcAdd"}, after_used_claim},
          {{EventResource::volume_attachment, kDelete, "VolumeAttachmentDelete"}, after_attachment_deleted}};
}

Status NodeVolumeLimits::pre_filter(CycleState&, const Pod& pod, const Snapshot&, PreFilterResult&) {
  return holds_volumes(pod) ? Status() : Status::skip();
}

// Without CSINodes there are no limits.
bool NodeVolumeLimits::accepts_all(const CycleState&, const Pod& pod) const {
  Attachables asked;
  return !handle_.lister().has_csi_nodes() &&
         add_attachables(handle_.lister(), pod, nullptr, false, asked).is_success();
}

Status NodeVolumeLimits::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  const Lister& lister = handle_.lister();
  const auto csi_node = lister.csi_node(node.name());
  Attachables asked;
  if (Status status = add_attachables(lister, pod, csi_node.get(), false, asked); !status.is_success()) return status;
  const Counts limits = limits_of(csi_node.get());
  if (asked.empty() || limits.empty()) return {};
  Attachables attached;
  for (const auto& placed : node.pods) {
    Status status = add_attachables(lister, *placed, csi_node.get(), true, attached);
    if (!status.is_success()) return status;
  }
  return within(limits, asked, attached) ? Status() : kTooMany;
}

}  // namespace berth
