// PodKinds: which pods on nodes are alike for plugins that look at other pods (affinity, spreading), and how many of
// each kind every node has. Two pods are of one kind when they are equal in namespace, labels, terms of affinity and
// anti-affinity to pods, and in whether they are being deleted. A workload's pods are mostly of one kind, so whoever
// sums over pods asks once for each kind, and then adds numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/api/label_bits.h"
#include "core/api/pod.h"
#include "core/recycled.h"

namespace berth {

struct NodeInfo;

// Counts by index, in pages of which only those with a count take memory.
class PagedCounts {
 public:
  void add(std::size_t index, std::int64_t delta);
  // Calls visit(index, count) for each count that is not 0, in ascending order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      const std::vector<std::uint16_t>& counts = pages_[page].counts;
      for (std::size_t at = 0; at < counts.size(); ++at) {
        if (counts[at] != 0) visit(page * kPage + at, counts[at]);
      }
    }
  }

 private:
  static constexpr std::size_t kPage = 128;
  struct Page {
    std::vector<std::uint16_t> counts;  // a node takes fewer pods than that; empty: all are 0
    std::uint32_t used = 0;             // of them, those that are not 0
  };
  std::vector<Page> pages_;
};

class PodKinds {
 public:
  using Number = std::uint32_t;
  static constexpr std::uint32_t kLastSerial = 0x7FFFFFFF;
  struct Kind {
    PodPtr pod;  // one of them; null: unused
    std::int64_t pods = 0;
    std::uint32_t serial = 0;  // from 1 to kLastSerial; differs from that of the kind that had this number before
    LabelBits labels;
    // The bits that all terms of affinity and anti-affinity to pods ask of labels; none without terms that can match.
    std::optional<LabelBits> terms;
    PagedCounts on_nodes;  // by index in the snapshot
  };
  // How many pods of a kind came to a node, or left it.
  struct Change {
    Number kind = 0;
    std::uint32_t serial = 0;
    std::int32_t pods = 0;
    std::uint32_t index = 0;  // of the node
    PodPtr pod;               // one of them: the kind itself may be gone when the change is read
  };
  using Changes = RecyclingVector<Change>;

  // The node at this index had the pods of `before` and has those of `after`; null: none. Returns the difference.
  Changes change(std::size_t index, const NodeInfo* before, const NodeInfo* after);
  const std::vector<Kind>& all() const { return kinds_; }
  // What Kind::terms is for pods like this one.
  static std::optional<LabelBits> terms_of(const Pod& pod);

 private:
  Number kind_of(const PodPtr& pod);
  void add(std::size_t index, const PodPtr& pod, std::int32_t pods, Changes& changes);

  std::vector<Kind> kinds_;  // by number
  std::vector<Number> free_;
  std::unordered_multimap<std::size_t, Number> by_hash_;
  std::uint32_t serial_ = 0;
};

}  // namespace berth
