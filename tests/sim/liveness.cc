#include <algorithm>

#include "core/api/host_ports.h"
#include "tests/sim/invariants.h"
#include "tests/sim/workload_operator.h"

namespace berth::sim {

namespace {

constexpr int kMaxAttempts = 3;

// Whether a pod fits on a node: a second, simple implementation of what the simulator's pods use: selector, taints,
// features, cpu, memory, pod count, extended resources, host ports and local volumes.
bool selects(const Pod& pod, const Node& node) {
  return std::all_of(pod.node_selector.begin(), pod.node_selector.end(), [&](const auto& selected) {
    const auto label = node.metadata.labels.find(selected.first);
    return label != node.metadata.labels.end() && label->second == selected.second;
  });
}

// Those that the gateway itself sets.
bool is_of_gateway(const Taint& taint) {
  return taint.key == Nodes::kUnreachableTaint || taint.key.starts_with("node.berth/");
}

bool tolerates_all(const Pod& pod, const Node& node) {
  if (!pod.node_name.empty()) return std::none_of(node.taints.begin(), node.taints.end(), is_of_gateway);
  if (node.unschedulable) return false;
  return std::all_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule || tolerates(pod.spec->tolerations, taint);
  });
}

bool can_run(const Pod& pod, const Node& node) {
  return !node.declared_features || missing_of(pod.spec->needs, *node.declared_features).empty();
}

bool has_resources(const Pod& pod, const NodeInfo& info) {
  const Resources asked = pod_requests(pod);
  const auto held = static_cast<std::int64_t>(info.pods.size() + info.charges.size());
  for (const auto& [name, amount] : asked.scalar) {
    const auto amount_in = [&name](const Resources& resources) {
      const auto found = resources.scalar.find(name);
      return found == resources.scalar.end() ? 0 : found->second;
    };
    if (amount_in(info.requested) + amount > amount_in(info.allocatable)) return false;
  }
  return info.requested.milli_cpu + asked.milli_cpu <= info.allocatable.milli_cpu &&
         info.requested.memory + asked.memory <= info.allocatable.memory && held + 1 <= info.allocatable.allowed_pods;
}

bool has_ports(const Pod& pod, const NodeInfo& info) {
  const std::vector<HostPort> asked = host_ports(pod);
  return std::all_of(info.pods.begin(), info.pods.end(), [&](const auto& other) {
    const std::vector<HostPort> taken = host_ports(*other);
    return std::none_of(asked.begin(), asked.end(), [&](const HostPort& port) { return conflicts(port, taken); });
  });
}

// Whether a placement in progress may have reserved volumes, so that unbound volumes need not be free.
bool is_undecided(const Gateway& gateway) {
  return std::any_of(gateway.bindings().begin(), gateway.bindings().end(),
                     [](const auto& entry) { return entry.second.row.phase < Phase::bind; });
}

// A bound claim restricts the pod to its volume's node. An unbound one needs a free volume of its class on the node;
// while another placement is in progress, the pod counts as not fitting.
bool has_volumes(const Pod& pod, const std::string& node, const Gateway& gateway) {
  const Objects& objects = gateway.objects();
  return std::all_of(pod.volumes.begin(), pod.volumes.end(), [&](const PodVolume& volume) {
    if (volume.claim_name.empty() && !volume.ephemeral) return true;
    const std::string name = volume.ephemeral ? pod.metadata.name + "-" + volume.name : volume.claim_name;
    const auto claim = objects.claim(pod.metadata.namespace_ + "/" + name);
    if (volume.ephemeral && (claim == nullptr || claim->metadata.controller_uid != pod.uid()))
      return !is_undecided(gateway);
    if (claim == nullptr || claim->metadata.deleting) return false;
    if (!claim->volume_name.empty()) return claim->volume_name.starts_with(node + "-");
    if (is_undecided(gateway)) return false;
    const auto offered = objects.volumes_of_class(claim->storage_class_name.value_or(""));
    // A volume reserved for the claim by its claimRef is the only one that it may get.
    const auto own = std::find_if(offered.begin(), offered.end(), [&](const auto& each) {
      return each->claim_ref == claim->metadata.key() &&
             (each->claim_ref_uid.empty() || each->claim_ref_uid == claim->metadata.uid);
    });
    if (own != offered.end()) return (*own)->metadata.name.starts_with(node + "-");
    return std::any_of(offered.begin(), offered.end(), [&](const auto& free) {
      const bool is_free = free->phase == "Available" && free->claim_ref.empty() && !free->metadata.deleting;
      return is_free && free->metadata.name.starts_with(node + "-");
    });
  });
}

