// ArchiveNames: which images are in a file that an operator brings: what `docker save` and `podman save` write, or an
// OCI layout, in a directory or a tar, compressed or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/images/child_task.h"

namespace berth {

struct ArchivedImage {
  std::string source;  // containers-transports(5), for skopeo
  std::string name;    // empty: the archive does not say
  bool operator==(const ArchivedImage&) const = default;
};

// From manifest.json of `docker save`: each name of each image.
Result<std::vector<ArchivedImage>> read_docker_names(std::string_view manifest_json, const std::string& path);
// From index.json of an OCI layout. `transport`: "oci" or "oci-archive". A name that is a tag alone is none.
Result<std::vector<ArchivedImage>> read_layout_names(std::string_view index_json, const std::string& transport,
                                                     const std::string& path);

// For a child: opens the file or directory, which the operator may have made as he likes. A file whose entries have
// more than `most_bytes` together, uncompressed, is refused: skopeo writes all of them. Exit code 0: the text is for
// read_listed(); 1: the text says what is wrong.
ChildTask::Work listing_images(std::string path, std::int64_t most_bytes);
std::vector<ArchivedImage> read_listed(const std::string& text);

}  // namespace berth
