// Which runtimes a device has, and of which versions: as features, which no pod asks for, and as the node's nodeInfo
// tells it.
#pragma once

#include <string>

#include "core/clock.h"

namespace berth {

struct RuntimeVersion {
  std::string name;     // "crun"
  std::string version;  // "1.8.1"; empty: unknown
};

// What `program --version` says first that looks like a version: "crun version 1.8.1", "bubblewrap 0.8.0". Unknown
// where it says none within this time. `program`: its path.
RuntimeVersion runtime_version(const std::string& program, Millis patience_ms = 2000);

// "runtimes/crun-1.8.1"; "runtimes/crun" where the version is unknown.
std::string feature_of(const RuntimeVersion& runtime);

// "crun://1.8.1", or "crun://Unknown" (pkg/kubelet/nodestatus/setters.go, VersionInfo).
std::string container_runtime_version(const RuntimeVersion& runtime);

}  // namespace berth
