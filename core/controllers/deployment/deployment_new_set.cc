#include "core/controllers/deployment/deployment_new_set.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/controllers/deployment/deployment_annotations.h"
#include "core/controllers/deployment/deployment_status.h"
#include "core/controllers/ownership.h"
#include "core/controllers/template_hash.h"
#include "core/json/canonical.h"
#include "core/json/members.h"
#include "core/json/merge_patch.h"

namespace berth {
namespace {

constexpr std::string_view kHashLabel = "pod-template-hash";

// object.<path> with the label; the objects on the path are made where they are missing.
void set_label(Json& object, std::string_view path, const std::string& hash) {
  Json labels = member(object, path);
  labels.set(kHashLabel, hash);
  object.set(path, std::move(labels));
}

std::int64_t next_revision(const ReplicaSets& sets) { return highest_revision(sets.old) + 1; }

// The ReplicaSet that is to be created.
ReplicaSet make_set(const DeploymentWork& work, const std::string& hash) {
  const Deployment& deployment = work.deployment;
  ReplicaSet set;
  set.metadata.name = deployment.metadata.name + "-" + hash;
  set.metadata.namespace_ = deployment.metadata.namespace_;
  Labels annotations = new_set_annotations(deployment, {}, next_revision(work.sets));
  set_size_annotations(deployment, annotations);
  set.metadata.annotations = std::move(annotations);
  Labels labels = deployment.spec.pod_template.labels.get();
  labels[std::string(kHashLabel)] = hash;
  set.metadata.labels = std::move(labels);
  set.spec.replicas = within_limit(work, 0, new_set_replicas(deployment, work.sets.old, 0));
  set.spec.min_ready_seconds = deployment.spec.min_ready_seconds;
  set.spec.pod_template = deployment.spec.pod_template;
  return set;
}

Json manifest_of(const ReplicaSet& set, const Deployment& deployment, const std::string& hash) {
  Json metadata = Json::object();
  metadata.set("name", set.metadata.name);
  metadata.set("labels", to_json(set.metadata.labels.get()));
  metadata.set("annotations", to_json(set.metadata.annotations.get()));
  metadata.set("ownerReferences", to_json(std::vector{controller_reference(deployment, Deployment::kApiVersion)}));
  Json selector = deployment.selector_json;
  set_label(selector, "matchLabels", hash);
  Json pods = deployment.spec.pod_template.json.get();
  Json pod_metadata = member(pods, "metadata");
  set_label(pod_metadata, "labels", hash);
  pods.set("metadata", std::move(pod_metadata));
  Json spec = Json::object();
  spec.set("replicas", set.spec.replicas);
  if (set.spec.min_ready_seconds != 0) spec.set("minReadySeconds", set.spec.min_ready_seconds);
  spec.set("selector", std::move(selector)).set("template", std::move(pods));
  Json manifest = Json::object();
  manifest.set("metadata", std::move(metadata)).set("spec", std::move(spec));
  return manifest;
}

// Whether the object that has the name is the Deployment's new ReplicaSet all the same.
bool take_existing(DeploymentWork& work, const std::string& name) {
  const Deployment& deployment = work.deployment;
  const auto existing =
      find_as<ReplicaSet>(work.cluster, ReplicaSet::kKind, {std::string(deployment.metadata.namespace_), name});
  if (existing == nullptr || existing->metadata.controller_uid != deployment.metadata.uid ||
      !has_same_template(existing->spec.pod_template, deployment.spec.pod_template)) {
    return false;
  }
  work.sets.newest = existing;
  return true;
}

void report_failure(DeploymentWork& work, const std::string& name, const std::string& error) {
  const std::string text = "Failed to create new replica set \"" + name + "\": " + error;
  if (has_progress_deadline(work.deployment)) {
    set_deployment_condition(work.deployment.status, kProgressing, "False", "ReplicaSetCreateError", text,
                             work.cluster.now());
    write_deployment_status(work);
  }
  work.cluster.record(work.deployment, {WorkloadEvent::Type::warning, "ReplicaSetCreateError", text});
}

void report_creation(DeploymentWork& work) {
  const ReplicaSet& set = *work.sets.newest;
  if (set.spec.replicas > 0) {
    work.cluster.record(work.deployment, {WorkloadEvent::Type::normal, "ScalingReplicaSet",
                                          "Scaled up replica set " + set.metadata.name + " from 0 to " +
                                              std::to_string(set.spec.replicas)});
  }
  if (has_progress_deadline(work.deployment)) {
    set_deployment_condition(work.deployment.status, kProgressing, "True", "NewReplicaSetCreated",
                             "Created new replica set \"" + set.metadata.name + "\"", work.cluster.now());
  }
}

}  // namespace

Json template_without_hash(const PodTemplate& pod_template) {
  Json pods = pod_template.json.get();
  Json* metadata = pods.find("metadata");
  Json* labels = metadata == nullptr ? nullptr : metadata->find("labels");
  if (labels == nullptr) return pods;
  labels->erase(kHashLabel);
  if (labels->is_object() && labels->as_object().empty()) metadata->erase("labels");
  return pods;
}

bool has_same_template(const PodTemplate& a, const PodTemplate& b) {
  return is_same(template_without_hash(a), template_without_hash(b));
}

std::string hash_of(const ReplicaSet& set) {
  const Labels& labels = set.metadata.labels.get();
  const auto found = labels.find(std::string(kHashLabel));
  return found == labels.end() ? "" : found->second;
}

std::string new_set_hash(const DeploymentWork& work) {
  if (work.sets.newest != nullptr) return hash_of(*work.sets.newest);
  return template_hash(work.deployment.spec.pod_template.json.get(), work.deployment.status.collision_count);
}

ReplicaSets split_sets(const Deployment& deployment, std::vector<ReplicaSetPtr> owned) {
  std::sort(owned.begin(), owned.end(),
            [](const ReplicaSetPtr& a, const ReplicaSetPtr& b) { return is_older(*a, *b); });
  ReplicaSets sets;
  for (ReplicaSetPtr& set : owned) {
    if (sets.newest == nullptr && has_same_template(set->spec.pod_template, deployment.spec.pod_template)) {
      sets.newest = std::move(set);
    } else {
      sets.old.push_back(std::move(set));
    }
  }
  return sets;
}

bool update_new_set(DeploymentWork& work) {
  if (work.sets.newest == nullptr) return true;
  const ReplicaSet& set = *work.sets.newest;
  const Labels& before = set.metadata.annotations.get();
  const Labels annotations = new_set_annotations(work.deployment, before, next_revision(work.sets));
  const std::int32_t min_ready_seconds = work.deployment.spec.min_ready_seconds;
  if (annotations != before || set.spec.min_ready_seconds != min_ready_seconds) {
    Json patch = Json::object();
    patch.set("metadata",
              Json::object().set("annotations", merge_patch_between(to_json(before), to_json(annotations))));
    if (set.spec.min_ready_seconds != min_ready_seconds) {
      patch.set("spec", Json::object().set("minReadySeconds", min_ready_seconds));
    }
    is_written(work, work.cluster.patch(set, patch));
    return false;
  }
  DeploymentStatus& status = work.deployment.status;
  if (!has_progress_deadline(work.deployment) || find_condition(status.conditions, kProgressing) != nullptr)
    return true;
  set_deployment_condition(status, kProgressing, "True", "FoundNewReplicaSet",
                           "Found new replica set \"" + set.metadata.name + "\"", work.cluster.now());
  return write_deployment_status(work);
}

bool create_new_set(DeploymentWork& work) {
  if (work.sets.newest != nullptr) return true;
  Deployment& deployment = work.deployment;
  const std::string hash = new_set_hash(work);
  ReplicaSet set = make_set(work, hash);
  const WriteResult written =
      work.cluster.create(ReplicaSet::kKind, deployment.metadata.namespace_, manifest_of(set, deployment, hash));
  if (written.code == WriteResult::Code::already_exists) {
    if (take_existing(work, set.metadata.name)) return true;
    deployment.status.collision_count = deployment.status.collision_count.value_or(0) + 1;
    write_deployment_status(work);
    return is_written(work, written);
  }
  if (!written.is_done()) {
    report_failure(work, set.metadata.name, written.message);
    return is_written(work, written);
  }
  set.metadata.name = written.name;
  work.sets.newest = std::make_shared<const ReplicaSet>(std::move(set));
  report_creation(work);
  return write_deployment_status(work);
}

}  // namespace berth
