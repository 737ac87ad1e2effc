#include "core/fastpath/ranks_draw.h"

#include <algorithm>

#include "core/vectorized.h"

namespace berth {

namespace {

// How many words are those that are asked for, by group; those without a group have the last of them.
BERTH_VECTORIZED std::size_t count_asked(const std::uint32_t* words, std::size_t count, const std::uint32_t* asked,
                                         Ranks::Number no_group) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    found += asked[std::min(words[i] >> Ranks::kScoreBits, no_group)] == words[i] ? 1 : 0;
  }
  return found;
}

}  // namespace

Ranks::Index RanksDraw::nth(std::size_t n, Ranks::Index start) {
  if (are_stale()) return nth_by_scan(n, start);
  if (are_listed()) return nth_of_listed(n, start);
  begin();
  std::size_t total = 0;
  for (const Ranks::Number number : groups_) total += ranks_.groups_[number].best.nodes;
  if (total > 1) n = (n + count_below(start)) % total;
  std::size_t at = 0;
  for (std::size_t nodes = 0; (nodes = count_in_block_of_blocks(at)) <= n; ++at) n -= nodes;
  at *= Ranks::kSide;
  for (std::size_t nodes = 0; (nodes = count_in_block(at)) <= n; ++at) n -= nodes;
  auto index = static_cast<Ranks::Index>(at * Ranks::kSide);
  while (!is_asked(index) || n-- > 0) ++index;
  for (const Ranks::Number number : groups_) ranks_.groups_[number].asked = false;
  return index;
}

// True when to look at the blocks of these groups that are stale takes longer than to look at each node once. Most are
// where the nodes of many groups are mixed.
bool RanksDraw::are_stale() const {
  std::size_t stale = 0;
  for (const Ranks::Number number : groups_) stale += ranks_.groups_[number].stale;
  return ranks_.has_words() && stale * Ranks::kSide > ranks_.size();
}

Ranks::Index RanksDraw::nth_by_scan(std::size_t n, Ranks::Index start) {
  const std::vector<Ranks::Word>& words = ranks_.words_;
  std::vector<Ranks::Word>& asked = scratch_.asked_words;
  const auto no_group = static_cast<Ranks::Number>(ranks_.number_end());
  asked.assign(no_group + std::size_t{1}, Ranks::kNoWord);
  asked[no_group] = 0;  // which no node has that is in no group
  for (const Ranks::Number number : groups_) asked[number] = Ranks::word_of(number, ranks_.best_of(number).score);
  for (std::size_t first = start;;) {
    const std::size_t last = std::min(first + Ranks::kSide, words.size());
    const std::size_t found = count_asked(&words[first], last - first, asked.data(), no_group);
    for (std::size_t index = first; n < found; ++index) {
      const Ranks::Number number = std::min(words[index] >> Ranks::kScoreBits, no_group);
      if (asked[number] == words[index] && n-- == 0) return static_cast<Ranks::Index>(index);
    }
    n -= found;
    first = last < words.size() ? last : 0;
  }
}

bool RanksDraw::are_listed() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [this](Ranks::Number number) { return ranks_.groups_[number].blocks.empty(); });
}

Ranks::Index RanksDraw::nth_of_listed(std::size_t n, Ranks::Index start) {
  std::vector<Ranks::Index>& best = scratch_.few_best;
  best.clear();
  for (const Ranks::Number number : groups_) list_best(number);
  const auto from_0 = std::partition(best.begin(), best.end(), [start](Ranks::Index index) { return index >= start; });
  const auto from_start = static_cast<std::size_t>(from_0 - best.begin());
  const auto first = n < from_start ? best.begin() : from_0;
  const auto last = n < from_start ? from_0 : best.end();
  const auto found = first + static_cast<std::ptrdiff_t>(n < from_start ? n : n - from_start);
  std::nth_element(first, found, last);
  return *found;
}

void RanksDraw::list_best(Ranks::Number number) {
  ranks_.refresh(number);
  const Ranks::Group& group = ranks_.groups_[number];
  for (const Ranks::Index index : group.few) {
    if (ranks_.score_of(index) == group.best.score) scratch_.few_best.push_back(index);
  }
}

void RanksDraw::begin() {
  scratch_.few_best.clear();
  for (const Ranks::Number number : groups_) {
    list_best(number);
    ranks_.groups_[number].asked = true;
  }
  std::sort(scratch_.few_best.begin(), scratch_.few_best.end());
}

std::size_t RanksDraw::few_in(std::size_t first, std::size_t last) const {
  const std::vector<Ranks::Index>& few = scratch_.few_best;
  if (few.empty()) return 0;
  const auto from = std::lower_bound(few.begin(), few.end(), first);
  return static_cast<std::size_t>(std::lower_bound(from, few.end(), last) - from);
}

std::size_t RanksDraw::count_in_block(std::size_t which) const {
  std::size_t nodes = few_in(which * Ranks::kSide, (which + 1) * Ranks::kSide);
  for (const Ranks::Number number : groups_) {
    const Ranks::Group& group = ranks_.groups_[number];
    if (!group.blocks.empty() && group.blocks[which].score == group.best.score) nodes += group.blocks[which].nodes;
  }
  return nodes;
}

std::size_t RanksDraw::count_in_block_of_blocks(std::size_t which) const {
  constexpr std::size_t kNodes = Ranks::kSide * Ranks::kSide;
  std::size_t nodes = few_in(which * kNodes, (which + 1) * kNodes);
  for (const Ranks::Number number : groups_) {
    const Ranks::Group& group = ranks_.groups_[number];
    if (group.blocks.empty() || group.blocks_of_blocks[which].score != group.best.score) continue;
    nodes += group.blocks_of_blocks[which].nodes;
  }
  return nodes;
}

std::size_t RanksDraw::count_below(Ranks::Index end) const {
  std::size_t nodes = 0;
  std::size_t block = end / Ranks::kSide;
  for (std::size_t index = block * Ranks::kSide; index < end; ++index) {
    nodes += is_asked(static_cast<Ranks::Index>(index)) ? 1 : 0;
  }
  for (; block % Ranks::kSide != 0; --block) nodes += count_in_block(block - 1);
  for (std::size_t which = 0; which < block / Ranks::kSide; ++which) nodes += count_in_block_of_blocks(which);
  return nodes;
}

bool RanksDraw::is_asked(Ranks::Index index) const {
  if (!ranks_.contains(index)) return false;
  const Ranks::Group& group = ranks_.groups_[ranks_.group_of(index)];
  return group.asked && group.best.score == ranks_.score_of(index);
}

}  // namespace berth
