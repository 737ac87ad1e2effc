#include "core/fastpath/ranks.h"

#include <algorithm>

#include "core/check.h"
#include "core/vectorized.h"

namespace berth {

namespace {

// A group that never had more nodes has no blocks: they are listed. A draw from blocks costs as much as one from a
// list of some twenty nodes, and one group alone has no more than one block for 64 nodes of the fleet.
std::size_t few(bool has_groups, std::size_t nodes) {
  constexpr std::size_t kFew = 256, kNodesOfABlock = 64;
  return has_groups ? kFew : std::clamp(nodes / kNodesOfABlock, kFew / 16, kFew);
}

}  // namespace

void Ranks::reset(std::size_t nodes) {
  size_ = nodes;
  scores_.assign(nodes, -1);
  words_.clear();
  groups_.clear();
  used_.clear();
  free_.clear();
  numbers_.clear();
}

void Ranks::resize(std::size_t nodes) {
  for (std::size_t index = nodes; index < size_; ++index) take(static_cast<Index>(index));
  size_ = nodes;
  if (has_words()) {
    words_.resize(nodes, kNoWord);
  } else {
    scores_.resize(nodes, -1);
  }
  for (Group& group : groups_) {
    if (group.blocks.empty()) continue;
    group.blocks.resize(divide(nodes), {-1, 0});
    group.blocks_of_blocks.resize(divide(group.blocks.size()), {-1, 0});
    group.known = false;
    group.stale = static_cast<std::uint32_t>(std::count_if(group.blocks.begin(), group.blocks.end(),
                                                           [](const Block& block) { return block.nodes == kStale; }));
  }
}

void Ranks::set(Index index, Number number, Score score) {
  if (has_words()) {
    words_[index] = word_of(number, score);
  } else {
    scores_[index] = score;
  }
}

void Ranks::clear(Index index) {
  if (has_words()) {
    words_[index] = kNoWord;
  } else {
    scores_[index] = -1;
  }
}

Ranks::Number Ranks::group(const Key& key, Index index) {
  if (contains(index) && *groups_[group_of(index)].key == key) return group_of(index);
  return group(key);
}

Ranks::Number Ranks::group(const Key& key) {
  const auto [found, is_new] = numbers_.try_emplace(key, kNone);
  if (!is_new) return found->second;
  if (free_.empty()) {
    if (groups_.size() == kMostGroups) {
      numbers_.erase(found);
      return kNone;
    }
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
  group.stale = 0;
  group.place = static_cast<std::uint32_t>(used_.size());
  used_.push_back(number);
  if (used_.size() == 2 && !has_words()) split();
  return number;
}

// There are two groups for the first time: which one a node is in has to be noted from now on.
void Ranks::split() {
  words_.assign(size_, kNoWord);
  const bool has_nodes = groups_[used_.front()].size > 0;  // not before fill()
  for (std::size_t index = 0; has_nodes && index < size_; ++index) {
    words_[index] = scores_[index] < 0 ? kNoWord : word_of(used_.front(), scores_[index]);
  }
  scores_ = {};
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

void Ranks::make_blocks(Number number) {
  Group& group = groups_[number];
  group.few.clear();
  group.blocks.resize(divide(size_));
  group.blocks_of_blocks.resize(divide(group.blocks.size()));
  group.make_stale();
}

void Ranks::Group::make_stale() {
  std::fill(blocks.begin(), blocks.end(), Block());
  std::fill(blocks_of_blocks.begin(), blocks_of_blocks.end(), Block());
  known = false;
  stale = static_cast<std::uint32_t>(blocks.size());
}

void Ranks::put(Index index, Number number, Score score) {
  if (contains(index)) {
    if (group_of(index) == number) {
      const Score had = score_of(index);
      if (had == score) return;
      set(index, number, score);
      return note_change(groups_[number], index, had, score);
    }
    take(index);
  }
  Group& group = groups_[number];
  set(index, number, score);
  ++group.size;
  if (group.blocks.empty() && group.few.size() >= few(has_words(), size_)) make_blocks(number);
  if (group.blocks.empty()) group.few.push_back(index);
  note_change(group, index, -1, score);
}

void Ranks::take(Index index) {
  if (!contains(index)) return;
  const Number number = group_of(index);
  Group& group = groups_[number];
  const Score had = score_of(index);
  clear(index);
  if (group.blocks.empty()) {
    const auto found = std::find(group.few.begin(), group.few.end(), index);
    *found = group.few.back();
    group.few.pop_back();
  }
  note_change(group, index, had, -1);
  if (group.any == index) group.has_any = false;
  if (--group.size == 0) drop(number);
}

namespace {

// Loops over nodes, several at once.
constexpr unsigned kBits = Ranks::kScoreBits;
constexpr std::uint32_t kScore = Ranks::kMostScore;

// Nodes without a group have the number kNone, and get the word kNoWord: all bits are set.
BERTH_VECTORIZED void join(const Ranks::Score* scores, const Ranks::Number* groups, std::size_t count,
                           std::uint32_t* words) {
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = groups[i] << kBits | (static_cast<std::uint32_t>(scores[i]) & kScore);
  }
}

BERTH_VECTORIZED std::uint32_t count_equal(const Ranks::Number* groups, Ranks::Number number, std::size_t count) {
  std::uint32_t equal = 0;
  for (std::size_t i = 0; i < count; ++i) equal += groups[i] == number ? 1 : 0;
  return equal;
}

BERTH_VECTORIZED std::uint32_t count_from_0(const Ranks::Score* scores, std::size_t count) {
  std::uint32_t nodes = 0;
  for (std::size_t i = 0; i < count; ++i) nodes += scores[i] >= 0 ? 1 : 0;
  return nodes;
}

// The best score of so many nodes, and how many have it; -1 and 0 where there are none.
inline Ranks::Block best_among(const Ranks::Score* scores, std::size_t count) {
  Ranks::Score best = -1;
  std::uint16_t nodes = 0;
  for (std::size_t i = 0; i < count; ++i) best = std::max(best, scores[i]);
  for (std::size_t i = 0; i < count; ++i) nodes = static_cast<std::uint16_t>(nodes + (scores[i] == best ? 1 : 0));
  return {best, best < 0 ? std::uint16_t{0} : nodes};
}

// The same of the nodes in one group. Scores count from 1 here, and nodes of other groups have 0: by multiplication,
// since the compiler would make a branch of a condition.
inline Ranks::Block best_in_group(const std::uint32_t* words, Ranks::Number number, std::size_t count) {
  const auto from_1 = [&](std::size_t i) {
    return static_cast<std::int32_t>(((words[i] & kScore) + 1) * (words[i] >> kBits == number ? 1u : 0u));
  };
  std::int32_t best = 0;
  std::uint32_t nodes = 0;
  for (std::size_t i = 0; i < count; ++i) best = std::max(best, from_1(i));
  for (std::size_t i = 0; i < count; ++i) nodes += from_1(i) == best ? 1 : 0;
  return {static_cast<Ranks::Score>(best - 1), best == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(nodes)};
}

// Looks at the blocks that are stale, of `count` nodes in all. Full blocks have a constant size, which the compiler
// unrolls.
BERTH_VECTORIZED void look_at_stale(const Ranks::Score* scores, std::size_t count, Ranks::Block* blocks) {
  for (std::size_t first = 0; first < count; first += Ranks::kSide, ++blocks) {
    if (blocks->nodes != Ranks::kStale) continue;
    const std::size_t left = count - first;
    *blocks = left >= Ranks::kSide ? best_among(scores + first, Ranks::kSide) : best_among(scores + first, left);
  }
}

// The best score of so many blocks, and how many nodes have it.
BERTH_VECTORIZED Ranks::Block best_of_blocks(const Ranks::Block* blocks, std::size_t count) {
  std::int32_t best = -1;
  std::uint32_t nodes = 0;
  for (std::size_t i = 0; i < count; ++i) best = std::max<std::int32_t>(best, blocks[i].score);
  for (std::size_t i = 0; i < count; ++i) nodes += blocks[i].score == best ? blocks[i].nodes : 0;
  return {static_cast<Ranks::Score>(best), static_cast<std::uint16_t>(nodes)};
}

BERTH_VECTORIZED void look_at_stale_in_group(const std::uint32_t* words, Ranks::Number number, std::size_t count,
                                             Ranks::Block* blocks) {
  for (std::size_t first = 0; first < count; first += Ranks::kSide, ++blocks) {
    if (blocks->nodes != Ranks::kStale) continue;
    const std::size_t left = count - first;
    *blocks = left >= Ranks::kSide ? best_in_group(words + first, number, Ranks::kSide)
                                   : best_in_group(words + first, number, left);
  }
}

}  // namespace

void Ranks::count_sizes(std::span<const Number> groups) {
  if (used_.size() <= kFewGroups) {
    for (const Number number : used_) groups_[number].size = count_equal(groups.data(), number, groups.size());
    return;
  }
  // One more for those in none, and numbers of 32 bits: kNone + 1 is 0.
  std::vector<std::uint32_t> sizes(groups_.size() + 1);
  std::uint32_t* const counts = sizes.data();
  for (const Number number : groups) ++counts[static_cast<Number>(number + 1)];
  for (const Number number : used_) groups_[number].size = counts[number + 1];
}

void Ranks::fill(std::span<const Score> scores, std::span<const Number> groups) {
  CHECK(scores.size() == size_ && (groups.empty() ? used_.size() <= 1 : groups.size() == size_));
  if (used_.empty()) return;
  if (groups.empty()) {
    std::copy(scores.begin(), scores.end(), scores_.begin());
    groups_[only_group()].size = count_from_0(scores.data(), scores.size());
  } else {
    scores_ = {};
    words_.resize(size_);
    join(scores.data(), groups.data(), size_, words_.data());
    count_sizes(groups);
  }
  bool any_listed = false;
  for (std::size_t at = used_.size(); at-- > 0;) {
    Group& group = groups_[used_[at]];
    any_listed = any_listed || group.size <= few(has_words(), size_);
    if (group.size > few(has_words(), size_)) make_blocks(used_[at]);
    if (group.size == 0) drop(used_[at]);
  }
  // To look at all blocks of a few groups later is faster than to deal out the nodes.
  if (used_.size() <= kFewGroups && !any_listed) return;
  if (has_words()) return deal_out();
  for (Index index = 0; index < size_; ++index) {
    if (contains(index)) groups_[only_group()].few.push_back(index);
  }
}

// Lists the nodes of groups without blocks, and finds the best score of these groups and of the others' blocks.
void Ranks::deal_out() {
  struct Hand {
    Index* next;         // where the next node is listed; the same place for all where the group is not
    std::size_t step;    // 0 there
    std::int32_t score;  // the best so far
    std::uint32_t nodes;
  };
  Index unlisted = 0;
  std::vector<Hand> hands(groups_.size(), Hand{&unlisted, 0, -1, 0});
  std::vector<Number> in_blocks;
  for (const Number number : used_) {
    Group& group = groups_[number];
    if (!group.blocks.empty()) {
      in_blocks.push_back(number);
      continue;
    }
    group.few.resize(group.size);
    hands[number].next = group.few.data();
    hands[number].step = 1;
  }
  const Word* const words = words_.data();  // in registers, as the lists are written to meanwhile
  Hand* const dealt = hands.data();
  const std::size_t size = size_;
  for (std::size_t first = 0; first < size; first += kSide) {
    const std::size_t end = std::min(first + kSide, size);
    for (std::size_t index = first; index < end; ++index) {
      const Word word = words[index];
      if (word == kNoWord) continue;
      Hand& hand = dealt[word >> kScoreBits];
      const auto score = static_cast<std::int32_t>(word & kMostScore);
      Index* const next = hand.next;
      *next = static_cast<Index>(index);
      hand.next = next + hand.step;
      if (score < hand.score) continue;
      hand.nodes = (score == hand.score ? hand.nodes : 0) + 1;
      hand.score = score;
    }
    for (const Number number : in_blocks) {
      Hand& hand = hands[number];
      groups_[number].blocks[first / kSide] = {static_cast<Score>(hand.score), static_cast<std::uint16_t>(hand.nodes)};
      hand.score = -1;
      hand.nodes = 0;
    }
  }
  for (const Number number : in_blocks) groups_[number].stale = 0;
  for (const Number number : used_) {
    Group& group = groups_[number];
    if (!group.blocks.empty()) continue;
    group.best = {static_cast<Score>(hands[number].score), hands[number].nodes};
    group.known = true;
  }
}

void Ranks::look_at_block_of_blocks(Number number, std::size_t which) {
  Group& group = groups_[number];
  const std::size_t first = which * kSide;
  const std::size_t nodes = std::min(kSide * kSide, size_ - first * kSide);
  if (has_words()) {
    look_at_stale_in_group(words_.data() + first * kSide, number, nodes, group.blocks.data() + first);
  } else {
    look_at_stale(scores_.data() + first * kSide, nodes, group.blocks.data() + first);
  }
  group.blocks_of_blocks[which] = best_of_blocks(group.blocks.data() + first, divide(nodes));
}

// Looks at what is stale.
void Ranks::find_best(Number number) {
  Group& group = groups_[number];
  Best best;
  const auto weigh = [&best](Score score, std::uint32_t nodes) {
    if (score > best.score) best = {score, 0};
    if (score == best.score) best.nodes += nodes;
  };
  for (const Index index : group.few) weigh(score_of(index), 1);
  for (std::size_t which = 0; which < group.blocks_of_blocks.size(); ++which) {
    if (group.blocks_of_blocks[which].nodes == kStale) look_at_block_of_blocks(number, which);
    weigh(group.blocks_of_blocks[which].score, group.blocks_of_blocks[which].nodes);
  }
  group.best = best;
  group.known = true;
  group.stale = 0;
}

Ranks::Best Ranks::best_of(Number number) {
  if (!groups_[number].known) find_best(number);
  return groups_[number].best;
}

// No block is stale from now on.
void Ranks::refresh(Number number) {
  const Group& group = groups_[number];
  if (!group.known || group.stale > 0) find_best(number);
}

Ranks::Index Ranks::any_of(Number number) {
  Group& group = groups_[number];
  if (group.has_any) return group.any;
  group.has_any = true;
  if (group.blocks.empty()) return group.any = group.few.front();
  refresh(number);
  std::size_t block = 0;
  while (group.blocks[block].nodes == 0) ++block;
  group.any = static_cast<Index>(block * kSide);
  while (!contains(group.any) || group_of(group.any) != number) ++group.any;
  return group.any;
}

void Ranks::list_groups(std::vector<Number>& groups) const {
  groups.resize(size_);
  if (has_words()) {
    for (std::size_t index = 0; index < size_; ++index) groups[index] = words_[index] >> kScoreBits;
  } else {
    for (std::size_t index = 0; index < size_; ++index) groups[index] = scores_[index] < 0 ? kNone : only_group();
  }
}

std::size_t Ranks::bytes() const {
  std::size_t bytes = scores_.capacity() * sizeof(Score) + words_.capacity() * sizeof(Word);
  for (const Group& group : groups_) {
    bytes += sizeof(Group) + group.few.capacity() * sizeof(Index) +
             (group.blocks.capacity() + group.blocks_of_blocks.capacity()) * sizeof(Block);
  }
  return bytes;
}

}  // namespace berth
