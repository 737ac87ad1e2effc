#include "plugins/volume_migration.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/api/volume.h"

namespace berth {

namespace {

using Type = DiskSource::Type;

constexpr std::array kPlugins{
    InTreePlugin{Type::aws_elastic_block_store, "kubernetes.io/aws-ebs", "ebs.csi.aws.com"},
    InTreePlugin{Type::gce_persistent_disk, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"},
    InTreePlugin{Type::azure_disk, "kubernetes.io/azure-disk", "disk.csi.azure.com"},
    InTreePlugin{Type::cinder, "kubernetes.io/cinder", "cinder.csi.openstack.org"},
};

std::vector<std::string> split(std::string_view text, std::string_view delimiter) {
  std::vector<std::string> parts;
  for (std::size_t end = text.find(delimiter); end != std::string_view::npos; end = text.find(delimiter)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.emplace_back(text);
  return parts;
}

// "vol-1" or "aws://<zone>/vol-1".
Result<std::string> ebs_handle(const std::string& id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) return id;
  std::string_view rest = std::string_view(id).substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  while (rest.starts_with('/')) rest.remove_prefix(1);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.starts_with("vol-") && rest.find('/') == std::string_view::npos) return std::string(rest);
  return Status::error("invalid format for AWS volume (" + id + ")");
}

// "europe-west1-b" is in "europe-west1"; a disk in several zones must be in one region.
Result<std::string> region_of(const std::vector<std::string>& zones) {
  std::string region;
  for (const std::string& zone : zones) {
    const std::vector<std::string> parts = split(zone, "-");
    if (parts.size() != 3)
      return Status::error("zone in unexpected format, expected {locale}-{region}-{zone}, got: " + zone);
    const std::string mine = parts[0] + "-" + parts[1];
    if (!region.empty() && region != mine) return Status::error("multiple or no regions gotten from zones");
    region = mine;
  }
  return region;
}

Result<std::string> pd_handle(const std::string& id, const PersistentVolume* volume) {
  const Labels none;
  const Labels& labels = volume == nullptr ? none : volume->metadata.labels.get();
  auto label = labels.find("topology.kubernetes.io/zone");
  if (label == labels.end()) label = labels.find("failure-domain.beta.kubernetes.io/zone");
  const std::vector<std::string> zones = split(label == labels.end() ? std::string() : label->second, "__");
  if (zones.size() > 1) {
    Result<std::string> region = region_of(zones);
    if (!region) return region;
    return "projects/UNSPECIFIED/regions/" + *region + "/disks/" + id;
  }
  return "projects/UNSPECIFIED/zones/" + (zones[0].empty() ? "UNSPECIFIED" : zones[0]) + "/disks/" + id;
}

}  // namespace

const InTreePlugin* in_tree_plugin(const DiskSource& disk) {
  const auto found = std::find_if(kPlugins.begin(), kPlugins.end(),
                                  [&disk](const InTreePlugin& plugin) { return plugin.type == disk.type; });
  return found == kPlugins.end() ? nullptr : &*found;
}

const InTreePlugin* in_tree_plugin(std::string_view name) {
  const auto found = std::find_if(kPlugins.begin(), kPlugins.end(),
                                  [name](const InTreePlugin& plugin) { return plugin.name == name; });
  return found == kPlugins.end() ? nullptr : &*found;
}

bool is_migrated(const CsiNode* node) { return node != nullptr; }

Result<std::string> csi_handle(const DiskSource& disk, const PersistentVolume* volume) {
  switch (disk.type) {
    case Type::aws_elastic_block_store: return ebs_handle(disk.id);
    case Type::gce_persistent_disk: return pd_handle(disk.id, volume);
    default: return disk.id;
  }
}

}  // namespace berth
