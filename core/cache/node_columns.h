// NodeColumns: amounts and labels of all nodes of a snapshot as arrays, for plugins that evaluate all nodes
// at once (BatchFilterPlugin, BatchScorePlugin). Amounts are doubles, which every processor that we support divides and
// compares several at once; amounts that a double cannot hold exactly are counted, and have to be read from the nodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cache/node_info.h"

namespace berth {

class NodeColumns {
 public:
  using Nodes = std::vector<std::shared_ptr<const NodeInfo>>;
  using Amounts = std::vector<double>;  // by index

  // Resources that every node has; others have no columns.
  enum Resource : std::size_t { milli_cpu, memory, ephemeral_storage };
  static constexpr std::size_t kResources = 3;
  // From 0 to 64 Ti: sums of two and what is left of one are whole numbers in a double, and a hundred times that too.
  static bool is_exact(std::int64_t amount) { return amount >= 0 && amount < std::int64_t{1} << 46; }
  struct OfResource {
    Amounts allocatable;
    Amounts requested;
    Amounts requested_for_scoring;
    Amounts reciprocal;       // of allocatable; 0 where that is 0
    std::size_t inexact = 0;  // nodes with an amount that is not exact
    std::size_t without = 0;  // nodes that offer nothing of it
  };

  // Of one node, as the columns have them.
  struct RowAmounts {
    double allocatable = 0, requested = 0, requested_for_scoring = 0, reciprocal = 0;
  };
  static RowAmounts amounts_of(const NodeInfo& node, std::size_t resource);
  static std::uint8_t is_full(const NodeInfo& node);

  // What few nodes' objects have.
  struct Marks {
    std::vector<std::uint8_t> nodes;  // by index; 1: it has it
    std::size_t count = 0;
  };

  // One label: nodes of one value have one number.
  struct Label {
    static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);  // the node does not have it
    std::vector<std::uint32_t> numbers;                                     // by index
    std::unordered_map<std::string, std::uint32_t> values;
    std::vector<std::uint32_t> nodes;  // by number; 0: no node has the value any more
    std::size_t having = 0;            // nodes that have the label
    std::size_t shared = 0;            // values that several nodes have
    std::size_t built = 0;             // of the nodes before this index; all, for readers
    std::uint64_t id = 0;              // another one whenever values are numbered afresh
  };

  // Appends those of `nodes` that come next, so many at most. False: nothing was left to do. The other functions are
  // told only of nodes that are there by then.
  bool build(const Nodes& nodes, std::size_t most);
  // The node at this index changed.
  void set(std::size_t index, const NodeInfo& before, const NodeInfo& after);
  // What is requested of this node is about to change.
  void prefetch(std::size_t index) const;
  // Appends a node; removes the last one.
  void add_last(const NodeInfo& node);
  void take_last(const NodeInfo& node);

  std::size_t size() const { return full_.size(); }
  const OfResource& of(Resource resource) const { return resources_[resource]; }
  const std::vector<std::uint8_t>& full() const { return full_; }  // 1: the node has as many pods as it takes
  const Marks& tainted() const { return tainted_; }                // has a taint
  const Marks& unschedulable() const { return unschedulable_; }    // spec.unschedulable
  // Kept from the first call on. `nodes`: those of the snapshot. Valid until forget_many_labels() or set().
  const Label& label(const std::string& key, const Nodes& nodes);
  // Builds label() for so many nodes more. False: nothing was left to do.
  bool build_label(const std::string& key, const Nodes& nodes, std::size_t most);
  // Drops all labels when there are many; to be called while nobody reads any.
  void forget_many_labels() {
    if (labels_.size() > kLabels) labels_.clear();
  }
  // Of all labels that are kept: at most two for each node and label.
  std::size_t kept_values() const;

 private:
  static constexpr std::size_t kLabels = 64;
  void resize(std::size_t nodes);
  template <class Change>
  void change_each(const Change& change);  // of the arrays by index, but for labels'
  void set_amounts(std::size_t index, const NodeInfo* before, const NodeInfo& node);
  void set_requested(std::size_t index, const NodeInfo& before, const NodeInfo& node);
  void mark(std::size_t index, const Node* node);
  Label& begin_label(const std::string& key, std::size_t nodes);
  static void build(Label& label, const std::string& key, const Nodes& nodes, std::size_t end);
  static void set_label(Label& label, const std::string& key, std::size_t index, const Node& node);
  static void count(Label& label, std::uint32_t number, std::int32_t nodes);

  std::array<OfResource, kResources> resources_;
  std::vector<std::uint8_t> full_;
  Marks tainted_, unschedulable_;
  std::map<std::string, Label> labels_;  // by key
};

}  // namespace berth
