// ImageReference: the name of a container image, with the defaults that Docker and the kubelet give it.
// Grammar: github.com/distribution/reference, reference.go and regexp.go; defaults: normalize.go there,
// ParseDockerRef().
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

// "sha256:" and 64 lower-case hexadecimal digits: the only digests that are known here. Each is also a safe file name
// behind its colon.
bool is_sha256_digest(std::string_view text);

struct ImageReference {
  std::string domain;  // host with its port: "docker.io", "registry:5000", "[fd00::1]:5000"
  std::string path;    // "library/busybox"
  std::string tag;     // empty when there is a digest: a digest says more than a tag
  std::string digest;  // "sha256:..." or empty

  // "docker.io/library/busybox"
  std::string name() const { return domain + "/" + path; }
  // "docker.io/library/busybox:latest" or "docker.io/library/busybox@sha256:..."; parses to the same reference.
  std::string text() const;
  bool operator==(const ImageReference&) const = default;
};

// Errors quote the name and say which part of it is wrong, and how it should be. Stricter than the Go library in one
// thing: there a first component such as "my_host.example" is not a host but still counts as one, so that no registry
// is left to ask.
Result<ImageReference> parse_image_reference(std::string_view text);

}  // namespace berth
