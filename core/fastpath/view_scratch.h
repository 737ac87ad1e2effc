// ViewScratch: memory that views of classes need during one call only, and keep for the next to avoid allocations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/cache/cache.h"
#include "core/fastpath/ranks.h"
#include "core/fastpath/ranks_draw.h"
#include "core/fastpath/undeclared.h"
#include "core/framework/framework.h"

namespace berth {

// Memory for so many elements, whose values do not matter: to shrink and grow would clear them each time.
template <class T>
void make_room(std::vector<T>& elements, std::size_t count) {
  if (elements.size() < count) elements.resize(count);
}

// Of an update.
struct UpdateScratch {
  std::vector<Ranks::Index> changed;
  std::vector<std::size_t> tracked;  // indices
  // Nodes whose object changed, or that came or went: the first such change of each.
  std::vector<const Snapshot::ObjectChange*> first_changes;
  // By index: the place of the node in first_changes, from 1; all 0 between calls.
  std::vector<std::uint32_t> first_change_of;
  static constexpr std::uint32_t kWhole = static_cast<std::uint32_t>(-1);  // the same, when its pods are summed again
  std::vector<const PodKinds::Change*> later_pods;
  std::vector<std::uint8_t> has_other_object;  // of a base view's update: by index, 1 or 0; all 0 between calls
  bool any_other_object = false;               // likewise
  // By row of a batch; but for `rejects` and `own` there may be more elements than rows:
  Rows::Copies copies;
  std::vector<std::uint8_t> rejects;
  std::vector<std::int32_t> scores;            // of one plugin
  std::vector<std::int32_t> own;               // of all that do not normalize, weighted
  std::vector<std::vector<std::int32_t>> raw;  // of those that do, by number among them
  std::vector<Ranks::Score> ranks;
  std::vector<std::size_t> other_rows;  // nodes that do not only get another score
  std::vector<Ranks::Number> groups;
  Ranks::Key key;

  // The nodes from this index on, `most` of those of the snapshot; `from` is behind them then.
  Rows rows_from(std::size_t& from, std::size_t most, const Snapshot& snapshot) {
    changed.resize(std::min(snapshot.nodes().size() - from, most));
    std::iota(changed.begin(), changed.end(), static_cast<Ranks::Index>(from));
    from += changed.size();
    return Rows::at(snapshot, changed, copies);
  }
};

// Of an attempt.
struct ViewScratch : UpdateScratch {
  // A group with a feasible node.
  struct Alike {
    Ranks::Number group = Ranks::kNone;
    std::size_t size = 0;    // feasible nodes, as far as is known
    Ranks::Index any = 0;    // one of them
    std::int64_t total = 0;  // without the nodes' ranks
  };
  struct HeldBack {
    Ranks::Index index = 0;
    Ranks::Key key;
    Ranks::Score score = 0;
    Status status;
  };
  struct Refused {
    Ranks::Number group = Ranks::kNone;
    Status status;
  };
  struct Ranked {
    std::int64_t total = 0;
    Ranks::Index index = 0;
  };
  std::vector<HeldBack> held_back;
  std::vector<Refused> refused;  // by SummingPlugins
  std::vector<Alike> alike;
  std::vector<std::uint32_t> alike_of;     // by group: its place in `alike`; Ranks::kNone: not feasible
  std::vector<AlikeNodes> alike_nodes;     // empty except during PreScore
  std::vector<std::int64_t> alike_scores;  // normalized, by Alike and Score plugin
  std::vector<NodeScore> normalizing;
  std::vector<Ranks::Number> best;
  RanksDraw::Scratch draw;
  // All feasible nodes and their totals, when undeclared plugins score all of them.
  Undeclared::Indices nodes;
  std::vector<std::int64_t> totals;
  // When undeclared plugins are asked by descending total: a heap, and the nodes at its top.
  std::vector<Ranked> by_total;
  Undeclared::Indices top;
};

}  // namespace berth