// A pod that waits for the node after a preemption has its place there.
bool is_nominated_there(const Gateway& gateway, const std::string& node, const Pod& pod) {
  const auto& nominated = gateway.scheduler().nominator().pods_on(node);
  return std::any_of(nominated.begin(), nominated.end(),
                     [&](const auto& other) { return other->uid() != pod.uid() && other->priority >= pod.priority; });
}

std::optional<std::string> find_feasible(const Gateway& gateway, const Witness& witness, const Pod& pod) {
  for (const auto& device : witness.devices()) {
    const NodeInfo* info = gateway.scheduler().cache().find(device->name);
    if (info == nullptr || info->node == nullptr) continue;
    if (!pod.node_name.empty() && pod.node_name != device->name) continue;
    const bool fits = selects(pod, *info->node) && tolerates_all(pod, *info->node) && can_run(pod, *info->node) &&
                      has_resources(pod, *info) && has_ports(pod, *info) && has_volumes(pod, device->name, gateway);
    if (fits && !is_nominated_there(gateway, device->name, pod)) return device->name;
  }
  return std::nullopt;
}

// Every volume requested from the provisioner is created.
Breach find_unmade(const Gateway& gateway) {
  for (const std::string& key : gateway.objects().keys(Kind::persistent_volume_claim)) {
    const auto claim = gateway.objects().claim(key);
    const auto selected = claim->metadata.annotations.find("volume.kubernetes.io/selected-node");
    if (selected == claim->metadata.annotations.end() || claim->phase == "Bound" || claim->metadata.deleting) {
      continue;
    }
    return "claim " + key + " was to be provisioned for node " + selected->second + " but is not bound";
  }
  return {};
}

Breach l1(const Witness& witness, const Expected& expected) {
  const Gateway* gateway = witness.gateway().alive;
  if (gateway == nullptr) return "there is no gateway";
  if (const std::string why = gateway->not_ready(); !why.empty()) return "the gateway is not ready: " + why;
  for (const auto& [key, uid] : expected.uid_of_pod) {
    const PodEntry* entry = gateway->objects().pods().find(key);
    if (entry == nullptr && expected.preemptible.contains(key)) continue;
    const bool is_another = entry != nullptr && !uid.empty() && entry->pod->uid() != uid;
    if (entry == nullptr || (is_another && !witness.was_found(entry->pod->uid()))) {
      return "expected pod " + key + " (" + uid + "), the gateway has " +
             (entry == nullptr ? Text("none") : entry->pod->uid());
    }
  }
  if (Breach breach = find_unmade(*gateway)) return breach;
  for (const auto& [key, entry] : gateway->objects().pods().all()) {
    const std::string& uid = entry.pod->uid();
    // Which pods a workload should have, its operator knows (ROLLOUT).
    const bool is_expected = expected.uid_of_pod.contains(key) || entry.pod->metadata.namespace_ == kWorkloads;
    if (!is_expected) return "pod " + key + " (" + uid + ") was deleted but still exists";
    if (entry.deleting) return "pod " + key + " (" + uid + ") is still being deleted";
    if (entry.finished || !entry.pod->spec->scheduling_gates.empty() || gateway->bindings().contains(uid)) continue;
    const Queue::Where where = gateway->scheduler().queue().where(uid);
    if (expected.busy && (where == Queue::Where::active || where == Queue::Where::backoff)) continue;
    if (const auto node = find_feasible(*gateway, witness, *entry.pod)) {
      return "pod " + key + " (" + uid + ") is pending although it fits on node " + *node;
    }
  }
  return {};
}

// Whether a row or release-list entry is recent enough to be unanswered: e.g. a job that waited for a port starts late.
bool is_recent(const Witness& witness, const Expected& expected, RequestType type, const PlacementId& named) {
  return witness.is_fresh(type, named, expected.now);
}

RequestType asked_in(Phase phase) {
  if (phase == Phase::release) return RequestType::release;
  return phase == Phase::prebind ? RequestType::pre_bind : RequestType::bind;
}

