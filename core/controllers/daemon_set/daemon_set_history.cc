#include "core/controllers/daemon_set/daemon_set_history.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/controllers/ownership.h"
#include "core/controllers/revisions.h"
#include "core/controllers/status_write.h"
#include "core/controllers/template_hash.h"

namespace berth {
namespace {

Status set_hash_label(ClusterAccess& cluster, const ControlledObject& object, const std::string& hash) {
  Json labels = Json::object().set(kRevisionLabel, hash);
  Json metadata = Json::object().set("labels", std::move(labels));
  const WriteResult written = cluster.patch(object, Json::object().set("metadata", std::move(metadata)));
  return written.is_done() ? Status::ok() : Status::error(written.message);
}

// One without the label gets its name as label.
Status label_revision(ClusterAccess& cluster, RevisionPtr& revision) {
  if (!revision_label(*revision).empty()) return Status::ok();
  auto labelled = std::make_shared<ControllerRevision>(*revision);
  labelled->metadata.labels.edit()[std::string(kRevisionLabel)] = revision->metadata.name;
  Status written = set_hash_label(cluster, *revision, revision->metadata.name);
  revision = std::move(labelled);
  return written;
}

Result<RevisionPtr> create_daemon_revision(ClusterAccess& cluster, const DaemonSet& set, std::int64_t number) {
  const PodTemplate& pod_template = set.spec.pod_template;
  const std::string hash = template_hash(pod_template.json.get(), set.status.collision_count);
  const WriteResult created =
      cluster.create(ControllerRevision::kKind, set.metadata.namespace_,
                     revision_manifest(set, DaemonSet::kApiVersion, pod_template, number, kRevisionLabel, hash));
  if (!created.is_done() && created.code != WriteResult::Code::already_exists) return Status::error(created.message);
  RevisionPtr found = find_revision(cluster, set, created.name);
  if (found == nullptr) return Status::error("controllerrevisions \"" + created.name + "\" not found");
  if (created.is_done() || has_data(*found, revision_data(pod_template))) return found;
  DaemonSetStatus status = set.status;
  status.collision_count = status.collision_count.value_or(0) + 1;
  const Status written = write_status(cluster, set, set.status, status);
  return written.is_success() ? Status::error(created.message) : written;
}

// Of several with the same template the newest stays, and all pods get its label (dedupCurHistories).
Result<RevisionPtr> keep_one(ClusterAccess& cluster, const std::vector<RevisionPtr>& equal,
                             const std::vector<ControlledPodPtr>& pods) {
  RevisionPtr kept = equal.front();
  for (const RevisionPtr& each : equal) {
    if (each->revision >= kept->revision) kept = each;
  }
  const std::string hash = revision_label(*kept);
  for (const RevisionPtr& each : equal) {
    if (each == kept) continue;
    for (const ControlledPodPtr& pod : pods) {
      if (revision_label(*pod) == hash) continue;
      if (Status labelled = set_hash_label(cluster, *pod, hash); !labelled.is_success()) return labelled;
    }
    if (Status deleted = delete_revision(cluster, *each); !deleted.is_success()) return deleted;
  }
  return kept;
}

}  // namespace

Result<DaemonSetHistory> daemon_set_history(ClusterAccess& cluster, const DaemonSet& set,
                                            const std::vector<ControlledPodPtr>& pods) {
  Claim claim(cluster, set, DaemonSet::kApiVersion, set.spec.selector);
  std::vector<RevisionPtr> revisions =
      claim.take_all(list_as<ControllerRevision>(cluster, ControllerRevision::kKind, set.metadata.namespace_));
  if (!claim.status().is_success()) return claim.status();
  const Json data = revision_data(set.spec.pod_template);
  DaemonSetHistory history;
  std::vector<RevisionPtr> equal;
  for (RevisionPtr& each : revisions) {
    if (Status labelled = label_revision(cluster, each); !labelled.is_success()) return labelled;
    (has_data(*each, data) ? equal : history.old).push_back(each);
  }
  const std::int64_t number = next_revision(history.old);
  Result<RevisionPtr> current =
      equal.empty() ? create_daemon_revision(cluster, set, number) : keep_one(cluster, equal, pods);
  if (!current) return current.error();
  history.current = *current;
  if (history.current->revision < number) {
    if (Status renumbered = renumber(cluster, history.current, number); !renumbered.is_success()) return renumbered;
  }
  return history;
}

Status clean_up_history(ClusterAccess& cluster, const DaemonSet& set, const std::vector<ControlledPodPtr>& pods,
                        std::vector<RevisionPtr> old) {
  std::int64_t surplus = static_cast<std::int64_t>(old.size()) - set.spec.revision_history_limit;
  if (surplus <= 0) return Status::ok();
  std::set<std::string> live;
  for (const ControlledPodPtr& pod : pods) live.insert(revision_label(*pod));
  sort_revisions(old);
  for (const RevisionPtr& revision : old) {
    if (surplus <= 0) break;
    if (live.contains(revision_label(*revision))) continue;
    if (Status deleted = delete_revision(cluster, *revision); !deleted.is_success()) return deleted;
    --surplus;
  }
  return Status::ok();
}

}  // namespace berth
