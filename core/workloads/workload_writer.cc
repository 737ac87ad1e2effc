#include "core/workloads/workload_writer.h"

#include <utility>

#include "core/api/job.h"
#include "core/api/timestamp.h"
#include "core/controllers/garbage_collector.h"
#include "core/json/members.h"
#include "core/json/merge_patch.h"

namespace berth {
namespace {

// Annotations that controllers write on objects that operators apply: applying the same manifest leaves them.
constexpr std::string_view kControllersAnnotations[] = {"deployment.kubernetes.io/", "deprecated.daemonset.template."};

Json& metadata_in(Json& manifest) {
  if (!member(manifest, "metadata").is_object()) manifest.set("metadata", Json::object());
  return *manifest.find("metadata");
}

void set_unless_said(Json& metadata, std::string_view key, const Json& value) {
  if (!value.is_null() && member(metadata, key).is_null()) metadata.set(key, value);
}

void keep_annotations(Json& metadata, const Json& before) {
  if (!before.is_object()) return;
  for (const auto& [name, value] : before.as_object()) {
    for (const std::string_view prefix : kControllersAnnotations) {
      if (!name.starts_with(prefix)) continue;
      if (!member(metadata, "annotations").is_object()) metadata.set("annotations", Json::object());
      set_unless_said(*metadata.find("annotations"), name, value);
    }
  }
}

// What is empty is absent.
void drop_empty_lists(Json& metadata) {
  for (const std::string_view key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    const Json& value = member(metadata, key);
    const bool is_empty = (value.is_array() && value.as_array().empty()) ||
                          (value.is_object() && value.as_object().empty()) || value.is_null();
    if (is_empty) metadata.erase(key);
  }
}

// Whether all of the kind's status is counted again by the next synchronisation. Job, CronJob and StatefulSet remember
// there what nobody else knows: pods that are gone, starts, the revision before.
bool is_counted_again(Kind kind) {
  return kind == Kind::deployment || kind == Kind::replica_set || kind == Kind::replication_controller ||
         kind == Kind::daemon_set;
}

WriteResult not_found(Kind kind, const std::string& key) {
  return {WriteResult::Code::not_found, std::string(describe(kind).plural) + " \"" + key + "\" not found", {}};
}

WriteResult as_result(const Status& status) {
  if (status.is_success()) return {};
  return {WriteResult::Code::refused, status.message(), {}};
}

}  // namespace

Json WorkloadWriter::with_kept_metadata(Kind kind, const std::string& key, Json manifest) const {
  Json& metadata = metadata_in(manifest);
  metadata.erase("resourceVersion");
  metadata.erase("managedFields");
  const Workloads::Entry* known = context_.objects.workloads().find(kind, key);
  if (known == nullptr) {
    if (metadata.string_at("uid").empty()) metadata.set("uid", context_.random.hex_id());
    const Millis wall = context_.clock.wall();
    if (wall >= 0) set_unless_said(metadata, "creationTimestamp", Json(to_timestamp(wall)));
    set_unless_said(metadata, "generation", Json(1));
    drop_empty_lists(metadata);
    if (kind == Kind::job) set_job_defaults(manifest);
    return manifest;
  }
  const Json& before = member(known->manifest, "metadata");
  for (const std::string_view owned : {"uid", "creationTimestamp", "generation", "deletionTimestamp"}) {
    metadata.erase(owned);
    set_unless_said(metadata, owned, member(before, owned));
  }
  set_unless_said(metadata, "ownerReferences", member(before, "ownerReferences"));
  set_unless_said(metadata, "finalizers", member(before, "finalizers"));
  keep_annotations(metadata, member(before, "annotations"));
  drop_empty_lists(metadata);
  if (kind == Kind::job) set_job_defaults(manifest);  // by the uid
  return manifest;
}

Status WorkloadWriter::keep(Kind kind, const std::string& key, Json manifest) {
  const Workloads::Entry* known = context_.objects.workloads().find(kind, key);
  Json status = known == nullptr ? Json() : known->status;
  if (known != nullptr && member(known->manifest, "spec") != member(manifest, "spec")) {
    metadata_in(manifest).set("generation", known->object->metadata.generation + 1);
  }
  const Json& metadata = member(manifest, "metadata");
  if (metadata.find("deletionTimestamp") != nullptr && metadata.find("finalizers") == nullptr) {
    erase(kind, key);
    return Status::ok();
  }
  if (Status put = context_.objects.workloads().put(kind, std::move(manifest), std::move(status)); !put.is_success()) {
    return put;
  }
  context_.publisher.mirror(kind, key);
  context_.publisher.mark(kind, key);
  return Status::ok();
}

WriteResult WorkloadWriter::patch(Kind kind, const std::string& key, const Json& merge) {
  const Workloads::Entry* known = context_.objects.workloads().find(kind, key);
  if (known == nullptr) return not_found(kind, key);
  Json changed = known->manifest;
  apply_merge_patch(changed, merge);
  changed.erase("status");
  drop_empty_lists(metadata_in(changed));
  if (changed == known->manifest) return {};
  Status kept;
  context_.mirror.apply_unretained(kind, key, [&] { kept = keep(kind, key, std::move(changed)); });
  return as_result(kept);
}

WriteResult WorkloadWriter::patch_status(Kind kind, const std::string& key, const Json& merge) {
  const Workloads::Entry* known = context_.objects.workloads().find(kind, key);
  if (known == nullptr) return not_found(kind, key);
  Json status = known->status.is_null() ? Json::object() : known->status;
  apply_merge_patch(status, member(merge, "status"));
  if (status == known->status) return {};
  const Status put = context_.objects.workloads().put_status(kind, key, std::move(status), is_counted_again(kind));
  context_.publisher.mark(kind, key);
  return as_result(put);
}

// As the API server does with these options (registry/generic/registry/store.go, BeforeDelete and
// deletionFinalizersForGarbageCollection).
WriteResult WorkloadWriter::remove(Kind kind, const std::string& key, const DeleteOptions& options) {
  const Workloads::Entry* known = context_.objects.workloads().find(kind, key);
  if (known == nullptr) return not_found(kind, key);
  if (!options.uid.empty() && known->object->metadata.uid != options.uid) {
    return {WriteResult::Code::conflict, "the UID in the precondition does not match", {}};
  }
  Json changed = known->manifest;
  Json& metadata = metadata_in(changed);
  Json finalizers = member(metadata, "finalizers");
  const auto add = [&finalizers](std::string_view finalizer) {
    for (const Json& each : finalizers.is_array() ? finalizers.as_array() : Json::Array()) {
      if (each == Json(finalizer)) return;
    }
    finalizers.push_back(finalizer);
  };
  if (options.propagation == Propagation::foreground) add(kForegroundFinalizer);
  if (options.propagation == Propagation::orphan) add(kOrphanFinalizer);
  if (!finalizers.is_null()) metadata.set("finalizers", std::move(finalizers));
  set_unless_said(metadata, "deletionTimestamp", Json(to_timestamp(std::max<Millis>(context_.clock.wall(), 0))));
  Status kept;
  context_.mirror.apply_unretained(kind, key, [&] { kept = keep(kind, key, std::move(changed)); });
  return as_result(kept);
}

void WorkloadWriter::erase(Kind kind, const std::string& key) {
  context_.mirror.superseded().supersede({kind, key}, std::nullopt);
  context_.objects.workloads().erase(kind, key);
  context_.events.part_from(kind, key);
  context_.publisher.mirror(kind, key);
  context_.publisher.mark(kind, key);
}

}  // namespace berth
