// ImagePull: one image on its way into the store: fetched by skopeo, checked, and its missing layers unpacked one after
// the other, lowest first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/images/child_task.h"
#include "firmware-host/agent/images/image_record.h"
#include "firmware-host/agent/images/image_source.h"
#include "firmware-host/agent/images/layer_unpacker.h"
#include "firmware-host/agent/images/store_files.h"

namespace berth {

class ImagePull {
 public:
  struct Plan {
    std::string reference;
    std::string source;   // what skopeo reads
    std::string staging;  // a directory of its own, to be made
    SourceOptions options;
    UnpackLimits limits;
  };
  // Once: its blobs are here, and unpack() may be called. At another time than that of other pulls: they may share
  // layers.
  using OnFetched = std::function<void()>;
  // Once, not before start() has returned. May destroy the pull.
  using OnEnd = std::function<void(Result<ImageRecord> image)>;

  // All must outlive it.
  ImagePull(asio::io_context& context, StoreFiles& files, Plan plan, OnFetched on_fetched, OnEnd on_end);

  Status start();
  void unpack();

 private:
  Status fetch();
  void on_copied(const ChildEnd& end);
  // Reads what was fetched. `is_damaged`: a blob is not what its name says.
  Status resolve(bool& is_damaged);
  void fetch_again(const Status& why);
  void on_unpacked(std::size_t layer, const UnpackEnd& end);
  void finish(Result<ImageRecord> image);

  asio::io_context& context_;
  StoreFiles& files_;
  Plan plan_;
  OnFetched on_fetched_;
  OnEnd on_end_;
  ImageRecord image_;
  bool is_again_ = false;
  bool is_unpacking_ = false;
  std::unique_ptr<ChildTask> copy_;
  std::unique_ptr<LayerUnpack> unpack_;
};

}  // namespace berth
