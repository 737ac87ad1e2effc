#include "firmware-host/agent/images/archive_names.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "core/json/json.h"
#include "core/json/members.h"
#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/images/image_reference.h"
#include "firmware-host/agent/images/store_files.h"

namespace berth {

namespace {

constexpr const char* kDockerManifest = "manifest.json";
constexpr const char* kLayoutIndex = "index.json";
constexpr const char* kReferenceName = "org.opencontainers.image.ref.name";
constexpr const char* kContainerdName = "io.containerd.image.name";
constexpr std::size_t kMostEntries = 100'000;  // of a tar
constexpr rlim_t kMostSeconds = 900;           // of the processor: a bomb may have little else
constexpr std::size_t kBlockBytes = 64 * 1024;

Result<Json> document_of(std::string_view text, const char* file) {
  Result<Json> json = Json::parse(text, {.bytes = ImageConfig::kMostBytes, .depth = 32});
  if (!json) return Status::error(std::string(file) + ": " + json.error().message());
  return json;
}

// The first of either that a tar has; that of docker counts if it has both.
struct Contents {
  std::string docker;
  std::string layout;
};

std::string entry_text(archive* in) {
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    const la_ssize_t n = archive_read_data(in, buffer.data(), buffer.size());
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > ImageConfig::kMostBytes) return text;  // refused when it is read
  }
}

Status too_many_bytes(const std::string& path, std::int64_t most_bytes) {
  return Status::error(path + " has more than " + std::to_string(most_bytes >> 20) +
                       " MiB uncompressed, for which the disk has no space: send its images one by one, or free some");
}

Result<Contents> contents_of(const std::string& path, std::int64_t most_bytes) {
  const std::unique_ptr<archive, int (*)(archive*)> in(archive_read_new(), archive_read_free);
  // Not all that there are: some filters execute programs.
  archive_read_support_filter_gzip(in.get());
  archive_read_support_filter_zstd(in.get());
  archive_read_support_filter_xz(in.get());
  archive_read_support_filter_bzip2(in.get());
  archive_read_support_format_tar(in.get());
  if (archive_read_open_filename(in.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    return Status::error("cannot read " + path + " as a tar: " + archive_error_string(in.get()));
  }
  Contents contents;
  archive_entry* entry = nullptr;
  std::int64_t left = most_bytes;
  for (std::size_t i = 0;; ++i) {
    const int read = archive_read_next_header(in.get(), &entry);
    if (read == ARCHIVE_EOF) break;
    if (i == kMostEntries) return Status::error(path + " has more than " + std::to_string(kMostEntries) + " entries");
    if (read < ARCHIVE_WARN) return Status::error(path + " is no tar: " + archive_error_string(in.get()));
    const std::int64_t size = std::max<std::int64_t>(archive_entry_size(entry), 0);
    if (size > left) return too_many_bytes(path, most_bytes);
    left -= size;
    std::string_view name = archive_entry_pathname(entry) == nullptr ? "" : archive_entry_pathname(entry);
    if (name.starts_with("./")) name.remove_prefix(2);
    if (name == kDockerManifest && contents.docker.empty()) contents.docker = entry_text(in.get());
    if (name == kLayoutIndex && contents.layout.empty()) contents.layout = entry_text(in.get());
  }
  return contents;
}

Result<std::vector<ArchivedImage>> images_in(const std::string& path, std::int64_t most_bytes) {
  struct stat is{};
  if (stat(path.c_str(), &is) == 0 && S_ISDIR(is.st_mode)) {
    const Result<std::string> index = StoreFiles::read(path + "/" + kLayoutIndex, ImageConfig::kMostBytes);
    if (!index) return index.error();
    return read_layout_names(*index, "oci", path);
  }
  const Result<Contents> contents = contents_of(path, most_bytes);
  if (!contents) return contents.error();
  if (!contents->docker.empty()) return read_docker_names(contents->docker, path);
  if (!contents->layout.empty()) return read_layout_names(contents->layout, "oci-archive", path);
  return Status::error(path + " has no manifest.json (docker save) and no index.json (OCI layout)");
}

}  // namespace

Result<std::vector<ArchivedImage>> read_docker_names(std::string_view manifest_json, const std::string& path) {
  const Result<Json> json = document_of(manifest_json, kDockerManifest);
  if (!json) return json.error();
  if (!json->is_array() || json->as_array().empty()) return Status::error("manifest.json: must list images");
  std::vector<ArchivedImage> images;
  for (std::size_t i = 0; i < json->as_array().size(); ++i) {
    const Json::Array& names = list_of(json->as_array()[i], "RepoTags");
    const std::string source = "docker-archive:" + path + ":@" + std::to_string(i);
    if (names.empty()) images.push_back({source, {}});
    for (const Json& name : names) {
      if (name.is_string()) images.push_back({source, name.as_string()});
    }
  }
  return images;
}

Result<std::vector<ArchivedImage>> read_layout_names(std::string_view index_json, const std::string& transport,
                                                     const std::string& path) {
  const Result<Json> json = document_of(index_json, kLayoutIndex);
  if (!json) return json.error();
  const Json::Array& manifests = list_of(*json, "manifests");
  if (manifests.empty()) return Status::error("index.json: must have manifests");
  std::vector<ArchivedImage> images;
  for (const Json& manifest : manifests) {
    const Json& annotations = member(manifest, "annotations");
    const std::string reference = annotations.string_at(kReferenceName);
    if (reference.empty() && manifests.size() > 1) {
      return Status::error(std::string("index.json: each of several manifests must have the annotation ") +
                           kReferenceName);
    }
    std::string name = annotations.string_at(kContainerdName);
    const bool is_tag_alone = reference.find_first_of("/:@") == std::string::npos;
    if (name.empty() && !is_tag_alone) name = reference;
    images.push_back({transport + ":" + path + (reference.empty() ? "" : ":" + reference), std::move(name)});
  }
  return images;
}

// A line for each: its source, a tab, its name. Neither has one.
ChildTask::Work listing_images(std::string path, std::int64_t most_bytes) {
  return [path = std::move(path), most_bytes](int text_fd) {
    const rlimit limit{kMostSeconds, kMostSeconds};
    setrlimit(RLIMIT_CPU, &limit);
    const Result<std::vector<ArchivedImage>> images = images_in(path, most_bytes);
    std::string text;
    for (const ArchivedImage& image : images ? *images : std::vector<ArchivedImage>()) {
      text += image.source + "\t" + image.name + "\n";
    }
    const bool is_too_long = text.size() > ChildTask::kKept;
    if (images && !is_too_long) {
      write_text(text_fd, text);
      return 0;
    }
    write_text(text_fd, images ? path + " has too many images; load them one by one" : images.error().message());
    return 1;
  };
}

std::vector<ArchivedImage> read_listed(const std::string& text) {
  std::vector<ArchivedImage> images;
  std::string_view rest = text;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    images.push_back({std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))});
  }
  return images;
}

}  // namespace berth
