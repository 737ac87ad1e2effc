// LayerUnpack: one layer of an image, from its blob to a directory that overlayfs can have as a lower one, in a child
// that has nothing but this directory (layer_writer.h). The directory is there with all its contents, on disk, or not
// at all: it has another name, kPartial, until then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/images/child_task.h"
#include "firmware-host/agent/images/layer_writer.h"

namespace berth {

struct UnpackLimits {
  std::int64_t bytes = std::int64_t{8} << 30;  // of the tar, with what pads its entries
  std::int64_t entries = 1'000'000;
  std::int64_t kept_free = 16 << 20;  // bytes of the disk (disk_space.h)
};

struct LayerToUnpack {
  std::string blob;                // path
  std::string digest;              // of the blob, from the manifest
  std::string diff_id;             // of the tar in it, from the image's config
  std::string directory;           // to be made; the one that it is in must exist
  std::vector<std::string> lower;  // directories of the layers below, topmost first
  UnpackLimits limits;
};

struct UnpackEnd {
  Status status;                  // an error names the entry, the limit, the disk or the digest; nothing is left then
  bool is_damaged = false;        // the blob does not have its digest: fetch it again
  bool is_without_space = false;  // it fits the limits, but not the disk
  UnpackedLayer unpacked{};       // on success
};

class LayerUnpack {
 public:
  static constexpr const char* kPartial = ".partial";
  // May destroy the object.
  using OnEnd = std::function<void(UnpackEnd end)>;

  // The context must outlive it. Destroyed before its end, it leaves the partial directory for whoever sweeps.
  static Result<std::unique_ptr<LayerUnpack>> start(asio::io_context& context, LayerToUnpack layer, OnEnd on_end);

 private:
  LayerUnpack(asio::io_context& context, LayerToUnpack layer, OnEnd on_end);
  void on_unpacked(const ChildEnd& end);
  void remove_partial();
  void finish();
  std::string partial() const { return layer_.directory + kPartial; }

  asio::io_context& context_;
  LayerToUnpack layer_;
  OnEnd on_end_;
  UnpackEnd result_;
  std::unique_ptr<ChildTask> task_;
};

}  // namespace berth
