// ObjectAdmission: manifests of the kinds that neither wait nor run: volumes and claims, classes, namespaces, services,
// budgets, ConfigMaps and Secrets, and what CSI drivers report. They are checked, kept, published, and waiting pods
// hear of them.
#pragma once

#include <string>

#include "core/api/decode.h"
#include "core/placement/context.h"
#include "core/placement/object_changes.h"
#include "core/placement/volume_binder.h"

namespace berth {

// What became of a manifest.
struct Accepted {
  std::string result;  // "created", "updated", "unchanged", "waiting"
  std::string key;
  std::string uid;
  Warnings warnings;
};

class ObjectAdmission {
 public:
  // All outlive it.
  ObjectAdmission(const PlacementContext& context, VolumeBinder& volumes, ObjectChanges& changes)
      : context_(context), volumes_(volumes), changes_(changes) {}

  // `expected_key`: the name that the topic says; empty: any. An error names the field and changes nothing;
  // Code::unschedulable means that there is no capacity for new objects. A volume whose directory is another's already
  // is refused, but one from a topic is taken with a warning and an event: it may have been taken by an earlier
  // gateway.
  Result<Accepted> accept(Kind kind, const Json& object, const std::string& expected_key);
  // What accept() would answer, without a uid for what has none; changes nothing.
  Result<Accepted> check(Kind kind, const Json& object);

 private:
  enum class Stores { no, yes };
  Status may_take(Kind kind, const std::string& key) const;
  Status may_take_config(Kind kind, const std::string& key, const Json& manifest) const;
  Status keep(Kind kind, const Json& manifest, const std::string& expected_key, Stores stores, Accepted& accepted);
  void set_default_class(const PersistentVolumeClaim& claim, Json& manifest) const;
  void tell_of_claim(const std::string& key) const;
  // The error, or none; a volume from a topic gets a warning instead.
  Status check_directory(const PersistentVolume& volume, bool from_topic, Warnings& warnings) const;
  Json with_owned_fields(Kind kind, const std::string& key, Json manifest) const;

  const PlacementContext& context_;
  VolumeBinder& volumes_;
  ObjectChanges& changes_;
};

}  // namespace berth
