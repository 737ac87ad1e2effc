// ImageConfig: what an image says about the process to be started of it (OCI image-spec, OCI Image Configuration).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

struct ImageConfig {
  static constexpr std::size_t kMostBytes = 4 << 20;  // of a manifest registries take no more, of a config no less
  static constexpr std::size_t kMostEntries = 4096;   // of a list or map
  static constexpr std::size_t kLongestString = 128 << 10;  // execve(2) takes no longer one (MAX_ARG_STRLEN)
  static constexpr std::size_t kMostLayers = 500;           // overlayfs takes no more (OVL_MAX_STACK)

  std::string architecture;  // as Go names them: "arm64"
  std::string os;
  std::string variant;  // "v7" of arm; empty when it says nothing
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::vector<std::string> env;            // "NAME=value"
  std::string working_dir;                 // absolute or empty
  std::string user;                        // "user", "uid", "user:group", "uid:gid" ... or empty
  std::string stop_signal;                 // "SIGTERM", "15" or empty
  std::vector<std::string> exposed_ports;  // "80/tcp"
  std::vector<std::string> volumes;        // directories
  std::map<std::string, std::string> labels;
  std::vector<std::string> diff_ids;  // of the layers, lowest first: "sha256:..."
};

// Errors name the field: "config.Env[2]: expected NAME=value, got ...". Fields that it does not know are ignored, as
// the spec says.
Result<ImageConfig> read_image_config(std::string_view json);

}  // namespace berth
