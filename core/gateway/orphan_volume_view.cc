// Directories in the pools of devices that no volume names, as they are shown.
#include "core/gateway/status_view.h"

namespace berth {

namespace {

constexpr std::size_t kMaxNamed = 3;

}  // namespace

std::string StatusView::orphan_volumes_of(const std::string& node) const {
  const std::vector<OrphanVolumes::Orphan> orphans = placement_.orphan_volumes().of(node);
  if (orphans.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < orphans.size() && i < kMaxNamed; ++i) {
    text += (i == 0 ? "" : ", ") + orphans[i].volume.path;
    if (!orphans[i].volume.claim.empty()) text += " (claim " + orphans[i].volume.claim + ")";
  }
  if (orphans.size() > kMaxNamed) text += " and " + std::to_string(orphans.size() - kMaxNamed) + " more";
  return text + ": used, and without a PersistentVolume; keep with berthctl adopt pv NAME --node " + node +
         ", or remove with berthctl delete pv NAME";
}

Json StatusView::orphan_view(const OrphanVolumes::Orphan& orphan) const {
  const KeptVolume& kept = orphan.volume;
  Json spec = Json::object();
  if (kept.bytes > 0) spec.set("capacity", Json(Json::Object{{"storage", Json(Quantity(kept.bytes).to_text())}}));
  spec.set("storageClassName", orphan.storage_class);
  spec.set("local", Json(Json::Object{{"path", Json(kept.path)}}));
  Json status = Json::object();
  status.set("phase", "Orphan").set("nodeName", orphan.node);
  if (!kept.claim.empty()) status.set("claim", kept.claim);
  const std::string claim = placement_.orphan_volumes().claim_of(kept.volume);
  status.set("message", "a directory of node " + orphan.node +
                            " that has been used, and no PersistentVolume names it: " +
                            (claim.empty() ? "keep it with berthctl adopt pv, or remove it with delete"
                                           : "claim " + claim + " is bound to it, and gets it with berthctl adopt pv"));
  Json volume = Json::object();
  volume.set("apiVersion", "v1").set("kind", "PersistentVolume");
  volume.set("metadata", Json(Json::Object{{"name", Json(kept.volume)}}));
  return volume.set("spec", std::move(spec)).set("status", std::move(status));
}

}  // namespace berth
