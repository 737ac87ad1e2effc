#include "core/fastpath/ranks.h"

#include <algorithm>

#include "core/check.h"

namespace berth {

void Ranks::reset(std::size_t nodes) {
  scores_.assign(nodes, -1);
  groups_of_.clear();
  groups_.clear();
  used_.clear();
  free_.clear();
  numbers_.clear();
}

void Ranks::resize(std::size_t nodes) {
  for (std::size_t index = nodes; index < scores_.size(); ++index) {
    if (contains(static_cast<Index>(index))) take(static_cast<Index>(index));
  }
  scores_.resize(nodes, -1);
  if (!groups_of_.empty()) groups_of_.resize(nodes, kNone);
  for (Group& group : groups_) {
    if (group.blocks.empty()) continue;
    group.blocks.resize(divide(nodes), {-1, 0});
    group.blocks_of_blocks.resize(divide(group.blocks.size()), {-1, 0});
    group.known = false;
  }
}

Ranks::Number Ranks::group(const Key& key) {
  const auto [found, is_new] = numbers_.try_emplace(key, kNone);
  if (!is_new) return found->second;
  if (free_.empty()) {
    free_.push_back(static_cast<Number>(groups_.size()));
    groups_.emplace_back();
  }
  const Number number = free_.back();
  free_.pop_back();
  found->second = number;
  Group& group = groups_[number];
  group.key = &found->first;
  group.size = 0;
  group.has_any = group.known = false;
  group.place = static_cast<std::uint32_t>(used_.size());
  used_.push_back(number);
  if (used_.size() == 2 && groups_of_.empty()) split();
  return number;
}

// There are two groups for the first time: which one a node is in has to be noted from now on.
void Ranks::split() {
  groups_of_.resize(scores_.size());
  for (std::size_t index = 0; index < scores_.size(); ++index) {
    groups_of_[index] = scores_[index] < 0 ? kNone : used_.front();
  }
}

void Ranks::drop(Number number) {
  Group& group = groups_[number];
  numbers_.erase(numbers_.find(*group.key));
  group.key = nullptr;
  group.few.clear();
  group.blocks.clear();
  group.blocks_of_blocks.clear();
  groups_[used_.back()].place = group.place;
  used_[group.place] = used_.back();
  used_.pop_back();
  free_.push_back(number);
}

void Ranks::note_change(Group& group, Index index) {
  group.known = false;
  if (group.blocks.empty()) return;
  group.blocks[index / kSide].nodes = kStale;
  group.blocks_of_blocks[index / kSide / kSide].nodes = kStale;
}

void Ranks::make_blocks(Number number) {
  Group& group = groups_[number];
  group.few.clear();
  group.blocks.assign(divide(scores_.size()), {-1, kStale});
  group.blocks_of_blocks.assign(divide(group.blocks.size()), {-1, kStale});
  group.known = false;
}

void Ranks::put(Index index, Number number, Score score) {
  if (contains(index)) {
    const Number before = group_of(index);
    if (before == number) {
      if (scores_[index] == score) return;
      scores_[index] = score;
      return note_change(groups_[number], index);
    }
    take(index);
  }
  Group& group = groups_[number];
  scores_[index] = score;
  if (!groups_of_.empty()) groups_of_[index] = number;
  ++group.size;
  if (group.blocks.empty() && group.few.size() == kFew) make_blocks(number);
  if (group.blocks.empty()) group.few.push_back(index);
  note_change(group, index);
}

void Ranks::take(Index index) {
  if (!contains(index)) return;
  const Number number = group_of(index);
  Group& group = groups_[number];
  scores_[index] = -1;
  if (!groups_of_.empty()) groups_of_[index] = kNone;
  if (group.blocks.empty()) {
    const auto found = std::find(group.few.begin(), group.few.end(), index);
    *found = group.few.back();
    group.few.pop_back();
  }
  note_change(group, index);
  if (group.any == index) group.has_any = false;
  if (--group.size == 0) drop(number);
}

void Ranks::fill(std::span<const Score> scores, std::span<const Number> groups) {
  CHECK(scores.size() == scores_.size() && (groups.empty() ? used_.size() <= 1 : groups.size() == scores.size()));
  std::copy(scores.begin(), scores.end(), scores_.begin());
  if (groups.empty()) {
    if (used_.empty()) return;
    Group& group = groups_[only_group()];
    for (const Score score : scores) group.size += score >= 0 ? 1 : 0;
  } else {
    if (groups_of_.empty()) groups_of_.resize(scores.size());
    for (std::size_t index = 0; index < scores.size(); ++index) {
      groups_of_[index] = scores[index] < 0 ? kNone : groups[index];
      if (scores[index] >= 0) ++groups_[groups[index]].size;
    }
  }
  for (std::size_t at = used_.size(); at-- > 0;) {
    Group& group = groups_[used_[at]];
    if (group.size > kFew) make_blocks(used_[at]);
    if (group.size > kFew && !groups.empty()) std::fill(group.blocks.begin(), group.blocks.end(), Block{-1, 0});
    if (group.size == 0) drop(used_[at]);
  }
  for (std::size_t index = 0; index < scores.size(); ++index) {
    if (scores[index] < 0) continue;
    Group& group = groups_[groups.empty() ? only_group() : groups[index]];
    if (group.blocks.empty()) {
      group.few.push_back(static_cast<Index>(index));
    } else if (groups.empty()) {
      break;  // its blocks are looked at when somebody asks
    } else {
      Block& block = group.blocks[index / kSide];
      if (scores[index] > block.score) block = {scores[index], 0};
      if (scores[index] == block.score) ++block.nodes;
    }
  }
}

// Written so that the compiler takes several nodes at once.
void Ranks::look_at(Number number, std::size_t which) {
  const std::size_t first = which * kSide;
  const std::size_t count = std::min(kSide, scores_.size() - first);
  const Score* scores = scores_.data() + first;
  Score best = -1;
  std::uint16_t nodes = 0;
  if (groups_of_.empty()) {
    for (std::size_t i = 0; i < count; ++i) best = std::max(best, scores[i]);
    for (std::size_t i = 0; i < count; ++i) nodes = static_cast<std::uint16_t>(nodes + (scores[i] == best ? 1 : 0));
  } else {
    const Number* groups = groups_of_.data() + first;
    for (std::size_t i = 0; i < count; ++i) {
      if (groups[i] != number || scores[i] < best) continue;
      nodes = static_cast<std::uint16_t>(scores[i] == best ? nodes + 1 : 1);
      best = scores[i];
    }
  }
  groups_[number].blocks[which] = {best, best < 0 ? std::uint16_t{0} : nodes};
}

void Ranks::look_at_block_of_blocks(Number number, std::size_t which) {
  Group& group = groups_[number];
  const std::size_t first = which * kSide;
  const std::size_t last = std::min(first + kSide, group.blocks.size());
  Block sum{-1, 0};
  for (std::size_t at = first; at < last; ++at) {
    if (group.blocks[at].nodes == kStale) look_at(number, at);
    const Block& block = group.blocks[at];
    if (block.score > sum.score) sum = {block.score, 0};
    if (block.score == sum.score) sum.nodes = static_cast<std::uint16_t>(sum.nodes + block.nodes);
  }
  group.blocks_of_blocks[which] = sum;
}

Ranks::Best Ranks::find_best(Number number) {
  Group& group = groups_[number];
  Best best;
  const auto weigh = [&best](Score score, std::uint32_t nodes) {
    if (score > best.score) best = {score, 0};
    if (score == best.score) best.nodes += nodes;
  };
  if (group.blocks.empty()) {
    for (const Index index : group.few) weigh(scores_[index], 1);
    return best;
  }
  for (std::size_t which = 0; which < group.blocks_of_blocks.size(); ++which) {
    if (group.blocks_of_blocks[which].nodes == kStale) look_at_block_of_blocks(number, which);
    weigh(group.blocks_of_blocks[which].score, group.blocks_of_blocks[which].nodes);
  }
  return best;
}

Ranks::Best Ranks::best_of(Number number) {
  Group& group = groups_[number];
  if (!group.known) group.best = find_best(number);
  group.known = true;
  return group.best;
}

Ranks::Index Ranks::any_of(Number number) {
  Group& group = groups_[number];
  if (group.has_any) return group.any;
  group.has_any = true;
  if (group.blocks.empty()) return group.any = group.few.front();
  best_of(number);  // no block is stale
  std::size_t block = 0;
  while (group.blocks[block].nodes == 0) ++block;
  group.any = static_cast<Index>(block * kSide);
  while (!contains(group.any) || group_of(group.any) != number) ++group.any;
  return group.any;
}

void Ranks::begin_draw(std::span<const Number> groups) {
  few_best_.clear();
  for (const Number number : groups) {
    Group& group = groups_[number];
    best_of(number);
    group.asked = true;
    for (const Index index : group.few) {
      if (scores_[index] == group.best.score) few_best_.push_back(index);
    }
  }
  std::sort(few_best_.begin(), few_best_.end());
}

std::size_t Ranks::few_in(std::size_t first, std::size_t last) const {
  const auto from = std::lower_bound(few_best_.begin(), few_best_.end(), first);
  return static_cast<std::size_t>(std::lower_bound(from, few_best_.end(), last) - from);
}

std::size_t Ranks::count_in_block(std::span<const Number> groups, std::size_t which) const {
  std::size_t nodes = few_in(which * kSide, (which + 1) * kSide);
  for (const Number number : groups) {
    const Group& group = groups_[number];
    if (!group.blocks.empty() && group.blocks[which].score == group.best.score) nodes += group.blocks[which].nodes;
  }
  return nodes;
}

std::size_t Ranks::count_in_block_of_blocks(std::span<const Number> groups, std::size_t which) const {
  std::size_t nodes = few_in(which * kSide * kSide, (which + 1) * kSide * kSide);
  for (const Number number : groups) {
    const Group& group = groups_[number];
    if (group.blocks.empty() || group.blocks_of_blocks[which].score != group.best.score) continue;
    nodes += group.blocks_of_blocks[which].nodes;
  }
  return nodes;
}

bool Ranks::is_asked(Index index) const {
  if (!contains(index)) return false;
  const Group& group = groups_[group_of(index)];
  return group.asked && group.best.score == scores_[index];
}

std::size_t Ranks::count_below(std::span<const Number> groups, Index end) const {
  std::size_t nodes = 0;
  std::size_t block = end / kSide;
  for (std::size_t index = block * kSide; index < end; ++index) nodes += is_asked(static_cast<Index>(index)) ? 1 : 0;
  for (; block % kSide != 0; --block) nodes += count_in_block(groups, block - 1);
  for (std::size_t which = 0; which < block / kSide; ++which) nodes += count_in_block_of_blocks(groups, which);
  return nodes;
}

Ranks::Index Ranks::nth_best(std::span<const Number> groups, std::size_t n, Index start) {
  begin_draw(groups);
  std::size_t total = 0;
  for (const Number number : groups) total += groups_[number].best.nodes;
  n = (n + count_below(groups, start)) % total;
  std::size_t at = 0;
  for (std::size_t nodes = 0; (nodes = count_in_block_of_blocks(groups, at)) <= n; ++at) n -= nodes;
  at *= kSide;
  for (std::size_t nodes = 0; (nodes = count_in_block(groups, at)) <= n; ++at) n -= nodes;
  auto index = static_cast<Index>(at * kSide);
  while (!is_asked(index) || n-- > 0) ++index;
  for (const Number number : groups) groups_[number].asked = false;
  return index;
}

std::size_t Ranks::bytes() const {
  std::size_t bytes = scores_.capacity() * sizeof(Score) + groups_of_.capacity() * sizeof(Number);
  for (const Group& group : groups_) {
    bytes += sizeof(Group) + group.few.capacity() * sizeof(Index) +
             (group.blocks.capacity() + group.blocks_of_blocks.capacity()) * sizeof(Block);
  }
  return bytes;
}

}  // namespace berth
