#include "tests/conformance/cluster.h"

#include <algorithm>

#include "core/api/decode.h"
#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/volume.h"

namespace berth {

namespace {

// Decodes the objects of a list and passes each to `keep`.
template <class Decode, class Keep>
Status each(const Json& input, const char* list, Decode decode, Keep keep) {
  const Json* objects = input.find(list);
  if (objects == nullptr || !objects->is_array()) return {};
  std::size_t index = 0;
  for (const Json& object : objects->as_array()) {
    auto decoded = decode(object, nullptr, Rules::off);
    if (!decoded) {
      return Status::error(std::string(list) + "[" + std::to_string(index) + "]: " + decoded.error().message());
    }
    keep(std::move(*decoded));
    ++index;
  }
  return {};
}

template <class T>
std::shared_ptr<const T> get(const std::map<std::string, std::shared_ptr<const T>>& all, const std::string& key) {
  auto found = all.find(key);
  return found == all.end() ? nullptr : found->second;
}

void give_uid(ObjectMeta& metadata) {
  if (metadata.uid.empty()) metadata.uid = metadata.key();
}

// The same, storing each object by its key.
template <class T>
Status store_by_key(const Json& input, const char* list, Result<T> (*decode)(const Json&, Warnings*, Rules),
                    std::map<std::string, std::shared_ptr<const T>>& by_key) {
  return each(input, list, decode, [&by_key](T object) {
    const std::string key = object.metadata.key();
    by_key[key] = std::make_shared<const T>(std::move(object));
  });
}

}  // namespace

Status Cluster::load_pods(const Json& input) {
  Status status = each(input, "pods", decode_pod, [this](Pod pod) {
    give_uid(pod.metadata);
    const auto shared = make_counted<const Pod>(std::move(pod));
    if (!shared->node_name.empty()) {
      cache_.confirm(shared, shared->node_name);
    } else if (!shared->nominated_node_name.empty()) {
      nominator_.add(shared, shared->nominated_node_name);
    }
  });
  if (!status.is_success()) return status;
  return each(input, "pending", decode_pod, [this](Pod pod) {
    give_uid(pod.metadata);
    pending_.push_back(make_counted<const Pod>(std::move(pod)));
    if (!pending_.back()->nominated_node_name.empty()) {
      nominator_.add(pending_.back(), pending_.back()->nominated_node_name);
    }
  });
}

Status Cluster::load(const Json& input) {
  Status status = each(input, "nodes", decode_node,
                       [this](Node node) { cache_.set_node(std::make_shared<Node>(std::move(node))); });
  if (status.is_success()) status = load_pods(input);
  if (status.is_success()) {
    status = each(input, "pvcs", decode_persistent_volume_claim, [this](PersistentVolumeClaim claim) {
      give_uid(claim.metadata);
      const std::string key = claim.metadata.key();
      claims_[key] = std::make_shared<const PersistentVolumeClaim>(std::move(claim));
    });
  }
  if (status.is_success()) status = store_by_key(input, "pvs", decode_persistent_volume, volumes_);
  if (status.is_success()) status = store_by_key(input, "storageClasses", decode_storage_class, classes_);
  if (status.is_success()) status = store_by_key(input, "csiNodes", decode_csi_node, csi_nodes_);
  if (status.is_success()) status = store_by_key(input, "csiDrivers", decode_csi_driver, csi_drivers_);
  if (status.is_success()) {
    status = store_by_key(input, "csiStorageCapacities", decode_csi_storage_capacity, csi_capacities_);
  }
  if (status.is_success()) status = store_by_key(input, "namespaces", decode_namespace, namespaces_);
  if (status.is_success()) status = store_by_key(input, "services", decode_service, services_);
  if (status.is_success()) status = store_by_key(input, "pdbs", decode_pod_disruption_budget, budgets_);
  return status;
}

const Snapshot& Cluster::take_snapshot() {
  cache_.update_snapshot(snapshot_);
  return snapshot_;
}

PodPtr Cluster::find_pending(const std::string& key) const {
  const auto found =
      std::find_if(pending_.begin(), pending_.end(), [&key](const auto& pod) { return pod->metadata.key() == key; });
  return found == pending_.end() ? nullptr : *found;
}

void Cluster::place(const Pod& pod, const std::string& node, std::int64_t start_time) {
  nominator_.remove(pod.uid());
  auto bound = make_counted<Pod>(pod);
  bound->nominated_node_name = "";
  bound->start_time = start_time;
  cache_.confirm(std::move(bound), node);
}

void Cluster::evict(const std::string& key) {
  for (const auto& node : take_snapshot().nodes()) {
    for (const auto& pod : node->pods) {
      if (pod->metadata.key() == key) return cache_.remove(pod->uid());
    }
  }
}

void Cluster::set_nomination(const Pod& pod, const std::string& node) {
  auto next = make_counted<Pod>(pod);
  next->nominated_node_name = node;
  for (auto& each : pending_) {
    if (each->uid() == next->uid()) each = next;
  }
  nominator_.add(std::move(next), node);
}

void Cluster::nominate(const Pod& pod, const std::string& node) {
  const std::vector<PodPtr> before = nominator_.pods_on(node);
  for (const auto& other : before) {
    if (other->priority < pod.priority) set_nomination(Pod(*other), "");
  }
  set_nomination(pod, node);
}

bool Cluster::is_unbound(const std::string& claim) const {
  const auto found = claims_.find(claim);
  return found != claims_.end() && found->second->volume_name.empty();
}

void Cluster::bind_volumes(const std::vector<BoundVolume>& bound_volumes) {
  for (const BoundVolume& bound_volume : bound_volumes) {
    if (!is_unbound(bound_volume.claim)) continue;
    PersistentVolumeClaim claim = *claims_.at(bound_volume.claim);
    PersistentVolume volume = *volumes_.at(bound_volume.volume);
    volume.claim_ref = bound_volume.claim;
    volume.claim_ref_uid = claim.metadata.uid;
    volume.phase = "Bound";
    claim.volume_name = bound_volume.volume;
    claim.phase = "Bound";
    claim.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    claims_[bound_volume.claim] = std::make_shared<PersistentVolumeClaim>(std::move(claim));
    volumes_[bound_volume.volume] = std::make_shared<PersistentVolume>(std::move(volume));
  }
}

void Cluster::select_node(const std::string& claim, const std::string& node) {
  PersistentVolumeClaim selected = *claims_.at(claim);
  selected.metadata.annotations["volume.kubernetes.io/selected-node"] = node;
  claims_[claim] = std::make_shared<const PersistentVolumeClaim>(std::move(selected));
}

std::shared_ptr<const PersistentVolumeClaim> Cluster::claim(const std::string& key) const { return get(claims_, key); }

std::shared_ptr<const PersistentVolume> Cluster::volume(const std::string& name) const { return get(volumes_, name); }

std::shared_ptr<const StorageClass> Cluster::storage_class(const std::string& name) const {
  return get(classes_, name);
}

std::vector<std::shared_ptr<const PersistentVolume>> Cluster::volumes_of_class(const std::string& name) const {
  std::vector<std::shared_ptr<const PersistentVolume>> found;
  for (const auto& [key, volume] : volumes_) {
    if (volume->storage_class_name == name) found.push_back(volume);
  }
  return found;
}

std::shared_ptr<const CsiNode> Cluster::csi_node(const std::string& node) const { return get(csi_nodes_, node); }

std::shared_ptr<const CsiDriver> Cluster::csi_driver(const std::string& name) const { return get(csi_drivers_, name); }

std::vector<std::shared_ptr<const CsiStorageCapacity>> Cluster::csi_storage_capacities() const {
  std::vector<std::shared_ptr<const CsiStorageCapacity>> all;
  for (const auto& [key, capacity] : csi_capacities_) all.push_back(capacity);
  return all;
}

std::shared_ptr<const Namespace> Cluster::name_space(std::string_view name) const {
  return get(namespaces_, std::string(name));
}

std::vector<std::shared_ptr<const Service>> Cluster::services(std::string_view name_space) const {
  std::vector<std::shared_ptr<const Service>> found;
  for (const auto& [key, service] : services_) {
    if (service->metadata.namespace_ == name_space) found.push_back(service);
  }
  return found;
}

std::vector<std::shared_ptr<const PodDisruptionBudget>> Cluster::disruption_budgets() const {
  std::vector<std::shared_ptr<const PodDisruptionBudget>> all;
  for (const auto& [key, budget] : budgets_) all.push_back(budget);
  return all;
}

}  // namespace berth
