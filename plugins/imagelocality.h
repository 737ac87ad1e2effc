// ImageLocality: prefers nodes that already have the pod's images. Large images count more than small ones, and images
// that only few nodes have count less, so that pods do not pile up there. Points: Score. Cost: one lookup per container
// and node. Source: kube-scheduler pkg/scheduler/framework/plugins/imagelocality/image_locality.go.
#pragma once

#include "core/framework/framework.h"

namespace berth {

class ImageLocality final : public ScorePlugin, public BatchScorePlugin {
 public:
  static constexpr std::string_view kName = "ImageLocality";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  explicit ImageLocality(Handle& handle) : handle_(handle) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node_and_images; }
  bool tells_apart(const Pod& a, const Pod& b) const override;
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override;
  bool scores_none(const Pod&, const Snapshot& snapshot) const override { return !snapshot.has_images(); }
  bool score_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                  std::int32_t* scores) override;

 private:
  Handle& handle_;
};

}  // namespace berth
