#include "tests/bench/world.h"

#include <algorithm>

#include "core/api/decode.h"
#include "core/api/node.h"
#include "core/api/packed.h"
#include "core/check.h"
#include "core/fastpath/fast_path.h"
#include "core/objects/object_events.h"
#include "core/objects/volume_manifest.h"
#include "plugins/registry.h"
#include "tests/bench/undeclared.h"

namespace berth::bench {

namespace {

constexpr std::uint64_t kSeed = 1;

template <class T>
std::shared_ptr<const T> get(const std::map<std::string, std::shared_ptr<const T>>& all, const std::string& key) {
  const auto found = all.find(key);
  return found == all.end() ? nullptr : found->second;
}

template <class T>
Status keep(Result<T> decoded, std::map<std::string, std::shared_ptr<const T>>& by_key) {
  if (!decoded) return decoded.error();
  const std::string key = decoded->metadata.key();
  if (decoded->metadata.uid.empty()) decoded->metadata.uid = key;
  by_key[key] = std::make_shared<const T>(std::move(*decoded));
  return {};
}

}  // namespace

World::World(bool fast, const std::string& undeclared) {
  Scheduler::Options options;
  options.seed = kSeed;
  if (fast) options.evaluator = make_fast_path();
  scheduler_ = std::make_unique<Scheduler>(clock_, *this, *this, std::move(options));
  Registry registry = in_tree_registry();
  Profile profile = default_profile();
  CHECK(add_undeclared(undeclared, registry, profile));
  CHECK(scheduler_->add_profile(registry, profile).is_success());
}

Result<std::shared_ptr<const Node>> World::make_node(const Json& manifest) {
  Result<Node> node = decode_node(manifest, nullptr, Rules::off);
  if (!node) return node.error();
  return std::make_shared<const Node>(std::move(*node));
}

void World::add_node(const std::shared_ptr<const Node>& node) {
  node_numbers_[node->metadata.name] = nodes_.size();
  nodes_.push_back(node);
  scheduler_->handlers().node_set(nullptr, node);
}

Status World::add_volume(const Json& manifest) {
  Result<PersistentVolume> volume = decode_persistent_volume(manifest, nullptr, Rules::off);
  if (!volume) return volume.error();
  const auto shared = std::make_shared<const PersistentVolume>(std::move(*volume));
  volumes_[shared->metadata.name] = shared;
  volume_changes_.note(shared->metadata.name);
  of_class_[shared->storage_class_name].push_back(shared);
  return {};
}

Status World::add_claim(const Json& manifest) {
  return keep(decode_persistent_volume_claim(manifest, nullptr, Rules::off), claims_);
}

Status World::add_storage_class(const Json& manifest) {
  return keep(decode_storage_class(manifest, nullptr, Rules::off), classes_);
}

Result<PodPtr> World::make_pod(const Json& manifest) {
  Result<Pod> pod = decode_pod(manifest, nullptr, Rules::off);
  if (!pod) return pod.error();
  if (pod->metadata.uid.empty()) pod->metadata.uid = pod->metadata.key();
  share_parts(*pod);  // as a gateway that accepts it
  return make_counted<const Pod>(std::move(*pod));
}

void World::queue_pod(const PodPtr& pod) {
  pending_[pod->uid()] = pod;
  pods_[pod->metadata.key()] = pod;
  scheduler_->handlers().pod_added(pod);
}

void World::place_pod(const PodPtr& pod, const std::string& node) {
  pods_[pod->metadata.key()] = pod;
  scheduler_->cache().confirm(pod, node);
}

void World::replace_node(std::size_t number) {
  const std::shared_ptr<const Node>& node = nodes_[number % nodes_.size()];
  scheduler_->handlers().node_deleted(node);
  scheduler_->handlers().node_set(nullptr, node);
}

void World::change_node(const std::shared_ptr<const Node>& changed) {
  std::shared_ptr<const Node>& node = nodes_[node_numbers_.at(changed->metadata.name)];
  scheduler_->handlers().node_set(std::exchange(node, changed), changed);
}

void World::delete_pod(const std::string& key) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  const PodPtr pod = found->second;
  pods_.erase(found);
  if (pending_.erase(pod->uid()) > 0) {
    scheduler_->handlers().pod_deleted(pod);
  } else if (const auto node = scheduler_->cache().node_of(pod->uid())) {
    scheduler_->handlers().pod_left(*pod, *node);
  }
}

