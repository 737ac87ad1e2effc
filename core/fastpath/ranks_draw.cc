#include "core/fastpath/ranks_draw.h"

#include <algorithm>
#include <numeric>

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

// The same of one group.
BERTH_VECTORIZED std::size_t count_equal_words(const std::uint32_t* words, std::size_t count, std::uint32_t asked) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += words[i] == asked ? 1 : 0;
  return found;
}

// The following add 1, or what a block has, to each count where the score is that of the best nodes.
BERTH_VECTORIZED void count_words(const std::uint32_t* words, std::size_t count, std::uint32_t best,
                                  std::uint32_t* counts) {
  for (std::size_t i = 0; i < count; ++i) counts[i] += words[i] == best ? 1 : 0;
}

BERTH_VECTORIZED void count_scores(const Ranks::Score* scores, std::size_t count, Ranks::Score best,
                                   std::uint32_t* counts) {
  for (std::size_t i = 0; i < count; ++i) counts[i] += scores[i] == best ? 1 : 0;
}

BERTH_VECTORIZED void count_blocks(const Ranks::Block* blocks, std::size_t count, Ranks::Score best,
                                   std::uint32_t* counts) {
  for (std::size_t i = 0; i < count; ++i) counts[i] += blocks[i].score == best ? blocks[i].nodes : 0;
}

// Where the nth of what is counted is; `n` is then what is left of it there.
std::size_t find_nth(const std::uint32_t* counts, std::size_t& n) {
  std::size_t at = 0;
  for (; counts[at] <= n; ++at) n -= counts[at];
  return at;
}

}  // namespace

Ranks::Index RanksDraw::nth(std::size_t n, Ranks::Index start) {
  if (are_stale()) return nth_by_scan(n, start);
  if (are_listed()) return nth_of_listed(n, start);
  list_few();
  const Ranks::Group& first_group = ranks_.groups_[groups_.front()];
  if (groups_.size() == 1) return nth_of_one(first_group, (n + count_below(start)) % first_group.best.nodes);
  std::size_t total = 0;
  for (const Ranks::Number number : groups_) total += ranks_.groups_[number].best.nodes;
  if (total > 1) n = (n + count_below(start)) % total;
  std::size_t at = 0;
  for (std::size_t nodes = 0; (nodes = sum(Level::blocks_of_blocks, at, Ranks::kSide)) <= n; at += Ranks::kSide) {
    n -= nodes;
  }
  at += find_nth(scratch_.counts.data(), n);
  for (const Level level : {Level::blocks, Level::nodes}) {
    at *= Ranks::kSide;
    count(level, at);
    at += find_nth(scratch_.counts.data(), n);
  }
  return static_cast<Ranks::Index>(at);
}

// Of one group with blocks: counted on the way. The loops leave only where they end, which a processor foresees.
Ranks::Index RanksDraw::nth_of_one(const Ranks::Group& group, std::size_t n) const {
  const Ranks::Score best = group.best.score;
  auto left = static_cast<std::int64_t>(n);
  const auto find = [&left, best](const std::vector<Ranks::Block>& blocks, std::size_t at) {
    for (;; ++at) {
      const std::int64_t nodes = blocks[at].score == best ? blocks[at].nodes : 0;
      if (nodes > left) return at;
      left -= nodes;
    }
  };
  const std::size_t block = find(group.blocks, find(group.blocks_of_blocks, 0) * Ranks::kSide);
  const auto first = static_cast<Ranks::Index>(block * Ranks::kSide);
  if (ranks_.has_words()) {
    const Ranks::Word word = Ranks::word_of(groups_.front(), best);
    for (Ranks::Index index = first;; ++index) {
      left -= ranks_.words_[index] == word ? 1 : 0;
      if (left < 0) return index;
    }
  }
  for (Ranks::Index index = first;; ++index) {
    left -= ranks_.scores_[index] == best ? 1 : 0;
    if (left < 0) return index;
  }
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
  // A comparison with each of a few groups is faster than to look up the group of each node.
  const auto count = [&](std::size_t first, std::size_t last) {
    if (groups_.size() > kFewGroups) return count_asked(&words[first], last - first, asked.data(), no_group);
    std::size_t found = 0;
    for (const Ranks::Number number : groups_) found += count_equal_words(&words[first], last - first, asked[number]);
    return found;
  };
  for (std::size_t first = start;;) {
    std::size_t last = std::min(first + kScanned, words.size());
    std::size_t found = count(first, last);
    if (n < found && last - first > Ranks::kSide) {
      last = first + Ranks::kSide;
      found = count(first, last);
    }
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

void RanksDraw::list_few() {
  scratch_.few_best.clear();
  for (const Ranks::Number number : groups_) list_best(number);
  std::sort(scratch_.few_best.begin(), scratch_.few_best.end());
}

// Sets scratch_.counts to how many of the nodes that are asked for each of the Ranks::kSide entries from `first` on
// has.
void RanksDraw::count(Level level, std::size_t first) {
  auto& counts = scratch_.counts;
  counts.fill(0);
  const auto entries = [first](std::size_t size) { return std::min(Ranks::kSide, size - first); };
  if (level == Level::nodes) {
    const std::size_t nodes = entries(ranks_.size());
    for (const Ranks::Number number : groups_) {
      const Ranks::Score best = ranks_.groups_[number].best.score;
      if (ranks_.has_words()) {
        count_words(&ranks_.words_[first], nodes, Ranks::word_of(number, best), counts.data());
      } else {
        count_scores(&ranks_.scores_[first], nodes, best, counts.data());
      }
    }
    return;
  }
  for (const Ranks::Number number : groups_) {
    const Ranks::Group& group = ranks_.groups_[number];
    const auto& blocks = level == Level::blocks ? group.blocks : group.blocks_of_blocks;
    if (!blocks.empty()) count_blocks(&blocks[first], entries(blocks.size()), group.best.score, counts.data());
  }
  const std::size_t side = level == Level::blocks ? Ranks::kSide : Ranks::kSide * Ranks::kSide;
  const std::vector<Ranks::Index>& few = scratch_.few_best;
  for (auto each = std::lower_bound(few.begin(), few.end(), first * side); each != few.end(); ++each) {
    if (*each / side >= first + Ranks::kSide) break;
    ++counts[*each / side - first];
  }
}

// Of so many entries from `first` on.
std::size_t RanksDraw::sum(Level level, std::size_t first, std::size_t entries) {
  count(level, first);
  return std::accumulate(scratch_.counts.begin(), scratch_.counts.begin() + static_cast<std::ptrdiff_t>(entries),
                         std::size_t{0});
}

std::size_t RanksDraw::count_below(Ranks::Index end) {
  const auto whole = [](std::size_t at) { return at / Ranks::kSide * Ranks::kSide; };
  const std::size_t block = end / Ranks::kSide;
  const std::size_t of_blocks = block / Ranks::kSide;
  std::size_t nodes = 0;
  if (end > whole(end)) nodes += sum(Level::nodes, whole(end), end - whole(end));
  if (block > whole(block)) nodes += sum(Level::blocks, whole(block), block - whole(block));
  for (std::size_t first = 0; first < of_blocks; first += Ranks::kSide) {
    nodes += sum(Level::blocks_of_blocks, first, std::min(Ranks::kSide, of_blocks - first));
  }
  return nodes;
}

}  // namespace berth
