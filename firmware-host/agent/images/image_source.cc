#include "firmware-host/agent/images/image_source.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace berth {

namespace {

constexpr std::string_view kRegistry = "docker://";

// "oci:", "docker-archive:": none is an option of the command line.
bool has_transport(const std::string& source) {
  const std::size_t colon = source.find(':');
  return colon != std::string::npos && colon > 0 && source.front() != '-' &&
         std::all_of(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

std::vector<std::string> platform_arguments(const SourceOptions& options) {
  std::vector<std::string> arguments{options.skopeo, "--override-os", options.platform.os};
  const auto add = [&](std::initializer_list<std::string> more) { arguments.insert(arguments.end(), more); };
  if (!options.platform.architecture.empty()) add({"--override-arch", options.platform.architecture});
  if (!options.platform.variant.empty()) add({"--override-variant", options.platform.variant});
  return arguments;
}

// The number that the text begins with, which is taken off it; none: it does not.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// "v7" is 7, and so is "7"; none: it is of another form.
std::optional<int> version_of(std::string_view variant) {
  if (variant.starts_with('v')) variant.remove_prefix(1);
  const std::optional<int> version = take_number(variant);
  return variant.empty() ? version : std::nullopt;
}

constexpr int kOldestArm = 5;

// Begins inspect's --no-tags. Debian 11 has 1.2, Debian 12 has 1.9.
constexpr std::pair kOldestSkopeo{1, 6};

}  // namespace

Status check_skopeo_version(std::string_view version) {
  constexpr std::string_view kBefore = "skopeo version ";
  if (!version.starts_with(kBefore)) return Status::ok();
  std::string_view numbers =
      version.substr(kBefore.size(), version.find_first_of(" \n", kBefore.size()) - kBefore.size());
  const std::string found(numbers);
  const std::optional<int> major = take_number(numbers);
  if (!major || !numbers.starts_with('.')) return Status::ok();
  numbers.remove_prefix(1);
  const std::optional<int> minor = take_number(numbers);
  if (!minor || std::pair(*major, *minor) >= kOldestSkopeo) return Status::ok();
  return Status::error("it is of version " + found + ", expected " + std::to_string(kOldestSkopeo.first) + "." +
                       std::to_string(kOldestSkopeo.second) + " or newer, as Debian 12 has it");
}

bool can_run(const Platform& device, const Platform& image) {
  if (image.os != device.os) return false;
  if (!device.architecture.empty() && image.architecture != device.architecture) return false;
  if (device.variant.empty() || image.variant.empty() || image.variant == device.variant) return true;
  const std::optional<int> own = version_of(device.variant);
  const std::optional<int> wanted = version_of(image.variant);
  return device.architecture == "arm" && own && wanted && *wanted >= kOldestArm && *wanted <= *own;
}

std::string registry_source(const ImageReference& reference) { return std::string(kRegistry) + reference.text(); }

std::optional<ImageReference> registry_image_of(const std::string& source) {
  if (!source.starts_with(kRegistry)) return std::nullopt;
  Result<ImageReference> reference = parse_image_reference(std::string_view(source).substr(kRegistry.size()));
  return reference ? std::optional<ImageReference>(std::move(*reference)) : std::nullopt;
}

bool SourceOptions::is_insecure(const std::string& registry) const {
  return std::ranges::find(insecure_registries, registry) != insecure_registries.end();
}

std::vector<PullAttempt> registry_attempts(const SourceOptions& options, const ImageReference& image,
                                           const std::vector<Credential>& credentials) {
  std::vector<PullAttempt> attempts;
  if (const auto mirrors = options.mirrors.find(image.domain); mirrors != options.mirrors.end()) {
    for (const std::string& mirror : mirrors->second) {
      ImageReference there = image;
      there.domain = mirror;
      attempts.push_back({registry_source(there), std::nullopt});
    }
  }
  for (const Credential& credential : credentials) attempts.push_back({registry_source(image), credential});
  if (credentials.empty() || !options.authfile.empty()) attempts.push_back({registry_source(image), std::nullopt});
  return attempts;
}

std::vector<std::string> inspect_arguments(const SourceOptions& options, const std::string& source) {
  std::vector<std::string> arguments = platform_arguments(options);
  const auto add = [&](std::initializer_list<std::string> more) { arguments.insert(arguments.end(), more); };
  add({"inspect", "--no-tags"});
  const std::optional<ImageReference> image = registry_image_of(source);
  if (image && options.is_insecure(image->domain)) add({"--tls-verify=false"});
  if (!options.authfile.empty()) {
    add({"--authfile", options.authfile});
  } else {
    add({"--no-creds"});
  }
  add({source});
  return arguments;
}

Result<std::vector<std::string>> skopeo_arguments(const SourceOptions& options, const std::string& source,
                                                  const std::string& blobs, const std::string& staging) {
  if (!has_transport(source)) {
    return Status::error("image source \"" + source +
                         "\" must begin with a transport: docker://, docker-archive:, oci-archive: or oci:");
  }
  std::vector<std::string> arguments = platform_arguments(options);
  const auto add = [&](std::initializer_list<std::string> more) { arguments.insert(arguments.end(), more); };
  arguments.insert(arguments.begin() + 1, {"--tmpdir", staging});
  // Layers that are not compressed at their source, in a docker-archive say, stay so: to compress them costs more time
  // than to fetch them, and gives other bytes with each version of the compressor.
  add({"copy", "--quiet", "--dest-shared-blob-dir", blobs, "--dest-oci-accept-uncompressed-layers"});
  const std::optional<ImageReference> image = registry_image_of(source);
  if (image && options.is_insecure(image->domain)) add({"--src-tls-verify=false"});
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
