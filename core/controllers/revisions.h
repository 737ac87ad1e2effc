// ControllerRevisions of StatefulSets and DaemonSets: what they hold, their order and their names (pkg/controller/
// history/controller_history.go).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/controller_revision.h"
#include "core/api/replica_set.h"
#include "core/controllers/cluster_access.h"
#include "core/status.h"

namespace berth {

// The label of pods, and of a DaemonSet's revisions, that says which revision it is.
inline constexpr std::string_view kRevisionLabel = "controller-revision-hash";
// Empty without the label.
std::string revision_label(const ControlledObject& object);

// Oldest first: by revision, then creation, then name.
void sort_revisions(std::vector<RevisionPtr>& revisions);
// One more than the highest; 1 if there are none.
std::int64_t next_revision(const std::vector<RevisionPtr>& revisions);

// The data of a revision: a strategic merge patch that replaces spec.template.
Json revision_data(const PodTemplate& pod_template);
bool has_data(const ControllerRevision& revision, const Json& data);
// The template in the data; spec and metadata are empty when there is none.
PodTemplate revision_template(const ControllerRevision& revision);

// "<owner>-<hash>", the owner's name cut so that it is a name.
std::string revision_name(const ControlledObject& owner, std::string_view hash);
// The manifest of a new revision of the owner: the labels of the template and one more, the owner's annotations.
Json revision_manifest(const ControlledObject& owner, std::string_view owner_api_version,
                       const PodTemplate& pod_template, std::int64_t revision, std::string_view hash_label,
                       std::string_view hash);

// The revision of that name as it is now; null if there is none.
RevisionPtr find_revision(const ClusterAccess& cluster, const ControlledObject& owner, const std::string& name);
// Gives the revision this number, unless it has it; `revision` becomes what was written.
Status renumber(ClusterAccess& cluster, RevisionPtr& revision, std::int64_t number);
// Deletes; that it is gone already is no error.
Status delete_revision(ClusterAccess& cluster, const ControllerRevision& revision);

}  // namespace berth
