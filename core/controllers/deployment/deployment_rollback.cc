#include "core/controllers/deployment/deployment_rollback.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/controllers/deployment/deployment_annotations.h"
#include "core/controllers/deployment/deployment_new_set.h"
#include "core/json/merge_patch.h"

namespace berth {
namespace {

void warn(DeploymentWork& work, std::string reason, std::string message) {
  work.cluster.record(work.deployment, {WorkloadEvent::Type::warning, std::move(reason), std::move(message)});
}

// Writes the Deployment without the annotation that asks for a rollback. It gets the revision of its new ReplicaSet,
// which a write of its status does not bring along.
bool write_back(DeploymentWork& work, Labels annotations, Json patch) {
  annotations.erase(std::string(kRollbackTo));
  if (work.sets.newest != nullptr) {
    annotations[std::string(kRevision)] = std::to_string(revision_of(*work.sets.newest).value_or(0));
  }
  const Json changes = merge_patch_between(to_json(work.deployment.metadata.annotations.get()), to_json(annotations));
  patch.set("metadata", Json::object().set("annotations", changes));
  return is_written(work, work.cluster.patch(work.deployment, patch));
}

void copy_template_back(DeploymentWork& work, const ReplicaSet& set, std::int64_t revision) {
  const std::string name = "\"" + work.deployment.metadata.name + "\"";
  if (has_same_template(work.deployment.spec.pod_template, set.spec.pod_template)) {
    warn(work, "DeploymentRollbackTemplateUnchanged",
         "The rollback revision contains the same template as current deployment " + name);
    write_back(work, work.deployment.metadata.annotations.get(), Json::object());
    return;
  }
  Json changes =
      merge_patch_between(work.deployment.spec.pod_template.json.get(), template_without_hash(set.spec.pod_template));
  Json patch = Json::object();
  patch.set("spec", Json::object().set("template", std::move(changes)));
  if (!write_back(work, rolled_back_annotations(work.deployment, set), std::move(patch))) return;
  work.cluster.record(work.deployment, {WorkloadEvent::Type::normal, "DeploymentRollback",
                                        "Rolled back deployment " + name + " to revision " + std::to_string(revision)});
}

}  // namespace

void roll_back(DeploymentWork& work, std::int64_t revision) {
  if (!create_new_set(work)) return;
  const std::vector<ReplicaSetPtr> all = work.sets.all();
  const bool wants_last = revision == 0;
  if (wants_last) revision = last_but_one_revision(all);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ReplicaSetPtr& set) { return revision_of(*set) == revision; });
  if (revision != 0 && found != all.end()) {
    copy_template_back(work, **found, revision);
    return;
  }
  warn(work, "DeploymentRollbackRevisionNotFound",
       wants_last ? "Unable to find last revision." : "Unable to find the revision to rollback to.");
  write_back(work, work.deployment.metadata.annotations.get(), Json::object());
}

}  // namespace berth
