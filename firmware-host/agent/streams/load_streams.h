// LoadStreams: archives of images that operators send, for devices without a registry. Each is written to a file in the
// image store's staging, and loaded once all of it is there; the file goes with its stream, and with the agent's next
// start.
#pragma once

#include <cstdint>
#include <functional>

#include "core/status.h"
#include "core/streams/stream_source.h"

namespace asio {
class io_context;
}

namespace berth {

class ImageStore;

class LoadStreams {
 public:
  static constexpr std::uint64_t kArchiveBytes = std::uint64_t{4} << 30;  // of one archive

  // `store`: null where there are no containers. `high_percent`: an archive does not fill its disk up to there
  // (containers.image_high_percent), since the images that others need would be removed for it. All must outlive it and
  // the sources.
  LoadStreams(ImageStore* store, int high_percent, asio::io_context& context)
      : store_(store), high_percent_(high_percent), context_(context) {}

  // As StreamSources::open(); one at a time.
  Result<OpenedStream> open(const LoadQuery& query, std::function<void()> ready);

 private:
  class Source;
  ImageStore* const store_;
  const int high_percent_;
  asio::io_context& context_;
  bool is_open_ = false;
};

}  // namespace berth
