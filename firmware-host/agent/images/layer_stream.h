// LayerStream: reads the blob of a layer as a tar archive, and checks both of its digests on the way: that of the blob
// as it lies here (OCI image-spec, Content Descriptors, "digest") and that of the tar inside (OCI Image Configuration,
// "Layer DiffID").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/status.h"

struct archive;

namespace berth {

class LayerStream {
 public:
  static constexpr std::int64_t kLookBytes = 1 << 20;

  struct Expected {
    std::string digest;   // of the blob
    std::string diff_id;  // of the tar
    std::int64_t bytes;   // the tar may have this many at most
    // Before each kLookBytes of the tar: an error ends it. What it takes on the disk cannot be told from its length:
    // small files take more, and others write there too.
    std::function<Status()> look;
  };

  // Takes ownership of the descriptor. Compressed with gzip or zstd, or not at all: its first bytes tell.
  LayerStream(int fd, Expected expected);
  ~LayerStream();
  LayerStream(const LayerStream&) = delete;
  LayerStream& operator=(const LayerStream&) = delete;

  Status open();
  // For archive_read_next_header() and what follows it.
  archive* tar() const;
  std::int64_t bytes() const;  // of the tar so far

  // After the last entry: reads the rest, and says whether the digests are the expected ones.
  Status finish();
  // After `fault` while reading: the digest of the blob is told instead if it is wrong, since that is the cause then.
  Status explain(const Status& fault);
  // The blob is not what its name says: to be fetched again.
  bool is_damaged() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
