#include "core/controllers/stateful_set/stateful_set_revisions.h"

#include <set>
#include <utility>

#include "core/controllers/ownership.h"
#include "core/controllers/revisions.h"
#include "core/controllers/template_hash.h"

namespace berth {
namespace {

constexpr std::string_view kDataHashLabel = "controller.kubernetes.io/hash";

// A name that is taken by a revision with the same data is taken to be the same revision, whoever owns it
// (CreateControllerRevision). Otherwise the next collision count gives another name.
Result<RevisionPtr> create_revision(ClusterAccess& cluster, const StatefulSet& set, std::int64_t number,
                                    std::int32_t& collision_count) {
  const Json data = revision_data(set.spec.pod_template);
  Json manifest = revision_manifest(set, StatefulSet::kApiVersion, set.spec.pod_template, number, kDataHashLabel,
                                    template_hash(data, collision_count));
  for (;;) {
    const WriteResult created = cluster.create(ControllerRevision::kKind, set.metadata.namespace_, manifest);
    if (!created.is_done() && created.code != WriteResult::Code::already_exists) return Status::error(created.message);
    RevisionPtr found = find_revision(cluster, set, created.name);
    if (found == nullptr) return Status::error("controllerrevisions \"" + created.name + "\" not found");
    if (created.is_done() || has_data(*found, data)) return found;
    ++collision_count;
    manifest.find("metadata")->set("name", revision_name(set, template_hash(data, collision_count)));
  }
}

}  // namespace

Result<std::vector<RevisionPtr>> list_revisions(ClusterAccess& cluster, const StatefulSet& set) {
  std::vector<RevisionPtr> revisions;
  Claim claim(cluster, set, StatefulSet::kApiVersion, set.spec.selector);
  for (const RevisionPtr& each :
       list_as<ControllerRevision>(cluster, ControllerRevision::kKind, set.metadata.namespace_)) {
    // Unlike a pod, a revision that no longer matches is not released.
    if (!matches(set.spec.selector, each->metadata.labels.get())) continue;
    if (set.metadata.deletion && each->metadata.controller_uid.empty()) {
      return Status::error("can't adopt ControllerRevisions: StatefulSet " + set.metadata.key() +
                           " has just been deleted");
    }
    if (claim.take(*each)) revisions.push_back(each);
  }
  if (!claim.status().is_success()) return claim.status();
  sort_revisions(revisions);
  return revisions;
}

Result<StatefulSetRevisions> stateful_set_revisions(ClusterAccess& cluster, const StatefulSet& set,
                                                    const std::vector<RevisionPtr>& revisions) {
  StatefulSetRevisions result;
  result.collision_count = set.status.collision_count.value_or(0);
  const Json data = revision_data(set.spec.pod_template);
  for (const RevisionPtr& each : revisions) {
    if (has_data(*each, data)) result.update = each;
    if (result.current == nullptr && each->metadata.name == set.status.current_revision) result.current = each;
  }
  if (result.update == nullptr) {
    Result<RevisionPtr> created = create_revision(cluster, set, next_revision(revisions), result.collision_count);
    if (!created) return created.error();
    result.update = *created;
  } else if (result.update != revisions.back()) {
    Status renumbered = renumber(cluster, result.update, next_revision(revisions));
    if (!renumbered.is_success()) return renumbered;
  }
  if (result.current == nullptr) result.current = result.update;
  return result;
}

Status truncate_history(ClusterAccess& cluster, const StatefulSet& set, const std::vector<ControlledPodPtr>& pods,
                        const std::vector<RevisionPtr>& revisions, const StatefulSetRevisions& in_use) {
  std::set<std::string> live{in_use.current->metadata.name, in_use.update->metadata.name};
  for (const ControlledPodPtr& pod : pods) live.insert(revision_label(*pod));
  std::vector<RevisionPtr> history;
  for (const RevisionPtr& each : revisions) {
    if (!live.contains(each->metadata.name)) history.push_back(each);
  }
  const auto limit = static_cast<std::size_t>(set.spec.revision_history_limit);
  for (std::size_t i = 0; i + limit < history.size(); ++i) {
    Status deleted = delete_revision(cluster, *history[i]);
    if (!deleted.is_success()) return deleted;
  }
  return Status::ok();
}

}  // namespace berth
