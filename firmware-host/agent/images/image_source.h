// Where images come from: the skopeo(1) command that copies one into the store's blobs. skopeo is executed, never
// linked: it is a program of Go, larger than the agent, and runs only while an image is fetched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/images/image_reference.h"

namespace berth {

// As Go names them: "linux", "arm", "v7".
struct Platform {
  std::string os = "linux";
  std::string architecture;
  std::string variant;  // empty: any
};

struct SourceOptions {
  std::string skopeo = "skopeo";
  Platform platform;
  std::string authfile;                          // containers-auth.json(5); empty: no credentials, anonymous
  std::vector<std::string> insecure_registries;  // "host:port": plain HTTP, or TLS whose certificate is not verified
};

// "docker://NAME": the registry that the name tells.
std::string registry_source(const ImageReference& reference);

// The arguments that copy `source` (containers-transports(5)) to the blobs in `blobs`, and to a layout "layout" in
// `staging`, a directory that exists. Blobs that are there already are not fetched. An error: no source.
Result<std::vector<std::string>> skopeo_arguments(const SourceOptions& options, const std::string& source,
                                                  const std::string& blobs, const std::string& staging);

}  // namespace berth