bool World::finish(BindingCycle& cycle) {
  const PodPtr pod = cycle.queued.pod;
  CHECK(!cycle.waits);  // no plugin of the default profile waits
  scheduler_->leave_queue(cycle);
  PlacementRequest request;
  Status status = scheduler_->pre_bind(cycle, request);
  if (status.is_success()) {
    bind_volumes(request, cycle.node);
    status = scheduler_->bind(cycle);
  }
  if (!status.is_success()) {
    scheduler_->fail_binding(cycle, status);
    return false;
  }
  pending_.erase(pod->uid());
  scheduler_->finish_binding(cycle);
  scheduler_->post_bind(cycle);
  scheduler_->handlers().pod_bound(pod, cycle.node);
  return true;
}

// As the gateway, when the device has made it.
void World::make_volume(const BoundVolume& made, const std::string& node) {
  Json annotations = Json::object();
  annotations.set(kProvisionedBy, StorageClass::kLocalProvisioner).set(kOfferedBy, node);
  Json manifest =
      manifest_of({made.volume, node, made.make->storage_class, made.path, Quantity(made.make->bytes).to_text(),
                   "Delete", Json(Json::Array{Json("ReadWriteOnce")}), std::move(annotations)});
  manifest.find("metadata")->set("uid", "uid-" + made.volume);
  CHECK(add_volume(manifest).is_success());
}

void World::bind_volumes(const PlacementRequest& request, const std::string& node) {
  for (const BoundVolume& bound_volume : request.volumes) {
    if (bound_volume.make) make_volume(bound_volume, node);
    PersistentVolumeClaim claim = *claims_.at(bound_volume.claim);
    PersistentVolume volume = *volumes_.at(bound_volume.volume);
    volume.claim_ref = bound_volume.claim;
    volume.claim_ref_uid = claim.metadata.uid;
    volume.phase = "Bound";
    claim.volume_name = bound_volume.volume;
    claim.phase = "Bound";
    claim.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    claims_[bound_volume.claim] = std::make_shared<const PersistentVolumeClaim>(std::move(claim));
    const auto bound = std::make_shared<const PersistentVolume>(std::move(volume));
    auto& of_class = of_class_[bound->storage_class_name];
    *std::find(of_class.begin(), of_class.end(), volumes_[bound_volume.volume]) = bound;
    volumes_[bound_volume.volume] = bound;
    volume_changes_.note(bound_volume.volume);
  }
}

std::string World::remove_victims() {
  const std::vector<PodPtr> gone = std::exchange(victims_, {});
  for (const auto& victim : gone) {
    scheduler_->handlers().pod_left(*victim, scheduler_->cache().node_of(victim->uid()).value_or(""));
  }
  return std::exchange(preemptor_, {});
}

bool World::wait_for_queue() {
  const std::optional<Millis> next = scheduler_->queue().next_flush();
  if (!next) return false;
  clock_.time = std::max(clock_.time + 1, *next);
  scheduler_->queue().flush();
  return true;
}

PodPtr World::find_unplaced(const Pod& pod) const {
  const auto found = pending_.find(pod.uid());
  return found == pending_.end() ? nullptr : found->second;
}

void World::patch_status(const Pod& pod, const StatusPatch& patch) {
  const auto found = pending_.find(pod.uid());
  if (!patch.nominated_node || found == pending_.end()) return;
  const PodPtr before = found->second;
  Pod after = *before;
  after.nominated_node_name = *patch.nominated_node;
  found->second = make_counted<const Pod>(std::move(after));
  const PodPtr now = found->second;
  scheduler_->handlers().pod_updated(before, now);
}

Status World::evict(const Pod& victim, const Pod& preemptor) {
  preemptor_ = preemptor.uid();
  victims_.push_back(make_counted<const Pod>(victim));
  return {};
}

std::shared_ptr<const PersistentVolumeClaim> World::claim(const std::string& key) const { return get(claims_, key); }

std::shared_ptr<const PersistentVolume> World::volume(const std::string& name) const { return get(volumes_, name); }

std::shared_ptr<const StorageClass> World::storage_class(const std::string& name) const { return get(classes_, name); }

std::vector<std::shared_ptr<const PersistentVolume>> World::volumes_of_class(const std::string& name) const {
  const auto found = of_class_.find(name);
  return found == of_class_.end() ? std::vector<std::shared_ptr<const PersistentVolume>>() : found->second;
}

}  // namespace berth::bench
