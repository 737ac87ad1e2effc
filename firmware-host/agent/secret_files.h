// SecretFiles: the Secrets of this device's pods in a tmpfs, one file each that its owner alone may read: an agent that
// restarts finds them without the gateway, and a reboot ends them.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/agent/volatile_store.h"
#include "core/log.h"
#include "core/status.h"

namespace berth {

class SecretFiles final : public VolatileStore {
 public:
  // `directory` is made with the first Secret, for its owner alone. Where it is not on a tmpfs or ramfs, or cannot be
  // made, nothing is written, which the log tells once.
  SecretFiles(std::string directory, Log& log) : directory_(std::move(directory)), log_(log) {}

  std::map<std::string, std::string> load() override;
  void put(const std::string& key, const std::string& value) override;
  void erase(const std::string& key) override;
  void clear() override;
  // Whether anything can be written; the log tells once if not.
  bool is_usable();
  // Where a value is, once it has been put.
  std::string path_of(const std::string& key) const;

 private:
  Status prepare() const;

  const std::string directory_;
  Log& log_;
  std::optional<bool> is_usable_;  // none: not tried
};

}  // namespace berth
