// ClusterAccess: the seam between controllers and the objects they work on. Reads show every write at once. Upstream's
// caches show a synchronisation none of its own: it reads what it decides by before it writes, and so do ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/workload_meta.h"
#include "core/clock.h"
#include "core/controllers/controlled_pod.h"
#include "core/json/json.h"

namespace berth {

// Names an object among those of its kind.
struct ObjectKey {
  std::string name_space;  // empty for kinds without namespace
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};
inline ObjectKey key_of(const ControlledObject& object) {
  return {std::string(object.metadata.namespace_), object.metadata.name};
}

// What became of a write. `message` is upstream's text of the error, for events and conditions.
struct WriteResult {
  enum class Code { done, not_found, already_exists, conflict, refused };
  Code code = Code::done;
  std::string message;
  std::string name;  // create(): the name of the new object
  bool is_done() const { return code == Code::done; }
};

enum class Propagation { background, foreground, orphan };

struct DeleteOptions {
  std::optional<Propagation> propagation;     // none: as the kind does, in the background
  std::optional<std::int64_t> grace_seconds;  // none: the pod's own
  std::string uid;                            // precondition; empty: any
};

// An event about an object (events.k8s.io), before any aggregation.
struct WorkloadEvent {
  enum class Type { normal, warning };
  Type type = Type::normal;
  std::string reason;
  std::string message;
};

class ClusterAccess {
 public:
  virtual ~ClusterAccess() = default;

  // Milliseconds since 1970, the clock of all times in objects.
  virtual Millis now() const = 0;

  // Null when there is none, or nothing is known of the kind.
  virtual ObjectPtr find(std::string_view kind, const ObjectKey& key) const = 0;
  // Ordered by name. An empty namespace lists all of them, ordered by namespace and name.
  virtual std::vector<ObjectPtr> list(std::string_view kind, std::string_view name_space) const = 0;
  // The pods whose controller has this uid, or, with an empty one, those without a controller; ordered by name.
  virtual std::vector<ControlledPodPtr> pods_of(std::string_view name_space, std::string_view controller_uid) const = 0;
  // Whether objects of the kind live here. An owner of another kind counts as existing.
  virtual bool knows(std::string_view kind) const = 0;

  // The object without apiVersion and kind; a name is made from metadata.generateName.
  virtual WriteResult create(std::string_view kind, std::string_view name_space, Json object) = 0;
  // JSON merge patches (RFC 7386): of everything but the status, and {"status": ...}, of nothing else.
  virtual WriteResult patch(const ControlledObject& object, const Json& merge) = 0;
  virtual WriteResult patch_status(const ControlledObject& object, const Json& merge) = 0;
  virtual WriteResult remove(const ControlledObject& object, const DeleteOptions& options) = 0;
  virtual void record(const ControlledObject& about, WorkloadEvent event) = 0;
};

// The object as what its kind says it is; null when there is none.
template <class T>
std::shared_ptr<const T> find_as(const ClusterAccess& cluster, std::string_view kind, const ObjectKey& key) {
  return std::static_pointer_cast<const T>(cluster.find(kind, key));
}
template <class T>
std::vector<std::shared_ptr<const T>> list_as(const ClusterAccess& cluster, std::string_view kind,
                                              std::string_view name_space) {
  std::vector<std::shared_ptr<const T>> objects;
  for (const ObjectPtr& object : cluster.list(kind, name_space)) {
    objects.push_back(std::static_pointer_cast<const T>(object));
  }
  return objects;
}

}  // namespace berth
