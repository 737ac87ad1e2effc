// Volumes whose files come from elsewhere: configMap, secret, downwardAPI, and projected, which has several of these
// (pkg/volume/projected, configmap, secret, downwardapi).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/pod_objects.h"
#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/volumes/atomic_directory.h"
#include "firmware-host/agent/volumes/pod_fields.h"

namespace berth {

struct ProjectionItem {
  std::string key;     // of the object; empty: of the downward API
  std::string path;    // of the file
  mode_t mode = 0644;  // its own, or the volume's
  Json field_ref;      // of the downward API; null: resource_ref counts
  Json resource_ref;
  std::string where;  // its field in the manifest
};

struct ProjectionSource {
  enum class Kind : std::uint8_t { config_map, secret, downward_api };
  Kind kind = Kind::config_map;
  std::string name;                   // of the object
  bool optional = false;              // it, or keys of it, may be missing
  mode_t mode = 0644;                 // of all its keys, where there are no items
  std::vector<ProjectionItem> items;  // empty: all keys
};

using Projection = std::vector<ProjectionSource>;

// Whether a volume of spec.volumes is of this kind.
bool is_projected(const Json& volume);
// Of such a volume at `path` ("spec.volumes[0]"). Sources that need an API server are refused by name:
// serviceAccountToken, clusterTrustBundle, podCertificate. Every error names the field and the fix.
Result<Projection> read_projection(const PodFacts& facts, const Json& volume, const std::string& path);

// The files, of objects as they are now. A later source goes before an earlier one. An error that is pending: an object
// or key that is not optional is missing, with the kubelet's text.
Result<Payload> project(const PodFacts& facts, const PodObjects& objects, const Projection& projection);

}  // namespace berth
