// RanksDraw: one of the nodes that have the best score of some groups of Ranks, by its number among them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/fastpath/ranks.h"

namespace berth {

class RanksDraw {
 public:
  // Kept from draw to draw, to avoid allocations.
  struct Scratch {
    std::vector<std::uint32_t> asked_words;
    std::vector<Ranks::Index> few_best;
    std::array<std::uint32_t, Ranks::kSide> counts;
  };

  // `ranks` do not change meanwhile, but for what they know of their best.
  RanksDraw(Ranks& ranks, std::span<const Ranks::Number> groups, Scratch& scratch)
      : ranks_(ranks), groups_(groups), scratch_(scratch) {}

  // The `n`th, from 0, in ascending order from `start` on and then from 0. `n` is below the sum of their best nodes.
  Ranks::Index nth(std::size_t n, Ranks::Index start);

 private:
  static constexpr std::size_t kFewGroups = 8;
  static constexpr std::size_t kScanned = 4 * Ranks::kSide;  // nodes at once
  bool are_stale() const;
  Ranks::Index nth_by_scan(std::size_t n, Ranks::Index start);
  bool are_listed() const;
  Ranks::Index nth_of_one(const Ranks::Group& group, std::size_t n) const;
  Ranks::Index nth_of_listed(std::size_t n, Ranks::Index start);
  void list_best(Ranks::Number number);
  void list_few();
  enum class Level { nodes, blocks, blocks_of_blocks };
  void count(Level level, std::size_t first);
  std::size_t sum(Level level, std::size_t first, std::size_t entries);
  std::size_t count_below(Ranks::Index end);

  Ranks& ranks_;
  std::span<const Ranks::Number> groups_;
  Scratch& scratch_;
};

}  // namespace berth
