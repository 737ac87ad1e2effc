#include "firmware-host/agent/images/image_source.h"

#include <algorithm>

namespace berth {

namespace {

constexpr std::string_view kRegistry = "docker://";

// The host of "docker://host:port/..."; empty when the source is none.
std::string registry_of(const std::string& source) {
  if (!source.starts_with(kRegistry)) return {};
  const Result<ImageReference> reference = parse_image_reference(std::string_view(source).substr(kRegistry.size()));
  return reference ? reference->domain : "";
}

// "oci:", "docker-archive:": none is an option of the command line.
bool has_transport(const std::string& source) {
  const std::size_t colon = source.find(':');
  return colon != std::string::npos && colon > 0 && source.front() != '-' &&
         std::all_of(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

}  // namespace

std::string registry_source(const ImageReference& reference) { return std::string(kRegistry) + reference.text(); }

Result<std::vector<std::string>> skopeo_arguments(const SourceOptions& options, const std::string& source,
                                                  const std::string& blobs, const std::string& staging) {
  if (!has_transport(source)) {
    return Status::error("image source \"" + source +
                         "\" must begin with a transport: docker://, docker-archive:, oci-archive: or oci:");
  }
  std::vector<std::string> arguments{options.skopeo, "--tmpdir", staging, "--override-os", options.platform.os};
  const auto add = [&](std::initializer_list<std::string> more) { arguments.insert(arguments.end(), more); };
  if (!options.platform.architecture.empty()) add({"--override-arch", options.platform.architecture});
  if (!options.platform.variant.empty()) add({"--override-variant", options.platform.variant});
  // Layers that are not compressed at their source, in a docker-archive say, stay so: to compress them costs more time
  // than to fetch them, and gives other bytes with each version of the compressor.
  add({"copy", "--quiet", "--dest-shared-blob-dir", blobs, "--dest-oci-accept-uncompressed-layers"});
  const std::string registry = registry_of(source);
  if (std::ranges::find(options.insecure_registries, registry) != options.insecure_registries.end()) {
    add({"--src-tls-verify=false"});
  }
  // Without either it would take those of the user that the agent runs as.
  if (!options.authfile.empty()) {
    add({"--src-authfile", options.authfile});
  } else {
    add({"--src-no-creds"});
  }
  add({source, "oci:" + staging + "/layout:image"});
  return arguments;
}

}  // namespace berth
