#include "core/workloads/cluster.h"

#include <utility>

#include "core/api/deployment.h"
#include "core/api/replica_set.h"
#include "core/api/stateful_set.h"
#include "core/api/workload.h"
#include "core/controllers/nodes/taint_eviction_rules.h"
#include "core/objects/made_pods.h"
#include "core/workloads/node_view.h"

namespace berth {
namespace {

// Null: there is no such kind of workloads here.
const KindName* workload_named(std::string_view name) {
  const KindName* kind = find_kind(name);
  return kind != nullptr && kind->name == name && is_workload(kind->kind) ? kind : nullptr;
}

std::string text_of(const ObjectKey& key) { return key.name_space + "/" + key.name; }

WriteResult of_no_kind(std::string_view kind) {
  return {WriteResult::Code::refused, "controllers do not change objects of kind " + std::string(kind), {}};
}

// Adds the time that it lives.
class TimeSpent {
 public:
  TimeSpent(const Clock& clock, std::int64_t& sum_us) : clock_(clock), sum_us_(sum_us), began_us_(clock.now_us()) {}
  ~TimeSpent() { sum_us_ += clock_.now_us() - began_us_; }
  TimeSpent(const TimeSpent&) = delete;
  TimeSpent& operator=(const TimeSpent&) = delete;

