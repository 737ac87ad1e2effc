// Cache: nodes and the pods placed on them, assumed ones included (kube-scheduler backend/cache/cache.go).
//
//     (unknown) ──assume──▶ assumed ──confirm──▶ added ──remove──▶ (unknown)
//                              └────forget────▶ (unknown)
//
// An assumed pod never expires by time: the handshake decides. Where upstream exits on "cache corrupted", ours repairs
// itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/asked_amounts.h"
#include "core/cache/node_columns.h"
#include "core/cache/node_info.h"
#include "core/cache/pod_kinds.h"
#include "core/cache/recent.h"
#include "core/key_index.h"
#include "core/prefetch.h"
#include "core/slot_pool.h"
#include "core/status.h"
#include "core/text.h"

namespace berth {

// The nodes as one scheduling cycle sees them, in the order of their addition, alternating between zones, so that a
// search that ends early spreads over zones (kube-scheduler backend/cache/node_tree.go). In a fleet so large that a
// search may end early, the order is approximate: nodes that were added since it was last rebuilt are at the end, and
// the last node has taken the index of one that was removed, for up to an eighth of the nodes. Unchanged entries are
// shared between snapshots, so that taking one costs what changed.
class Snapshot {
 public:
  // What decisions will read of all nodes at once.
  struct Needs {
    std::span<const std::string> label_keys;  // never fewer than before
    bool pod_kinds = false;
  };
  const std::vector<std::shared_ptr<const NodeInfo>>& nodes() const { return nodes_; }
  const NodeInfo* find(std::string_view node) const;
  std::int64_t generation() const { return generation_; }
  // The same by column. Built at the first call and kept up to date from then on; a label's column is built when it is
  // first read.
  NodeColumns& columns() const;
  // How many pods of each kind the nodes have. Likewise.
  const PodKinds& pod_kinds() const;
  // Whether any node had an image when a node last changed.
  bool has_images() const { return has_images_; }
  // The index in nodes(); nodes().size(): no such node.
  std::size_t index_of(std::string_view node) const;
  // The state of nodes()[index] is read soon: in two steps, since one has to be there to find the other.
  void prefetch_place(std::size_t index) const { prefetch_line(&nodes_[index]); }
  void prefetch_state(std::size_t index) const;
  // The same of the place where the index of the node with this number is kept (NodeInfo::number).
  void prefetch_number(std::uint32_t number) const {
    if (number < index_by_number_.size()) prefetch_line(&index_by_number_[number]);
  }
  // Three logs of what changed, the oldest first; each keeps the last changes_kept(). They start again from nothing
  // when the nodes are numbered afresh. A reader that is behind by more than half of the nodes does better to read all
  // of them: to follow a change costs about twice what it costs to read a node among all.
  std::size_t changes_kept() const { return std::clamp<std::size_t>(nodes_.size() / 2, 64, 4096); }
  // The indices in nodes() that have, or had, another state. The last node may have gone since.
  const Recent<std::uint32_t>& changed() const { return changed_; }
  // How many pods of a kind came to nodes, or left them, from the time when pod_kinds() was first asked for.
  const Recent<PodKinds::Change>& pod_changes() const { return pod_changes_; }
  // After which another object, or none, is at `index`: what is placed on a node changes far more often.
  struct ObjectChange {
    enum class Kind : std::uint8_t {
      replaced,  // nodes()[index] has another object, or is another node
      came,      // a node was appended, at `index`
      went,      // the last node, at `index`, was removed
    };
    std::size_t index = 0;
    Kind kind = Kind::replaced;
    std::shared_ptr<const NodeInfo> before;  // its state before; null: it came, or changed() no longer has it
    std::int64_t changes_made = 0;           // in changed(), before it
    std::int64_t pod_changes_made = 0;       // likewise
  };
  const Recent<ObjectChange>& object_changes() const { return object_changes_; }
  // Pods on nodes with any term of affinity or anti-affinity to pods.
  std::int64_t pods_with_affinity() const { return pods_with_affinity_; }
  // Of the pods on nodes; without any the highest there is. No pod of at most this priority can preempt.
  std::int32_t lowest_priority() const { return lowest_priority_; }

 private:
  friend class Cache;
  // Returns the state before it where that is not kept.
  std::shared_ptr<const NodeInfo> note(std::size_t index, std::shared_ptr<const NodeInfo> before,
                                       ObjectChange::Kind kind);
  KeyIndex::Index number_of(std::string_view node) const;  // kNone: no such node
  void add_last(KeyIndex::Index number, std::shared_ptr<const NodeInfo> node);
  void take(std::size_t index);
  bool has_column_of(std::size_t index) const { return columns_ && index < columns_->size(); }
  void begin_logs();
  void drop_old_states();
  bool prepare(const Needs& needs, std::size_t most);
  void count_kinds(std::size_t end) const;
  PodKinds::Changes change_kinds(std::size_t index, ObjectChange::Kind kind, const NodeInfo* before,
                                 const NodeInfo* after);
  std::vector<std::shared_ptr<const NodeInfo>> nodes_;
  mutable std::optional<NodeColumns> columns_;
  mutable std::optional<PodKinds> pod_kinds_;
  mutable std::size_t kinds_counted_ = 0;  // nodes before this index are in pod_kinds_; all, for readers
  std::size_t labels_ready_ = 0;           // of Needs::label_keys, since the columns were made
  Recent<std::uint32_t> changed_;
  Recent<PodKinds::Change> pod_changes_;
  Recent<ObjectChange> object_changes_;
  std::size_t with_before_ = 0;  // of the last of them: those whose state before is kept
  std::int64_t pods_with_affinity_ = 0;
  std::int32_t lowest_priority_ = std::numeric_limits<std::int32_t>::max();
  // By name: the node's number in the cache, which stays when its index changes. By that number: the index.
  KeyIndex numbers_;
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);
  std::vector<std::size_t> index_by_number_;  // kNoIndex: no node
  std::int64_t generation_ = -1;
  std::int64_t structure_ = -1;
  std::size_t loosened_ = 0;  // how often nodes came, went or changed their zone since the order was Cache::order()
  bool has_images_ = false;
  bool is_unread_ = false;  // since Cache::prepare() numbered the nodes afresh
};

