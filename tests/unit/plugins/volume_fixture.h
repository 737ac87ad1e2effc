// For the tests of the volume plugins: claims, volumes and classes in one line each, and calls of a single plugin.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/api/pod.h"
#include "core/api/volume.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

inline PersistentVolumeClaim& add_claim(FakeVolumes& volumes, const std::string& name,
                                        const std::string& storage_class = "", const std::string& volume = "") {
  PersistentVolumeClaim claim;
  claim.metadata.name = name;
  claim.metadata.namespace_ = "default";
  claim.storage_class_name = storage_class;
  claim.volume_name = volume;
  claim.request = quantity("1Gi");
  return volumes.claims["default/" + name] = claim;
}

inline PersistentVolume& add_volume(FakeVolumes& volumes, const std::string& name, Labels labels = {}) {
  PersistentVolume volume;
  volume.metadata.name = name;
  volume.metadata.labels = std::move(labels);
  return volumes.volumes[name] = volume;
}

inline StorageClass& add_class(FakeVolumes& volumes, const std::string& name, const std::string& provisioner,
                               bool waits = true) {
  StorageClass storage_class;
  storage_class.metadata.name = name;
  storage_class.provisioner = provisioner;
  storage_class.wait_for_first_consumer = waits;
  return volumes.classes[name] = storage_class;
}

inline Pod pod_with_claims(const std::string& name, const std::vector<std::string>& claims) {
  Pod pod = make_pod(name);
  for (const std::string& claim : claims) pod.volumes.push_back({"v-" + claim, claim});
  return pod;
}

inline Pod pod_with_disk(const std::string& name, DiskSource disk) {
  Pod pod = make_pod(name);
  PodVolume volume;
  volume.name = "v";
  volume.disk = std::move(disk);
  pod.volumes.push_back(std::move(volume));
  return pod;
}

// Runs PreFilter with the nodes, then Filter on one: "" if it fits, "skip", or code and reasons.
template <class P>
std::string filter_with(P& plugin, const Pod& pod, const std::vector<NodeInfo>& nodes, std::size_t node = 0) {
  Cache cache;
  for (const NodeInfo& info : nodes) {
    cache.set_node(info.node);
    for (const auto& placed : info.pods) cache.confirm(placed, info.name());
  }
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  CycleState state;
  PreFilterResult result;
  Status status = plugin.pre_filter(state, pod, snapshot, result);
  if (status.is_skip()) return "skip";
  if (status.is_success()) status = plugin.filter(state, pod, *snapshot.find(nodes[node].name()));
  return status.is_success() ? "" : std::string(to_string(status.code())) + ": " + status.message();
}

// The state after PreFilter and Filter accepted the node, which is the only one in the handle's snapshot.
template <class P>
CycleState accepted_by(P& plugin, FakeHandle& handle, const Pod& pod, const Node& node) {
  Cache cache;
  cache.set_node(share(node));
  cache.update_snapshot(handle.snapshot_of_test);
  CycleState state;
  PreFilterResult result;
  EXPECT_TRUE(plugin.pre_filter(state, pod, handle.snapshot_of_test, result).is_success());
  EXPECT_TRUE(plugin.filter(state, pod, *handle.snapshot_of_test.find(node.metadata.name)).is_success());
  return state;
}

inline NodeInfo node_with(const std::string& name, std::vector<Pod> pods) {
  NodeInfo info = info_of(make_node(name));
  for (Pod& pod : pods) info.pods.push_back(share(std::move(pod)));
  return info;
}

// How the plugin's registrations answer an event: "Queue", "QueueSkip", "NotRegistered".
template <class P>
std::string hint_of(const P& plugin, const Pod& pod, const ClusterEvent& event, const EventObjects& objects) {
  std::string answer = "NotRegistered";
  for (const EventWithHint& each : plugin.events_to_register()) {
    if (!each.event.matches(event)) continue;
    if (!each.hint || each.hint(pod, objects) == Hint::queue) return "Queue";
    answer = "QueueSkip";
  }
  return answer;
}

}  // namespace berth
