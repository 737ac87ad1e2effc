// Where the image store keeps what (README.md): paths, and moves out of the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

class StoreFiles {
 public:
  explicit StoreFiles(std::string root) : root_(std::move(root)) {}

  // Makes the directories. Only their owner may enter: layers have programs with setuid in them.
  Status make() const;

  std::string blobs() const { return root_ + "/blobs"; }
  std::string layers() const { return root_ + "/layers"; }
  std::string images() const { return root_ + "/images"; }
  std::string pins() const { return root_ + "/pins"; }
  // Layers that have not come whole, by their digests.
  std::string partial() const { return root_ + "/partial"; }
  std::string staging() const { return root_ + "/staging"; }
  std::string trash() const { return root_ + "/trash"; }
  std::string blob(const std::string& digest) const { return blobs() + "/sha256/" + hex(digest); }
  std::string layer(const std::string& chain_id) const { return layers() + "/" + hex(chain_id); }
  // Of the record of an image, or of a pin: a reference and an owner may have any characters.
  static std::string record_name(const std::string& key);
  // "sha256:abc" is "abc".
  static std::string hex(const std::string& digest) { return digest.substr(digest.find(':') + 1); }

  bool has_layers(const std::vector<std::string>& chain) const;
  // The contents of a small file; an error names it.
  static Result<std::string> read(const std::string& path, std::size_t most_bytes);
  // The contents of a blob, if it is what its digest says.
  Result<std::string> read_blob(const std::string& digest, std::size_t most_bytes) const;

  // At once, whatever it is; deleted by whoever empties the trash. False: it is still there.
  [[nodiscard]] bool discard(const std::string& path);
  std::vector<std::string> discarded() const;
  // Discards what a crash has left behind: half of a layer, a fetch that has not ended.
  void discard_leftovers();

  static std::vector<std::string> entries(const std::string& directory);

 private:
  std::string root_;
  std::uint64_t discards_ = 0;
};

}  // namespace berth
