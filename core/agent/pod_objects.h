// PodObjects: what the manifests of pods on this device refer to by name: ConfigMaps and Secrets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/agent/runtime.h"

namespace berth {

enum class PodObjectKind : std::uint8_t { config_map, secret };

// One state of a ConfigMap or Secret, never changed. Its values are bytes: what data, binaryData and stringData hold,
// decoded.
struct PodObject {
  std::map<std::string, std::string> values;  // by key
  bool immutable = false;
};

class PodObjects {
 public:
  virtual ~PodObjects() = default;
  // In the pod's namespace, as the pod may see it now; null: there is none, or it is not here, see is_absent().
  virtual std::shared_ptr<const PodObject> find(const Tag& pod, PodObjectKind kind, const std::string& name) const = 0;
  // Of what find() does not find: whether there is none, which an optional reference allows. What exists and is not
  // here is waited for: the kubelet leaves out only what the API server says is NotFound (pkg/volume/configmap).
  virtual bool is_absent(const Tag& /*pod*/, PodObjectKind /*kind*/, const std::string& /*name*/) const { return true; }
  // Why find() finds none, for the pod's status: "secret \"s\" not found".
  virtual std::string why_missing(const Tag& /*pod*/, PodObjectKind kind, const std::string& name) const {
    return (kind == PodObjectKind::secret ? "secret \"" : "configmap \"") + name + "\" not found";
  }
};

}  // namespace berth
