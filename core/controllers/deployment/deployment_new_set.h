// The new ReplicaSet of a Deployment: found among its ReplicaSets, kept up to date, or created (pkg/controller/
// deployment/sync.go, getNewReplicaSet).
#pragma once

#include <string>
#include <vector>

#include "core/controllers/deployment/deployment_work.h"

namespace berth {

// Whether the templates are the same apart from the label pod-template-hash.
bool has_same_template(const PodTemplate& a, const PodTemplate& b);
// The template without the label pod-template-hash.
Json template_without_hash(const PodTemplate& pod_template);

// The hash in the labels of the set's pods.
std::string hash_of(const ReplicaSet& set);
// That of the new ReplicaSet, or, when there is none, what it would be.
std::string new_set_hash(const DeploymentWork& work);

// The oldest of the sets with the Deployment's template is the new one.
ReplicaSets split_sets(const Deployment& deployment, std::vector<ReplicaSetPtr> owned);

// Gives the new ReplicaSet its revision and the Deployment's annotations and minReadySeconds, or says in the status
// that it was found. After a write of the ReplicaSet the synchronisation ends: that write wakes the Deployment again.
bool update_new_set(DeploymentWork& work);
// Creates it when there is none. When the name is taken, counts up collisionCount and fails.
bool create_new_set(DeploymentWork& work);

}  // namespace berth
