// Where images come from: the skopeo(1) command that copies one into the store's blobs. skopeo is executed, never
// linked: it is a program of Go, larger than the agent, and runs only while an image is fetched.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/images/image_reference.h"
#include "firmware-host/agent/images/registry_keyring.h"

namespace berth {

// As Go names them: "linux", "arm", "v7".
struct Platform {
  std::string os = "linux";
  std::string architecture;
  std::string variant;  // empty: of a device any, of an image it is not known
};

// Whether a device of the platform runs what is for another one: an ARM processor what is for older ones, down to v5
// (containerd, platforms.Only()). An image that tells no variant is taken, as skopeo takes one from an index.
bool can_run(const Platform& device, const Platform& image);

struct SourceOptions {
  std::string skopeo = "skopeo";
  std::string curl;  // fetches layers; empty: skopeo does, and begins a layer again when its connection breaks
  Platform platform;
  std::string authfile;                          // containers-auth.json(5); empty: no credentials, anonymous
  std::vector<std::string> insecure_registries;  // "host:port": plain HTTP, or TLS whose certificate is not verified
  // By registry: those that are asked before it, in this order.
  std::map<std::string, std::vector<std::string>> mirrors;

  bool is_insecure(const std::string& registry) const;
};

// An error: this skopeo lacks options that are used here. `version`: what its --version prints; what does not look like
// one is taken to be new enough, as distributions name theirs as they like.
Status check_skopeo_version(std::string_view version);

// One way to have an image.
struct PullAttempt {
  std::string source;                    // containers-transports(5)
  std::optional<Credential> credential;  // none: SourceOptions::authfile, if there is one
};

// Those of an image at a registry: its mirrors, without these credentials; then itself, with each of them, and then as
// the device itself does. pkg/kubelet/kuberuntime/kuberuntime_image.go, PullImage(): without any only if there is none.
std::vector<PullAttempt> registry_attempts(const SourceOptions& options, const ImageReference& image,
                                           const std::vector<Credential>& credentials);

// "docker://NAME": the registry that the name tells.
std::string registry_source(const ImageReference& reference);

// The image of such a source; none: it is another one.
std::optional<ImageReference> registry_image_of(const std::string& source);

// The arguments that print what an image at a registry is made of (skopeo-inspect(1)), for this platform.
std::vector<std::string> inspect_arguments(const SourceOptions& options, const std::string& source);

// The arguments that copy `source` (containers-transports(5)) to the blobs in `blobs`, and to a layout "layout" in
// `staging`, a directory that exists. Blobs that are there already are not fetched. An error: no source.
Result<std::vector<std::string>> skopeo_arguments(const SourceOptions& options, const std::string& source,
                                                  const std::string& blobs, const std::string& staging);

}  // namespace berth