Breach l2(const Witness& witness, const Expected& expected) {
  for (const auto& [uid, row] : witness.gateway().rows) {
    const auto attempts = witness.attempts().find(uid);
    const bool again = !expected.busy && attempts != witness.attempts().end() && attempts->second > 1;
    const bool fresh = !again && is_recent(witness, expected, asked_in(row.phase), {uid, row.epoch});
    if (row.phase == Phase::bound || fresh) continue;
    return "row " + show(uid, row.epoch) + " on node " + row.node + " is still in phase " +
           std::string(to_string(row.phase));
  }
  return {};
}

Breach l3(const Witness& witness, const Expected& expected) {
  for (const auto& device : witness.devices()) {
    for (const auto& [uid, slot] : device->durable.state.slots) {
      const bool fresh = is_recent(witness, expected, RequestType::release, {uid, slot.epoch});
      if (slot.state == SlotState::stopping && !fresh) {
        return "the Release of slot " + show(uid, slot.epoch) + " on node " + device->name + " was never answered";
      }
    }
    for (const Tag& tag : device->runtime->alive()) {
      const auto slot = device->durable.state.slots.find(tag.uid);
      if (slot == device->durable.state.slots.end() || slot->second.epoch != tag.epoch) {
        return "workload " + show(tag.uid, tag.epoch) + " on node " + device->name + " belongs to no slot";
      }
    }
  }
  for (const auto& [uid, row] : witness.gateway().rows) {
    if (is_recent(witness, expected, RequestType::release, {uid, row.epoch})) continue;
    if (row.phase == Phase::release) return "the Release of row " + show(uid, row.epoch) + " was never answered";
  }
  for (const auto& [key, entry] : witness.gateway().releases) {
    if (is_recent(witness, expected, RequestType::release, {entry.uid, entry.epoch})) continue;
    return "the Release of " + key + " was never answered";
  }
  return {};
}

Breach l4(const Witness& witness, const Expected& expected) {
  for (const auto& [key, entry] : witness.gateway().releases) {
    if (is_recent(witness, expected, RequestType::release, {entry.uid, entry.epoch})) continue;
    return "a release list still holds " + key;
  }
  if (expected.requests_at_rest == 0) return {};
  return std::to_string(expected.requests_at_rest) + " requests were still being resent";
}

Breach l5(const Witness& witness, const Expected&) {
  for (const auto& [uid, attempts] : witness.attempts()) {
    if (attempts > kMaxAttempts) return "pod " + uid + " needed " + std::to_string(attempts) + " attempts";
  }
  return {};
}

// A pod that has been waiting for its image, or for its agent, runs or has ended.
Breach find_unstarted(const Witness& witness, const Expected& expected) {
  for (const auto& device : witness.devices()) {
    for (const auto& [uid, slot] : device->durable.state.slots) {
      if (slot.state != SlotState::running || device->runtime->is_alive({uid, slot.epoch})) continue;
      if (is_recent(witness, expected, RequestType::bind, {uid, slot.epoch})) continue;
      return "the workload of slot " + show(uid, slot.epoch) + " on node " + device->name + " does not run";
    }
  }
  return {};
}

// The operator has decided wherever the gateway leaves it to him.
Breach s14_at_rest(const Witness& witness, const Expected& expected) {
  if (expected.busy) return {};
  std::map<std::string, std::string> runs;  // by name: uid and node
  for (const auto& device : witness.devices()) {
    for (const Tag& tag : device->runtime->alive()) {
      const auto [other, is_first] = runs.emplace(witness.names().name_of(tag.uid), tag.uid + " on " + device->name);
      if (is_first) continue;
      return "two pods " + other->first + " run: " + other->second + ", " + tag.uid + " on " + device->name;
    }
  }
  return {};
}

}  // namespace

const std::vector<Liveness>& liveness() {
  static const std::vector<Liveness> kLiveness{
      {"L1", "a pod with a feasible node becomes bound or deleted", l1},
      {"L2", "no row stays in prebind or release beyond its deadline plus one retry", l2},
      {"L3", "every Release is answered", l3},
      {"L4", "resend queues and release lists drain", l4},
      {"S14", "one pod of a name runs", s14_at_rest},
      {"RUNS", "the workload of a slot that runs is alive", find_unstarted},
      {"L5", "at most 3 attempts per pod", l5},
  };
  return kLiveness;
}

}  // namespace berth::sim
