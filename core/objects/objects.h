// Objects: every Kubernetes object the gateway has accepted, typed in memory and durable in Table::object. The gateway
// is their owner (core/handshake/rules.md); this room keeps them and knows nothing of nodes or rows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/api/config_objects.h"
#include "core/api/disruption_budget.h"
#include "core/api/kind.h"
#include "core/api/manifest.h"
#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/framework/change_log.h"
#include "core/framework/lister.h"
#include "core/handshake/messages.h"
#include "core/objects/configs.h"
#include "core/objects/pods.h"
#include "core/objects/workloads.h"
#include "core/store.h"

namespace berth {

class Objects final : public Lister {
 public:
  // `sealer` outlives it. Null: Secrets are not kept.
  explicit Objects(Store& store, Sealer* sealer = nullptr)
      : store_(store), configs_(sealer), pods_(store), workloads_(store) {}

  using DisruptionRule = std::function<DisruptionStatus(const PodDisruptionBudget& budget)>;
  // Who sees pods as controllers do tells how many of a budget may be disrupted; until then none may.
  void count_disruption_by(DisruptionRule rule) { disruption_rule_ = std::move(rule); }

  // Takes one record of Table::object in.
  Status load(const RecordView& record);

  Pods& pods() { return pods_; }
  const Pods& pods() const { return pods_; }
  Workloads& workloads() { return workloads_; }
  const Workloads& workloads() const { return workloads_; }

  // The operator's overlay of a node; null when there is none.
  const Json* overlay(const std::string& node) const;

  // The other kinds. Replaces; the typed form was decoded from `object.manifest`.
  template <class T>
  void put(T object);
  // The same of a Secret, which is stored sealed. An error changes nothing: it cannot be sealed.
  Status put_secret(Secret secret);
  Configs& configs() { return configs_; }
  const Configs& configs() const { return configs_; }
  // Null when there is none.
  template <class T>
  std::shared_ptr<const T> find(const std::string& key) const {
    const auto found = shelf<T>().find(key);
    return found == shelf<T>().end() ? nullptr : found->second;
  }
  // Every object of a kind other than pods and nodes, by key.
  template <class T>
  const std::map<std::string, std::shared_ptr<const T>>& all() const {
    return shelf<T>();
  }
  void put_overlay(const std::string& node, Json manifest);
  void erase(Kind kind, const std::string& key);
  // Shows the object, of a kind other than pods and nodes, as being deleted until it is put again without that. Not
  // stored; no effect when there is none.
  void mark_deleting(Kind kind, const std::string& key);
  // The stored manifest of any kind; null, or none, when there is none.
  bool has(Kind kind, const std::string& key) const;
  Json manifest(Kind kind, const std::string& key) const;
  std::optional<std::string> text(Kind kind, const std::string& key) const;
  std::vector<std::string> keys(Kind kind) const;
  // Where a walk over a kind's keys stands: behind `key`, or, of pods, before the slot `pod`. What comes or goes
  // meanwhile is met or not; all else is met once.
  struct Place {
    std::string key;
    Pods::Entries::Index pod = 0;
  };
  // The next key, and moves the place behind it. None: all were met.
  std::optional<std::string> next_key(Kind kind, Place& place) const;

  // Names of the volumes that this node's device has made below its pools (maker_of).
  const std::set<std::string>& volumes_made_by(const std::string& node) const;

  // For a trial: claim() finds these too, where there is none, until it is called with others. Not stored.
  void suppose(const std::vector<PersistentVolumeClaim>& claims);

  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override;
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override;
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override;
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override;
  const ChangeLog* volume_changes() const override { return &volume_changes_; }
  std::shared_ptr<const CsiNode> csi_node(const std::string& node) const override;
  bool has_csi_nodes() const override { return !shelf<CsiNode>().empty(); }
  std::shared_ptr<const CsiDriver> csi_driver(const std::string& name) const override;
  std::vector<std::shared_ptr<const CsiStorageCapacity>> csi_storage_capacities() const override;
  std::shared_ptr<const Namespace> name_space(std::string_view name) const override;
  std::vector<std::shared_ptr<const Service>> services(std::string_view name_space) const override;
  // A budget without a status gets one, counted now.
  std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const override;
  // Of one budget, whether or not it has a status.
  DisruptionStatus disruption_of(const PodDisruptionBudget& budget) const;

 private:
  template <class T>
  using Shelf = std::map<std::string, std::shared_ptr<const T>>;
  template <class T>
  const Shelf<T>& shelf() const {
    return std::get<Shelf<T>>(shelves_);
  }
  const Json* find_other(Kind kind, const std::string& key) const;  // of a kind other than pods
  void note_changed(Kind kind, const std::string& key);             // after it

  Store& store_;
  Configs configs_;
  DisruptionRule disruption_rule_;
  Pods pods_;
  Workloads workloads_;
  std::map<std::string, Json> overlays_;
  ChangeLog volume_changes_;
  std::map<std::string, std::set<std::string>> made_by_;  // by node
  std::map<std::string, std::string> makers_;             // by volume: where it is in made_by_
  Shelf<PersistentVolumeClaim> supposed_;
  std::tuple<Shelf<PersistentVolume>, Shelf<PersistentVolumeClaim>, Shelf<StorageClass>, Shelf<PriorityClass>,
             Shelf<Namespace>, Shelf<Service>, Shelf<PodDisruptionBudget>, Shelf<CsiNode>, Shelf<CsiDriver>,
             Shelf<CsiStorageCapacity>, Shelf<ConfigMap>, Shelf<Secret>>
      shelves_;
};

}  // namespace berth
