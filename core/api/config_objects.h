// ConfigMap and Secret (core/v1), decoded: what pods read as files and environment.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/api/kind.h"
#include "core/api/metadata.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

struct ConfigMap {
  ObjectMeta metadata;
  bool immutable = false;
  Json manifest;
};

struct Secret {
  ObjectMeta metadata;
  std::string type;  // "Opaque" unless the manifest says another one
  bool immutable = false;
  // Why the values cannot be read now, for the operator; empty: they can. The manifest then has none.
  std::string locked;
  Json manifest;
};

// pkg/apis/core/types.go MaxSecretSize: of all values of a ConfigMap or Secret.
inline constexpr std::size_t kConfigBytesMax = 1 << 20;
// Of a manifest's text: values in base64, keys, and what escapes add. Kubernetes' own limit is etcd's for a request.
inline constexpr std::size_t kConfigTextMax = 3 << 19;

inline constexpr Json::Limits kConfigLimits{.bytes = kConfigTextMax, .depth = 80};

constexpr bool is_config(Kind kind) { return kind == Kind::config_map || kind == Kind::secret; }

// A Secret as the API server keeps it: stringData is laid over data, and a type is there (pkg/apis/core/v1
// Convert_v1_Secret_To_core_Secret, SetDefaults_Secret). What is malformed stays, for the decoder to refuse.
Json with_merged_string_data(Json manifest);
// Why a pod's device may not be given `now` in place of `before`, both manifests of that kind: what is immutable has
// changed (ValidateConfigMapUpdate, ValidateSecretUpdate). Success: it may. The text shows no value.
Status check_config_update(Kind kind, const Json& before, const Json& now);
// The values of a manifest that was decoded, as bytes, by key.
std::map<std::string, std::string> values_of(Kind kind, const Json& manifest);
// The same manifest, each value replaced by the number of its bytes.
Json with_sizes_only(Kind kind, Json manifest);

}  // namespace berth
