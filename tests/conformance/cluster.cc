#include "tests/conformance/cluster.h"

namespace berth {

namespace {

// Decodes every object of a list; `keep` takes each.
template <class Decode, class Keep>
Status each(const Json& input, const char* list, Decode decode, Keep keep) {
  const Json* objects = input.find(list);
  if (objects == nullptr || !objects->is_array()) return {};
  std::size_t index = 0;
  for (const Json& object : objects->as_array()) {
    auto decoded = decode(object, nullptr);
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

}  // namespace

Status Cluster::load(const Json& input) {
  Status status = each(input, "nodes", decode_node,
                       [this](Node node) { cache_.set_node(std::make_shared<Node>(std::move(node))); });
  if (!status.is_success()) return status;
  status = each(input, "pods", decode_pod, [this](Pod pod) {
    give_uid(pod.metadata);
    const std::string node = pod.node_name;
    if (!node.empty()) cache_.confirm(std::make_shared<Pod>(std::move(pod)), node);
  });
  if (!status.is_success()) return status;
  status = each(input, "pending", decode_pod, [this](Pod pod) {
    give_uid(pod.metadata);
    pending_.push_back(std::make_shared<Pod>(std::move(pod)));
  });
  if (!status.is_success()) return status;
  status = each(input, "pvcs", decode_persistent_volume_claim, [this](PersistentVolumeClaim claim) {
    give_uid(claim.metadata);
    const std::string key = claim.metadata.key();
    claims_[key] = std::make_shared<PersistentVolumeClaim>(std::move(claim));
  });
  if (!status.is_success()) return status;
  status = each(input, "pvs", decode_persistent_volume, [this](PersistentVolume volume) {
    const std::string name = volume.metadata.name;
    volumes_[name] = std::make_shared<PersistentVolume>(std::move(volume));
  });
  if (!status.is_success()) return status;
  return each(input, "storageClasses", decode_storage_class, [this](StorageClass storage_class) {
    const std::string name = storage_class.metadata.name;
    classes_[name] = std::make_shared<StorageClass>(std::move(storage_class));
  });
}

const Snapshot& Cluster::take_snapshot() {
  cache_.update_snapshot(snapshot_);
  return snapshot_;
}

bool Cluster::is_unbound(const std::string& claim) const {
  const auto found = claims_.find(claim);
  return found != claims_.end() && found->second->volume_name.empty();
}

void Cluster::bind_volumes(const std::vector<VolumeGrant>& grants) {
  for (const VolumeGrant& grant : grants) {
    if (!is_unbound(grant.claim)) continue;
    PersistentVolumeClaim claim = *claims_.at(grant.claim);
    PersistentVolume volume = *volumes_.at(grant.volume);
    volume.claim_ref = grant.claim;
    volume.claim_ref_uid = claim.metadata.uid;
    volume.phase = "Bound";
    claim.volume_name = grant.volume;
    claim.phase = "Bound";
    claim.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    claims_[grant.claim] = std::make_shared<PersistentVolumeClaim>(std::move(claim));
    volumes_[grant.volume] = std::make_shared<PersistentVolume>(std::move(volume));
  }
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

}  // namespace berth
