#include "plugins/volumebinding.h"

#include <algorithm>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/json/field_reader.h"
#include "plugins/volume_claims.h"
#include "plugins/volumebinding_hints.h"
#include "plugins/volumebinding_match.h"
#include "plugins/volumebinding_provision.h"

namespace berth {

namespace {

using Claim = VolumeBindingState::Claim;
using Volume = VolumeBindingState::Volume;

Status check_claim(const Pod& pod, const ClaimUse& use, const PersistentVolumeClaim* claim) {
  const std::string quoted = "persistentvolumeclaim \"" + use.name + "\" ";
  if (claim == nullptr && use.ephemeral) {
    return Status::unresolvable("waiting for ephemeral volume controller to create the persistentvolumeclaim \"" +
                                use.name + "\"");
  }
  if (claim == nullptr) return Status::unresolvable(claim_not_found(use.name));
  if (claim->phase == "Lost") {
    return Status::unresolvable(quoted + "bound to non-existent persistentvolume \"" + claim->volume_name + "\"");
  }
  if (claim->metadata.deleting) return Status::unresolvable(quoted + "is being deleted");
  if (use.ephemeral) {
    if (const std::optional<std::string> why = not_owned(pod, *claim)) return Status::unresolvable(*why);
  }
  return {};
}

// The pod's claims, each once; a claim that is mounted twice needs one volume.
Status find_claims(const Lister& volumes, const Pod& pod, std::vector<Claim>& claims) {
  for (const ClaimUse& use : claims_used(pod)) {
    Claim claim = volumes.claim(claim_key(pod, use));
    if (Status status = check_claim(pod, use, claim.get()); !status.is_success()) return status;
    const bool known = std::any_of(claims.begin(), claims.end(), [&claim](const Claim& other) {
      return other->metadata.name == claim->metadata.name;
    });
    if (!known) claims.push_back(std::move(claim));
  }
  return {};
}

bool waits_for_consumer(const Lister& volumes, const PersistentVolumeClaim& claim) {
  const auto storage_class = volumes.storage_class(class_of(claim));
  return storage_class != nullptr && storage_class->wait_for_first_consumer && claim.volume_name.empty();
}

const std::string* node_to_provision(const AssumedVolumes& assumed, const PersistentVolumeClaim& claim) {
  const std::string* node = selected_node(claim);
  return node != nullptr ? node : assumed.node_of(claim.metadata.key());
}

// By ascending size; equal ones keep their order.
void sort_by_size(std::vector<Claim>& claims) {
  std::multimap<Quantity, Claim> by_size;
  for (const Claim& claim : claims) by_size.emplace(claim->request, claim);
  claims.clear();
  for (const auto& [size, claim] : by_size) claims.push_back(claim);
}

void append(std::string& text, std::string_view part) {
  text += std::to_string(part.size());
  text += ':';
  text += part;
}

// Everything in a claim that affects the search for a free volume.
void append(std::string& text, const PersistentVolumeClaim& claim) {
  append(text, class_of(claim));
  append(text, claim.request.to_text());
  append(text, claim.volume_mode);
  append(text, claim.volume_attributes_class_name);
  for (const std::string& mode : claim.access_modes) append(text, mode);
  text += claim.selector ? '{' : ';';
  if (!claim.selector) return;
  for (const Requirement& requirement : claim.selector->requirements) {
    append(text, requirement.key);
    text += static_cast<char>('a' + static_cast<int>(requirement.op));
    for (const std::string& value : requirement.values) append(text, value);
    text += ',';
  }
  text += '}';
}

// Whether a claim's volume, as it is now, reaches the same nodes; null: it is gone.
bool is_as_near(const Volume& now, const Volume& before) {
  if (now == nullptr || before == nullptr) return now == before;
  return now == before || now->node_affinity == before->node_affinity;
}

// Whether a class lets the same nodes provision; null: it is gone.
bool is_as_free(const StorageClass* now, const StorageClass* before) {
  if (now == nullptr || before == nullptr) return now == before;
  return now == before ||
         (now->provisioner == before->provisioner && now->allowed_topologies == before->allowed_topologies);
}

// Adds the indices of the nodes whose label is this host.
void add_nodes_of(const std::string& host, const Snapshot& snapshot, std::vector<std::size_t>& indices) {
  const NodeColumns::Label& label = snapshot.columns().label(kHostLabel, snapshot.nodes());
  const auto found = label.values.find(host);
  if (found == label.values.end() || label.nodes[found->second] == 0) return;
  const std::size_t named = snapshot.index_of(host);
  if (label.nodes[found->second] == 1 && named < label.numbers.size() && label.numbers[named] == found->second) {
    indices.push_back(named);
    return;
  }
  for (std::size_t index = 0; index < label.numbers.size(); ++index) {
    if (label.numbers[index] == found->second) indices.push_back(index);
  }
}

Result<VolumeBinding::Arguments> read_binding_arguments(const Json& args) {
  Findings findings(Findings::Unknown::refuse);
  const Json none = Json::object();
  FieldReader reader(args.is_null() ? none : args, "args", findings);
  VolumeBinding::Arguments arguments;
  std::string type;
  reader.read_enum("apiVersion", {"kubescheduler.config.k8s.io/v1"}, type);
  reader.read_enum("kind", {"VolumeBindingArgs"}, type);
  reader.read_int64("bindTimeoutSeconds", arguments.bind_timeout_seconds, 0, INT32_MAX);
  if (reader.has("shape")) reader.rule("shape", "not supported: the feature StorageCapacityScoring is off; remove it");
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return arguments;
}

}  // namespace

PluginMaker VolumeBinding::maker() {
  auto shared = std::make_shared<std::map<const Handle*, std::weak_ptr<AssumedVolumes>>>();
  return [shared](const Json& args, Handle& handle) -> Result<std::unique_ptr<Plugin>> {
    const Result<Arguments> arguments = read_binding_arguments(args);
    if (!arguments) return arguments.error();
    std::erase_if(*shared, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<AssumedVolumes> assumed = (*shared)[&handle].lock();
    if (assumed == nullptr) {
      assumed = std::make_shared<AssumedVolumes>();
      (*shared)[&handle] = assumed;
    }
    return std::unique_ptr<Plugin>(std::make_unique<VolumeBinding>(*arguments, handle, std::move(assumed)));
  };
}

VolumeBinding::VolumeBinding(Arguments arguments, Handle& handle, std::shared_ptr<AssumedVolumes> assumed)
    : arguments_(arguments), handle_(handle), assumed_(std::move(assumed)) {}

const PodVolumes* VolumeBinding::decision(const CycleState& state, const std::string& node) {
  const auto* volumes = state.read<VolumeBindingState>();
  if (volumes == nullptr) return nullptr;
  const auto found = volumes->decisions.find(node);
  return found == volumes->decisions.end() ? nullptr : &found->second;
}

Json VolumeBinding::args() const {
  Json args = Json::object();
  args.set("bindTimeoutSeconds", arguments_.bind_timeout_seconds);
  return args;
}

std::vector<EventWithHint> VolumeBinding::events_to_register() const { return volume_binding_events(); }

Status VolumeBinding::pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) {
  const Lister& volumes = handle_.lister();
  std::vector<Claim> claims;
  if (Status status = find_claims(volumes, pod, claims); !status.is_success()) return status;
  if (claims.empty()) return Status::skip();
  assumed_->prune(volumes);
  auto found = std::make_unique<VolumeBindingState>();
  std::vector<Claim> delayed;
  for (Claim& claim : claims) {
    if (is_bound(*claim)) {
      found->bound.emplace_back(claim, volumes.volume(claim->volume_name));
    } else if (!waits_for_consumer(volumes, *claim)) {
      return Status::unresolvable("pod has unbound immediate PersistentVolumeClaims");
    } else if (const std::string* node = node_to_provision(*assumed_, *claim)) {
      found->selected.push_back({claim, volumes.storage_class(class_of(*claim)), *node});
    } else {
      delayed.push_back(std::move(claim));
    }
  }
  const auto know_pool = [&](const PersistentVolumeClaim& claim) {
    const std::string name = class_of(claim);
    if (is_made_by_devices(volumes, name)) found->pools.add(name, index_of(name), *assumed_);
  };
  for (const VolumeBindingState::SelectedClaim& selected : found->selected) know_pool(*selected.claim);
  for (const Claim& claim : delayed) know_pool(*claim);
  sort_by_size(delayed);
  for (const Claim& claim : delayed) {
    const std::shared_ptr<VolumeIndex>& index = index_of(class_of(*claim));
    found->delayed.push_back(
        {claim, index, volumes.storage_class(class_of(*claim)), index->reserved_for(*claim), index->seen()});
  }
  state.write(std::move(found));
  return {};
}

const std::shared_ptr<VolumeIndex>& VolumeBinding::find_or_make_index(const std::string& storage_class) {
  std::shared_ptr<VolumeIndex>& index = indexes_[storage_class];
  if (index == nullptr) {
    index = std::make_shared<VolumeIndex>(storage_class);
    std::erase_if(indexes_, [&](const auto& each) { return handle_.lister().storage_class(each.first) == nullptr; });
  }
  return index;
}

const std::shared_ptr<VolumeIndex>& VolumeBinding::index_of(const std::string& storage_class) {
  const std::shared_ptr<VolumeIndex>& index = find_or_make_index(storage_class);
  index->follow(handle_.lister(), *assumed_);
  return index;
}

bool VolumeBinding::prepare(const Pod& pod, std::size_t most) {
  const Lister& lister = handle_.lister();
  const auto claims = claims_used(pod);
  return std::any_of(claims.begin(), claims.end(), [&](const ClaimUse& use) {
    const Claim claim = lister.claim(claim_key(pod, use));
    if (claim == nullptr || is_bound(*claim) || lister.storage_class(class_of(*claim)) == nullptr) return false;
    return find_or_make_index(class_of(*claim))->build(lister, *assumed_, most);
  });
}

std::optional<std::string> VolumeBinding::equivalence_key(const Pod& pod) {
  const Lister& lister = handle_.lister();
  std::vector<Claim> claims;
  if (!find_claims(lister, pod, claims).is_success()) return std::nullopt;
  assumed_->prune(lister);
  std::string key;
  std::vector<Claim> delayed;
  for (Claim& claim : claims) {
    if (is_bound(*claim)) {
      append(key += '=', claim->volume_name);
      continue;
    }
    if (!waits_for_consumer(lister, *claim)) return std::nullopt;
    const std::shared_ptr<const StorageClass> storage_class = lister.storage_class(class_of(*claim));
    const std::string& provisioner = storage_class->provisioner;
    if (provisioner != StorageClass::kNoProvisioner && provisioner != StorageClass::kLocalProvisioner) {
      return std::nullopt;
    }
    const std::string* const node = node_to_provision(*assumed_, *claim);
    if (node == nullptr) {
      delayed.push_back(std::move(claim));
    } else {
      append(key += '@', claim->metadata.key());
      append(key, *node);
      append(key, *claim);
    }
  }
  sort_by_size(delayed);
  for (const Claim& claim : delayed) {
    const Volume reserved = index_of(class_of(*claim))->reserved_for(*claim);
    if (reserved == nullptr) {
      append(key, *claim);
    } else {
      append(key += '~', reserved->metadata.name);
      append(key, *claim);
    }
  }
  return key;
}

bool VolumeBinding::changed(CycleState& state, const Snapshot& snapshot, std::vector<std::size_t>& indices) {
  auto* volumes = state.edit<VolumeBindingState>();
  if (volumes == nullptr) return true;  // no claims
  volumes->is_of_class = true;
  const Lister& lister = handle_.lister();
  const bool are_bound_there = std::all_of(volumes->bound.begin(), volumes->bound.end(), [&lister](const auto& each) {
    return is_as_near(lister.volume(each.first->volume_name), each.second);
  });
  const auto has_same_class = [&lister](const auto& each) {
    return is_as_free(lister.storage_class(class_of(*each.claim)).get(), each.storage_class.get());
  };
  if (!are_bound_there || !std::all_of(volumes->selected.begin(), volumes->selected.end(), has_same_class) ||
      !std::all_of(volumes->delayed.begin(), volumes->delayed.end(), has_same_class)) {
    return false;
  }
  std::vector<std::string> nodes;
  if (!volumes->pools.changed(lister, nodes)) return false;
  std::vector<std::string> hosts;
  for (VolumeBindingState::DelayedClaim& delayed : volumes->delayed) {
    delayed.candidates->follow(lister, *assumed_);
    if (delayed.reserved != nullptr) {
      if (!is_as_near(delayed.candidates->reserved_for(*delayed.claim), delayed.reserved)) return false;
    } else if (!delayed.candidates->changed_since(delayed.seen, hosts)) {
      return false;
    }
  }
  for (const std::string& host : hosts) add_nodes_of(host, snapshot, indices);
  for (const std::string& node : nodes) {
    const std::size_t index = snapshot.index_of(node);
    if (index < snapshot.nodes().size()) indices.push_back(index);
  }
  return true;
}

Status VolumeBinding::filter(CycleState& state, const Pod&, const NodeInfo& node) {
  auto* volumes = state.edit<VolumeBindingState>();
  if (volumes == nullptr) return Status::error("PreFilter did not run");
  std::vector<std::string> reasons;
  if (const char* reason = bound_fit(*volumes, *node.node)) reasons.emplace_back(reason);
  PodVolumes decision;
  const Result<const char*> reason = unbound_fit(handle_.lister(), *volumes, *node.node, decision);
  if (!reason) return reason.error();
  if (*reason != nullptr) reasons.emplace_back(*reason);
  if (!reasons.empty()) return {Code::unresolvable, std::move(reasons)};
  if (!volumes->is_of_class) volumes->decisions[node.name()] = std::move(decision);
  return {};
}

bool VolumeBinding::filter_rows(CycleState& state, const Pod&, const Snapshot& snapshot, const Rows& rows,
                                std::uint8_t* rejects) {
  std::vector<std::uint8_t> reasons(rows.size());
  if (!number_reasons(state, snapshot, rows, reasons.data())) return false;
  for (std::size_t row = 0; row < rows.size(); ++row) rejects[row] |= reasons[row] != 0 ? 1 : 0;
  return true;
}

bool VolumeBinding::number_reasons(const CycleState& state, const Snapshot& snapshot, const Rows& rows,
                                   std::uint8_t* reasons) {
  const auto* volumes = state.read<VolumeBindingState>();
  return volumes != nullptr && number_misfits(handle_.lister(), *volumes, snapshot, rows, reasons);
}

Status VolumeBinding::pre_score(CycleState&, const Pod&, const std::vector<std::shared_ptr<const NodeInfo>>&) {
  return Status::skip();
}

Status VolumeBinding::score(CycleState&, const Pod&, const NodeInfo&, std::int64_t& score) {
  score = 0;
  return {};
}

Status VolumeBinding::reserve(CycleState& state, const Pod& pod, const std::string& node) {
  if (state.read<VolumeBindingState>() == nullptr) return {};  // PreFilter: no claims
  const PodVolumes* chosen = decision(state, node);
  if (chosen == nullptr) return Status::error("Filter did not accept node " + node);
  for (const BoundVolume& each : chosen->bind) {
    if (assumed_->assume(each.volume, each.claim, pod.uid())) continue;
    const std::string other = assumed_->claim_of(each.volume);
    if (other.empty()) return Status::error("claim " + each.claim + " is assumed to get another persistentvolume");
    return Status::error("persistentvolume \"" + each.volume + "\" is assumed for claim " + other);
  }
  for (const std::string& claim : chosen->provision) {
    const Claim object = handle_.lister().claim(claim);
    if (object == nullptr) return Status::error(claim_not_found(claim));
    if (assumed_->assume_node(claim, node, {class_of(*object), object->request}, pod.uid())) continue;
    return Status::error("claim " + claim + " is assumed to be provisioned for node " + *assumed_->node_of(claim));
  }
  return {};
}

void VolumeBinding::unreserve(CycleState&, const Pod& pod, const std::string&) { assumed_->drop(pod.uid()); }

void VolumeBinding::restore(CycleState&, const Pod& pod, const std::string& node,
                            const std::vector<BoundVolume>& bound_volumes) {
  for (const BoundVolume& each : bound_volumes) {
    const Claim claim = handle_.lister().claim(each.claim);
    if (claim != nullptr && is_bound(*claim)) continue;
    if (each.make) {
      assumed_->assume_node(each.claim, node, {each.make->storage_class, Quantity(each.make->bytes)}, pod.uid());
    } else {
      assumed_->assume(each.volume, each.claim, pod.uid());
    }
  }
}

// Unlike upstream, PreBind also has work to do for bound claims: the device needs their paths.
Status VolumeBinding::pre_bind_pre_flight(CycleState& state, const Pod&, const std::string&) {
  return state.read<VolumeBindingState>() == nullptr ? Status::skip() : Status();
}

// The device makes the volume as it prepares the pod; another pod with the claim may have had it made before.
Result<BoundVolume> VolumeBinding::made_by_device(const PersistentVolumeClaim& claim, const Node& node) const {
  const std::string failed = "binding volumes: ";
  if (!claim.volume_name.empty()) {
    const Volume volume = handle_.lister().volume(claim.volume_name);
    if (volume != nullptr && reaches(*volume, node)) return bound_volume(claim, *volume);
    return Status::error(failed + "pv \"" + claim.volume_name + "\" is not on node \"" + node.metadata.name + "\"");
  }
  if (const VolumePool* pool = pool_of(node, class_of(claim))) return volume_to_make(claim, *pool);
  return Status::error(failed + "node \"" + node.metadata.name + "\" has no volume pool of class " + class_of(claim) +
                       " any more");
}

Status VolumeBinding::provision(const std::vector<std::string>& claims, const std::string& node,
                                std::optional<Millis>& asked_at, PlacementRequest& request) const {
  const NodeInfo* info = handle_.snapshot().find(node);
  if (info == nullptr) return Status::error("binding volumes: failed to get node \"" + node + "\"");
  std::vector<std::string> awaited;
  for (const std::string& key : claims) {
    const Claim claim = handle_.lister().claim(key);
    if (claim == nullptr || !is_made_by_devices(handle_.lister(), class_of(*claim))) {
      awaited.push_back(key);
      continue;
    }
    Result<BoundVolume> volume = made_by_device(*claim, *info->node);
    if (!volume) return volume.error();
    request.volumes.push_back(std::move(*volume));
  }
  return awaited.empty() ? Status() : await_provisioned(awaited, *info->node, asked_at, request);
}

// Binder.BindPodVolumes. Provisioning is requested once and then polled until the volume exists.
Status VolumeBinding::await_provisioned(const std::vector<std::string>& claims, const Node& node,
                                        std::optional<Millis>& asked_at, PlacementRequest& request) const {
  std::vector<std::string> waiting;
  for (const std::string& key : claims) {
    const Result<Volume> volume = provisioned_volume(handle_.lister(), key, node, asked_at.has_value());
    if (!volume) return Status::error("binding volumes: " + volume.error().message());
    if (*volume == nullptr) {
      waiting.push_back(key);
    } else {
      request.volumes.push_back({key, (*volume)->metadata.name, (*volume)->local_path});
    }
  }
  if (waiting.empty()) return {};
  const Millis now = handle_.clock().now();
  const Millis deadline = asked_at.value_or(now) + arguments_.bind_timeout_seconds * 1000;
  if (asked_at && now >= deadline) return Status::error("binding volumes: context deadline exceeded");
  asked_at = asked_at.value_or(now);
  request.provision = std::move(waiting);
  request.again_at = deadline;
  return {};
}

Status VolumeBinding::pre_bind(CycleState& state, const Pod&, const std::string& node, PlacementRequest& request) {
  auto* volumes = state.edit<VolumeBindingState>();
  if (volumes == nullptr) return {};
  for (const auto& [claim, volume] : volumes->bound) {
    if (volume != nullptr) request.volumes.push_back(bound_volume(*claim, *volume));
  }
  const PodVolumes* chosen = decision(state, node);
  if (chosen == nullptr) return Status::error("Filter did not accept node " + node);
  request.volumes.insert(request.volumes.end(), chosen->bind.begin(), chosen->bind.end());
  if (chosen->provision.empty()) return {};
  return provision(chosen->provision, node, volumes->asked_at, request);
}

// From here on the volume objects show the binding.
void VolumeBinding::post_bind(CycleState&, const Pod& pod, const std::string&) { assumed_->drop(pod.uid()); }

}  // namespace berth