 private:
  const Clock& clock_;
  std::int64_t& sum_us_;
  std::int64_t began_us_;
};

}  // namespace

Cluster::Cluster(const PlacementContext& context, Placement& placement)
    : context_(context),
      state_(placement.state()),
      pods_(context, placement.state(), [this](const Pod& pod) { return concerns(pod); }),
      pod_writer_(context, placement),
      writer_(context),
      claims_(context, placement),
      budgets_(context, *this) {
  context_.objects.workloads().observe(
      [this](const ObjectPtr& before, const ObjectPtr& after) { note_workload(before, after); });
  context_.publisher.observe([this](Kind kind, const std::string& key) {
    if (kind == Kind::pod) pods_.note(key);
    if (kind == Kind::node) noted_nodes_.insert(key);
    if (kind == Kind::pod_disruption_budget) note_namespace(key);
  });
  context_.objects.count_disruption_by([this](const PodDisruptionBudget& budget) {
    pods_.refresh(changes_);
    return budgets_.status_of(budget);
  });
}

void Cluster::begin() {
  for (const KindName& kind : kinds()) {
    if (!is_workload(kind.kind)) continue;
    for (const auto& [key, entry] : context_.objects.workloads().of(kind.kind)) note_workload(nullptr, entry.object);
  }
  for (const auto& [key, entry] : context_.objects.pods().all()) {
    if (!entry.pod->metadata.controller_uid.empty()) pods_.note(key);
  }
  for (const auto& [name, device] : context_.nodes.all()) noted_nodes_.insert(name);
  for (const auto& [key, budget] : context_.objects.all<PodDisruptionBudget>()) note_namespace(key);
}

void Cluster::refresh_node(const std::string& name) {
  const DeviceNode* device = context_.nodes.find(name);
  const auto known = nodes_.find(name);
  ControlledNodePtr before = known == nodes_.end() ? nullptr : known->second;
  const OptionalTime silent = before == nullptr ? OptionalTime() : before->silent_since;
  ControlledNodePtr after = device == nullptr ? nullptr : node_view(name, *device, silent.value_or(now()));
  if (after == before || (after != nullptr && before != nullptr && is_seen_alike(*before, *after))) return;
  const bool evicts = after != nullptr && !no_execute_taints(*after).empty();
  if (!evicts) evicting_nodes_.erase(name);
  if (evicts && evicting_nodes_.insert(name).second) note_pods_of(name);
  if (after == nullptr) {
    nodes_.erase(known);
  } else {
    nodes_.insert_or_assign(name, after);
  }
  changes_.push_back({std::move(before), std::move(after)});
}

std::vector<ObjectChange> Cluster::take_changes() {
  for (const std::string& name : std::exchange(noted_nodes_, {})) refresh_node(name);
  pods_.refresh(changes_);
  return std::exchange(changes_, {});
}

bool Cluster::may_be_evicted(const Pod& pod) const {
  if (evicting_nodes_.empty()) return false;
  const Binding* binding = state_.find(pod.uid());
  return binding != nullptr && evicting_nodes_.contains(std::string_view(binding->row.node));
}

void Cluster::note_pods_of(const std::string& node) {
  for (const auto& [uid, binding] : state_.bindings) {
    if (binding.row.node != node) continue;
    if (const PodEntry* entry = context_.objects.pods().find_by_uid(uid)) pods_.note(std::string(entry->key));
  }
}

// One whose owner is gone goes too if it was made here. A pod of an operator may name an owner that was never here.
bool Cluster::concerns(const Pod& pod) const {
  if (may_be_evicted(pod)) return true;
  const Text& controller = pod.metadata.controller_uid;
  if (controller.empty()) {
    return budgets_.covers(pod) || selectors_.selects(pod.metadata.namespace_.get(), pod.metadata.labels.get());
  }
  return uids_.contains(controller.get()) || is_made_here(pod);
}

bool Cluster::with_removals(int at_most, const std::function<void()>& writes) {
  removals_left_ = at_most;
  writes();
  return std::exchange(removals_left_, std::numeric_limits<int>::max()) <= 0;
}

void Cluster::note_selected(const ControlledObject& workload) {
  const LabelSelector* selector = pod_selector_of(workload);
  if (selector == nullptr) return;
  for (const auto& [key, entry] : context_.objects.pods().all()) {
    const ObjectMeta& metadata = entry.pod->metadata;
    if (!metadata.controller_uid.empty() || metadata.namespace_ != workload.metadata.namespace_) continue;
    if (matches(*selector, metadata.labels.get())) pods_.note(key);
  }
}

// A budget has come, changed or gone: its pods may be others than before.
void Cluster::note_namespace(const std::string& budget) {
  const std::string_view name_space = std::string_view(budget).substr(0, budget.find('/'));
  for (const auto& [key, entry] : context_.objects.pods().all()) {
    const ObjectMeta& metadata = entry.pod->metadata;
    if (metadata.controller_uid.empty() && metadata.namespace_ == name_space) pods_.note(key);
  }
}

void Cluster::note_workload(const ObjectPtr& before, const ObjectPtr& after) {
  changes_.push_back({before, after});
  if (before != nullptr && before->metadata.deletion) --deleted_workloads_;
  if (after != nullptr && after->metadata.deletion) ++deleted_workloads_;
  if (before != nullptr) uids_.erase(before->metadata.uid);
  if (after != nullptr) uids_.emplace(after->metadata.uid);
  const LabelSelector* was = before == nullptr ? nullptr : pod_selector_of(*before);
  const LabelSelector* is = after == nullptr ? nullptr : pod_selector_of(*after);
  if (was != nullptr && is != nullptr && *was == *is && before->metadata.uid == after->metadata.uid) return;
  if (was != nullptr) selectors_.remove(before->metadata.namespace_.get(), before->metadata.uid, *was);
  if (is == nullptr) return;
  selectors_.add(after->metadata.namespace_.get(), after->metadata.uid, *is);
  note_selected(*after);
}

ObjectPtr Cluster::find(std::string_view kind, const ObjectKey& key) const {
  if (kind == ControlledPod::kKind) return pods_.find(text_of(key));
  if (kind == ClaimWriter::kKind) return claims_.find(text_of(key));
  if (kind == ControlledNode::kKind) {
    const auto node = nodes_.find(key.name);
    return node == nodes_.end() ? nullptr : node->second;
  }
  const KindName* named = workload_named(kind);
  const Workloads::Entry* entry =
      named == nullptr ? nullptr : context_.objects.workloads().find(named->kind, text_of(key));
  return entry == nullptr ? nullptr : entry->object;
}

std::vector<ObjectPtr> Cluster::list(std::string_view kind, std::string_view name_space) const {
  if (kind == ControlledPod::kKind) return pods_.list(name_space);
  if (kind == ClaimWriter::kKind) return claims_.list(name_space);
  if (kind == DisruptionBudget::kKind) return budgets_.list(name_space);
  std::vector<ObjectPtr> found;
  if (kind == ControlledNode::kKind) {
    for (const auto& [name, node] : nodes_) found.push_back(node);
  }
  const KindName* named = workload_named(kind);
  if (named == nullptr) return found;
  for (const auto& [key, entry] : context_.objects.workloads().of(named->kind)) {
    if (name_space.empty() || entry.object->metadata.namespace_ == name_space) found.push_back(entry.object);
  }
  return found;
}

std::vector<ControlledPodPtr> Cluster::pods_of(std::string_view name_space, std::string_view controller_uid) const {
  return pods_.of(name_space, controller_uid);
}

bool Cluster::knows(std::string_view kind) const {
  return kind == ControlledPod::kKind || kind == ClaimWriter::kKind || workload_named(kind) != nullptr;
}

Result<std::optional<Scale>> Cluster::scale_of(const OwnerReference& owner, std::string_view name_space) const {
  const ObjectPtr object = find(owner.kind, {std::string(name_space), owner.name});
  if (object == nullptr) return std::optional<Scale>();
  const std::string uid = object->metadata.uid;
  if (owner.kind == Deployment::kKind) {
    return std::optional<Scale>({uid, static_cast<const Deployment&>(*object).spec.replicas});
  }
  if (owner.kind == StatefulSet::kKind) {
    return std::optional<Scale>({uid, static_cast<const StatefulSet&>(*object).spec.replicas});
  }
  if (owner.kind == ReplicaSet::kKind || owner.kind == kReplicationController) {
    return std::optional<Scale>({uid, static_cast<const ReplicaSet&>(*object).spec.replicas});
  }
  return Status::error(owner.kind + " does not implement the scale subresource");
}

WriteResult Cluster::create(std::string_view kind, std::string_view name_space, Json object) {
  const TimeSpent spent(context_.clock, writing_us_);
  if (kind == ControlledPod::kKind) {
    WriteResult result = pod_writer_.create(name_space, std::move(object));
    pods_.refresh(changes_);
    return result;
  }
  if (kind == ClaimWriter::kKind) return claims_.create(name_space, std::move(object));
  const KindName* named = workload_named(kind);
  return named == nullptr ? of_no_kind(kind) : create_workload(*named, name_space, std::move(object));
}

WriteResult Cluster::create_workload(const KindName& kind, std::string_view name_space, Json object) {
  Json& metadata = *object.find("metadata");
  metadata.set("namespace", name_space);
  std::string name = metadata.string_at("name");
  const auto key_now = [&] { return std::string(name_space) + "/" + name; };
  while (name.empty() || (metadata.find("name") == nullptr && context_.objects.has(kind.kind, key_now()))) {
    name = generated_name(context_.random, metadata.string_at("generateName"));
  }
  metadata.set("name", name);
  if (context_.objects.has(kind.kind, key_now())) {
    return {WriteResult::Code::already_exists, std::string(kind.plural) + " \"" + name + "\" already exists", name};
  }
  if (Status has = context_.admission.capacity(); !has.is_success()) {
    return {WriteResult::Code::refused, has.message(), {}};
  }
  object.erase("status");
  Json manifest = Json::object();
  manifest.set("apiVersion", kind.api_version).set("kind", kind.name);
  for (const auto& [key, value] : object.as_object()) manifest.set(key, value);
  manifest = writer_.with_kept_metadata(kind.kind, key_now(), std::move(manifest));
  if (Status valid = check_workload(kind.kind, manifest, nullptr, Rules::enforced); !valid.is_success()) {
    return {WriteResult::Code::refused, valid.message(), {}};
  }
  if (Status kept = writer_.keep(kind.kind, key_now(), std::move(manifest)); !kept.is_success()) {
    return {WriteResult::Code::refused, kept.message(), {}};
  }
  return {WriteResult::Code::done, {}, std::move(name)};
}

WriteResult Cluster::patch(const ControlledObject& object, const Json& merge) {
  const TimeSpent spent(context_.clock, writing_us_);
  if (object.kind == ControlledPod::kKind) {
    WriteResult result = pod_writer_.patch(object.metadata.key(), merge);
    pods_.refresh(changes_);
    return result;
  }
  if (object.kind == ClaimWriter::kKind) return claims_.patch(object.metadata.key(), merge);
  const KindName* named = workload_named(object.kind);
  return named == nullptr ? of_no_kind(object.kind) : writer_.patch(named->kind, object.metadata.key(), merge);
}

// That of a pod is its device's to say, and that of a budget is counted when it is asked for. An eviction writes both
// in the turn in which it deletes the pod, and then the budget counts without it.
WriteResult Cluster::patch_status(const ControlledObject& object, const Json& merge) {
  const TimeSpent spent(context_.clock, writing_us_);
  if (object.kind == ControlledPod::kKind || object.kind == DisruptionBudget::kKind) return {};
  const KindName* named = workload_named(object.kind);
  return named == nullptr ? of_no_kind(object.kind) : writer_.patch_status(named->kind, object.metadata.key(), merge);
}

WriteResult Cluster::remove(const ControlledObject& object, const DeleteOptions& options) {
  const TimeSpent spent(context_.clock, writing_us_);
  if (object.kind == ControlledPod::kKind) {
    if (removals_left_ <= 0) return {WriteResult::Code::refused, "enough pods were removed at once", {}};
    --removals_left_;
    WriteResult result = pod_writer_.remove(object.metadata.key(), options);
    pods_.refresh(changes_);
    return result;
  }
  if (object.kind == ClaimWriter::kKind) return claims_.remove(object.metadata.key(), options);
  const KindName* named = workload_named(object.kind);
  return named == nullptr ? of_no_kind(object.kind) : writer_.remove(named->kind, object.metadata.key(), options);
}

EvictionAnswer Cluster::evict(const ObjectKey& pod) {
  pods_.refresh(changes_);
  return berth::evict(*this, pod);
}

void Cluster::record(const ControlledObject& about, WorkloadEvent event) {
  const KindName* kind = find_kind(about.kind);
  if (kind == nullptr) return;
  const char* type = event.type == WorkloadEvent::Type::warning ? "Warning" : "Normal";
  context_.events.record({kind->kind, about.metadata.key(), type, event.reason, std::move(event.message), {}});
}

}  // namespace berth
