// OutputFiles: core's OutputArchive in files:
//
//   <root>/<uid>@<epoch>/<container>[.previous].log[.1]    as the keeper wrote them (container_log.h)
//
// The files are moved, not copied: keeping output writes nothing but names. It is bounded by the number of pods and by
// bytes, the lowest epochs going first: epochs of a node grow with time, and the clock of a device may not be set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/agent/output_archive.h"
#include "core/log.h"
#include "core/status.h"

namespace berth {

class OutputFiles final : public OutputArchive {
 public:
  struct Limits {
    std::size_t pods = 64;
    std::uint64_t bytes = 16 * 1024 * 1024;
  };
  // `pods`: the directory of the pods' directories (keeper_runtime.h). `log` must outlive it.
  OutputFiles(std::string root, std::string pods, Limits limits, Log& log);

  // Creates the directory, and removes what is beyond the limits. Call once, before anything else.
  Status open();
  void keep(const Tag& tag) override;
  void drop(const Tag& tag) override;
  std::vector<Tag> kept() const override;

 private:
  std::string directory_of(const Tag& tag) const;
  void remove(const Tag& tag);
  void enforce();

  const std::string root_;
  const std::string pods_;
  const Limits limits_;
  Log& log_;
};

}  // namespace berth
