// For the tests of the plugins that depend on other pods: nodes with labels, pods on them, namespaces and services.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/service.h"
#include "core/api/volume.h"
#include "core/random.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

class TopologyCluster final : public Handle, public Lister {
 public:
  void node(const std::string& name, const Labels& labels, const std::vector<Taint>& taints = {}) {
    Node node;
    node.metadata.name = name;
    node.metadata.labels = labels;
    node.taints = taints;
    cache_.set_node(share(std::move(node)));
  }
  // Nodes n0, n1, ... in the given zones, each with its host name.
  void zones(const std::vector<std::string>& zones) {
    for (std::size_t i = 0; i < zones.size(); ++i) {
      const std::string name = "n" + std::to_string(i);
      node(name, {{"zone", zones[i]}, {"kubernetes.io/hostname", name}});
    }
  }
  void assign(const Pod& pod, const std::string& node) { CHECK(cache_.assume(share(pod), node).is_success()); }
  void remove(const std::string& uid) { cache_.remove(uid); }
  void name_space(const std::string& name, const Labels& labels) {
    Namespace space;
    space.metadata.name = name;
    space.metadata.labels = labels;
    namespaces_[name] = std::make_shared<const Namespace>(std::move(space));
  }
  void service(const std::string& name_space, const Labels& selector) {
    Service service;
    service.metadata.namespace_ = name_space;
    service.selector = selector;
    services_.push_back(std::make_shared<const Service>(std::move(service)));
  }
  const Snapshot& update_snapshot() {
    cache_.update_snapshot(snapshot_);
    return snapshot_;
  }

  const Clock& clock() const override { return clock_; }
  const Snapshot& snapshot() const override { return snapshot_; }
  const Lister& lister() const override { return *this; }
  const Nominator& nominator() const override { return nominator_; }
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string&) const override { return nullptr; }
  std::shared_ptr<const PersistentVolume> volume(const std::string&) const override { return nullptr; }
  std::shared_ptr<const StorageClass> storage_class(const std::string&) const override { return nullptr; }
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string&) const override {
    return {};
  }
  std::shared_ptr<const Namespace> name_space(std::string_view name) const override {
    auto found = namespaces_.find(name);
    return found == namespaces_.end() ? nullptr : found->second;
  }
  std::vector<std::shared_ptr<const Service>> services(std::string_view name_space) const override {
    std::vector<std::shared_ptr<const Service>> found;
    for (const auto& service : services_) {
      if (service->metadata.namespace_ == name_space) found.push_back(service);
    }
    return found;
  }

 private:
  FakeClock clock_;
  Cache cache_;
  Snapshot snapshot_;
  Nominator nominator_;
  std::map<std::string, std::shared_ptr<const Namespace>, std::less<>> namespaces_;
  std::vector<std::shared_ptr<const Service>> services_;
};

inline Pod labelled(const std::string& name, const Labels& labels, const std::string& name_space = "default") {
  Pod pod = make_pod(name);
  pod.metadata.labels = labels;
  pod.metadata.namespace_ = name_space;
  return pod;
}

// Selects objects whose label `key` has one of the values.
inline LabelSelector select(const std::string& key, std::vector<std::string> values) {
  return {{{key, Requirement::Operator::in, std::move(values)}}};
}

template <class T>
std::unique_ptr<Plugin> make_plugin(Handle& handle, const std::string& args = "null") {
  Result<Json> json = Json::parse(args);
  CHECK(json.has_value());
  Result<std::unique_ptr<Plugin>> made = T::make(*json, handle);
  CHECK(made.has_value());
  return std::move(*made);
}

// One scheduling attempt of a pod: which nodes pass ("n0 n2"), why a node does not, and their scores.
template <class T>
class Attempt {
 public:
  Attempt(TopologyCluster& cluster, T& plugin, Pod pod) : cluster_(cluster), plugin_(plugin), pod_(std::move(pod)) {}

  Status pre_filter() { return plugin_.pre_filter(state_, pod_, cluster_.update_snapshot(), result_); }
  Status filter(const std::string& node) { return plugin_.filter(state_, pod_, *cluster_.snapshot().find(node)); }
  Status add(const Pod& pod, const std::string& node) {
    return plugin_.add_pod(state_, pod_, pod, *cluster_.snapshot().find(node));
  }
  Status remove(const Pod& pod, const std::string& node) {
    return plugin_.remove_pod(state_, pod_, pod, *cluster_.snapshot().find(node));
  }
  // "skipped": PreFilter skipped, so every node passes.
  std::string passing() {
    if (pre_filter().is_skip()) return "skipped";
    return passing_now();
  }
  std::string passing_now() {
    std::string names;
    for (const auto& node : cluster_.snapshot().nodes()) {
      if (!filter(node->name()).is_success()) continue;
      names += (names.empty() ? "" : " ") + node->name();
    }
    return names;
  }
  // The same on a copy of the state, as when nominated pods are added.
  std::string passing_with(const Pod& pod, const std::string& node) {
    CycleState before = state_.clone();
    std::swap(before, state_);
    CHECK(add(pod, node).is_success());
    std::string names = passing_now();
    std::swap(before, state_);
    return names;
  }
  // Normalized, in the order of the nodes. Without names, all nodes are feasible.
  std::string scores(const std::vector<std::string>& feasible_names = {}) {
    std::vector<std::shared_ptr<const NodeInfo>> feasible;
    for (const auto& node : cluster_.update_snapshot().nodes()) {
      const auto& names = feasible_names;
      const bool is_feasible = names.empty() || std::find(names.begin(), names.end(), node->name()) != names.end();
      if (is_feasible) feasible.push_back(node);
    }
    if (plugin_.pre_score(state_, pod_, feasible).is_skip()) return "skipped";
    std::vector<NodeScore> scores;
    for (const auto& node : feasible) {
      scores.push_back({node->name(), 0});
      CHECK(plugin_.score(state_, pod_, *node, scores.back().score).is_success());
    }
    raw.clear();
    for (const NodeScore& score : scores) raw += (raw.empty() ? "" : " ") + std::to_string(score.score);
    CHECK(plugin_.normalize(state_, pod_, scores).is_success());
    std::string text;
    for (const NodeScore& score : scores) text += (text.empty() ? "" : " ") + std::to_string(score.score);
    return text;
  }
  std::string raw;  // the scores before normalization

 private:
  TopologyCluster& cluster_;
  T& plugin_;
  Pod pod_;
  CycleState state_;
  PreFilterResult result_;
};

inline Hint ask(const EnqueueExtensions& plugin, const ClusterEvent& event, const Pod& pod,
                const EventObjects& objects) {
  for (const EventWithHint& each : plugin.events_to_register()) {
    if (each.event.matches(event) && (!each.hint || each.hint(pod, objects) == Hint::queue)) return Hint::queue;
  }
  return Hint::skip;
}

}  // namespace berth
