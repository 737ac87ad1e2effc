// ImageLoad: the images of a file or directory (archive_names.h) taken into the store under their names, one after the
// other, for devices without a registry.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/images/archive_names.h"
#include "firmware-host/agent/images/image_store.h"

namespace berth {

class ImageLoad {
 public:
  // References of all that were loaded; an error: the first that was not, with what was wrong. Those before it stay.
  // May destroy the load.
  using OnEnd = std::function<void(Result<std::vector<std::string>> references)>;

  struct Archive {
    std::string path;  // without a colon, at which skopeo would end it; it may go when this has ended
    std::string name;  // of the only image that is in it, instead of the one that it says; empty: those that it says
    std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();  // of the entries of a file, uncompressed
  };

  // Context and store must outlive it. Destroyed, it loads no further image, and does not call back.
  static Result<std::unique_ptr<ImageLoad>> start(asio::io_context& context, ImageStore& store, const Archive& archive,
                                                  OnEnd on_end);

 private:
  ImageLoad(ImageStore& store, std::string name, OnEnd on_end);
  void on_listed(const ChildEnd& end);
  void load_next();
  void finish(Status status);

  ImageStore& store_;
  std::string name_;
  OnEnd on_end_;
  std::unique_ptr<ChildTask> listing_;
  std::deque<ArchivedImage> images_;
  std::vector<std::string> loaded_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);  // known to callbacks that may come after its end
};

}  // namespace berth