class Cache {
 public:
  // Reserves memory for so many in all, before they are placed one by one.
  void expect_pods(std::size_t pods) { pods_.reserve(pods); }
  void set_node(std::shared_ptr<const Node> node);  // add or update
  void remove_node(const std::string& name);        // a ghost stays until its pods are gone

  // Counts the pod on the node before the node agreed. Error when the pod is known already.
  Status assume(const PodPtr& pod, const std::string& node);
  // The node holds the pod (row bound, or found at recovery). Unknown pods are added; an assumed pod on another node
  // is moved.
  void confirm(PodPtr pod, std::string_view node);
  // Removes an assumed pod; no effect for other and unknown pods.
  void forget(std::string_view uid);
  // Removes a pod in any state; no effect for an unknown one.
  void remove(std::string_view uid);
  // The pod object changed (labels); node and state stay.
  void update(PodPtr pod);
  // Resources held by release-list entries; key "uid/epoch".
  void charge(const std::string& node, const std::string& key, const Resources& amount);
  void discharge(const std::string& node, const std::string& key);

  bool is_placed(std::string_view uid) const { return find_pod(uid) != kNone; }
  bool is_assumed(std::string_view uid) const;
  std::optional<std::string> node_of(std::string_view uid) const;
  // Updates in place: copies only nodes whose generation is newer than the snapshot's.
  void update_snapshot(Snapshot& snapshot) const;
  // Does a part of what costs the next reader of the snapshot a look at each node: numbers the nodes afresh if that is
  // due, or copies the amounts of all of them, or builds a label's column or counts kinds of pods for so many of them.
  // False: nothing was left to do. What update_snapshot() and the readers find is the same without it.
  bool prepare(Snapshot& snapshot, const Snapshot::Needs& needs, std::size_t most) const;
  // Another number: nodes came or went, or changed their zone.
  std::int64_t structure() const { return structure_; }
  // The next pod will probably be placed on the node with this state: has it at hand.
  void expect(const NodeInfo& node);
  // For invariant checks and status.
  const NodeInfo* find(std::string_view node) const;
  std::size_t node_count() const;
  std::size_t pod_count() const;
  std::size_t assumed_count() const;

 private:
  using Index = KeyIndex::Index;
  static constexpr Index kNone = KeyIndex::kNone;
  struct Placed {
    PodPtr pod;           // null: free
    Index node : 31 = 0;  // in entries_
    Index assumed : 1 = 0;
  };
  Index find_node(std::string_view name) const;
  Index find_pod(std::string_view uid) const;  // in placed_
  Index place_unknown(const PodPtr& pod, std::string_view node, bool assumed);
  void add_to(Index node, const PodPtr& pod);
  void take_from(const Placed& placed, std::string_view uid);
  void note_images(const Node* before, const Node* after);
  void take_images(NodeInfo& info) const;
  struct Entry {
    Text name;  // empty: free
    std::shared_ptr<NodeInfo> info;
    Text zone;  // of a node
  };
  NodeInfo& touch(Index index);           // copies when shared with a snapshot, bumps generation
  Index entry_of(std::string_view node);  // creates
  void drop_if_empty(Index index);
  void leave_zone(Index index);
  std::vector<Index> order() const;
  void rearrange(Snapshot& snapshot) const;
  bool may_loosen(const Snapshot& snapshot) const;
  void loosen(Snapshot& snapshot) const;
  void take_changes(Snapshot& snapshot) const;
  void take_change(Snapshot& snapshot, Index index) const;
  void keep_spare(std::shared_ptr<const NodeInfo> state) const;
  void note_structure(const std::string& node, Index number);

  KeyIndex nodes_;  // by name: indices in entries_
  KeyIndex pods_;   // by uid: indices in placed_
  SlotPool<Entry> entries_;
  SlotPool<Placed> placed_;
  // The entries that were touched last, one for each generation: a snapshot reads those that are newer than it.
  Recent<Index> touched_;
  Index expected_ = kNone;  // in entries_: which is probably asked for next
  struct Zone {
    std::string name;
    std::vector<Index> nodes;  // in the order of addition
  };
  std::vector<Zone> zones_;  // in the order of addition; none is empty
  std::int64_t generation_ = 0;
  std::int64_t structure_ = 0;  // grows when nodes come and go, or change their zone
  struct Structural {
    std::string node;
    Index number = kNone;  // in entries_, then
  };
  static constexpr std::size_t kStructuralKept = 16;
  std::deque<Structural> structural_;  // the last, up to structure_
  std::int64_t pods_with_affinity_ = 0;
  std::map<std::int32_t, std::size_t> pods_by_priority_;
  AskedAmounts amounts_;
  std::map<std::string, ImageState> images_;  // by name
  std::int64_t images_changed_ = 0;           // grows with images_
  // States that no snapshot refers to any more; reused for the next ones. As many as pods may leave or come between two
  // decisions, as far as a fleet of this size has memory to spare.
  static constexpr std::size_t kFewestSpare = 16, kMostSpare = 2048;
  mutable std::vector<std::shared_ptr<NodeInfo>> spare_;
};

}  // namespace berth
