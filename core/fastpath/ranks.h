// Ranks: the nodes that are feasible for one class of pods as far as each node can be judged alone, with a score of
// their own, in groups of nodes that differ only in it. Answers which score is a group's best; RanksDraw, which nodes
// have it.
//
// A node costs two bytes, or four where there are several groups. What is best is kept for blocks of 64 nodes and for
// blocks of 64 blocks. Of a few changes each is followed where the node is; many make the blocks that they are in
// stale, and so does the last node of a block that had its best. A group's best score follows each change, and is
// looked for again, with the blocks that are stale, when no node has it any more or when a node with it is drawn. So a
// placement costs next to nothing, to catch up with many costs the blocks that they are in, and a group that is not the
// best costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/prefetch.h"
#include "core/recycled.h"

namespace berth {

class Ranks {
 public:
  using Index = std::uint32_t;                // in the snapshot
  using Number = std::uint32_t;               // of a group
  using Score = std::int16_t;                 // from 0
  using Key = RecyclingVector<std::int64_t>;  // what the nodes of a group have in common
  static constexpr Number kNone = static_cast<Number>(-1);
  static constexpr std::int32_t kMostScore = std::numeric_limits<Score>::max();
  static constexpr unsigned kScoreBits = 15;
  static constexpr Number kMostGroups = (Number{1} << (32 - kScoreBits)) - 1;
  struct Best {
    Score score = -1;
    std::uint32_t nodes = 0;  // that have it; 0: the group is empty
  };

  static constexpr std::size_t kSide = 64;  // nodes in a block, blocks in a block of blocks
  static constexpr std::uint16_t kStale = 0xFFFF;
  struct Block {
    Score score = -1;
    std::uint16_t nodes = kStale;  // that have it
    // Of one node; below 0: of none.
    static Block of_one(Score score) { return {score, score < 0 ? std::uint16_t{0} : std::uint16_t{1}}; }
    // A part of it that had `before` has `after`. Stale when nobody is left that has the best.
    void replace(Block before, Block after) {
      if (before.score == score) nodes = static_cast<std::uint16_t>(nodes - before.nodes);
      if (after.score > score) {
        *this = after;
      } else if (after.score == score) {
        nodes = static_cast<std::uint16_t>(nodes + after.nodes);
      }
      if (nodes == 0) nodes = kStale;
    }
  };

  // Removes all; indices are below `nodes` from now on.
  void reset(std::size_t nodes);
  // Changes the number of indices. Removes nodes beyond it; new indices are in no group.
  void resize(std::size_t nodes);
  // The group of this key. A new one has no node yet: put() or fill() has to follow, and a group goes with its last
  // node. kNone: there are kMostGroups already.
  Number group(const Key& key);
  // The same, for a node that is likely to stay where it is.
  Number group(const Key& key, Index index);
  // Adds a node, or moves it.
  void put(Index index, Number group, Score score);
  void take(Index index);
  // Gives new scores to those of the nodes that stay in their group: stays(index). Below 0: the node is in none. Sets
  // `others` to the places of those that come, go or do not stay; they are as before.
  template <class Stays>
  void rescore(std::span<const Index> indices, std::span<const Score> scores, Stays stays,
               std::vector<std::size_t>& others) {
    others.clear();
    if (has_words()) return rescore_words(indices, scores, stays, others);
    if (indices.size() > kFewChanges && used_.size() == 1 && !groups_[only_group()].blocks.empty()) {
      return rescore_blocks(groups_[only_group()], indices, scores, stays, others);
    }
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (!rescore_one(indices[i], scores[i], stays)) others.push_back(i);
    }
  }
  // After reset() and group(): all nodes at once. scores[index] below 0: the node is in no group. groups[index]: the
  // others' groups, and kNone for those; empty when there is one for all.
  void fill(std::span<const Score> scores, std::span<const Number> groups);

  std::size_t size() const { return size_; }  // as given to reset() or resize()
  // The nodes are about to be asked about: many classes' ranks do not fit into a processor's caches.
  void prefetch(std::span<const Index> indices) const {
    if (has_words()) {
      prefetch_some(std::span(words_), indices);
    } else {
      prefetch_some(std::span(scores_), indices);
    }
  }
  bool contains(Index index) const { return has_words() ? words_[index] != kNoWord : scores_[index] >= 0; }
  // Only for nodes that are contained.
  Score score_of(Index index) const {
    return has_words() ? static_cast<Score>(words_[index] & kMostScore) : scores_[index];
  }
  // Of all nodes, by index; kMostGroups or more: in none.
  void list_groups(std::vector<Number>& groups) const;
  Number group_of(Index index) const { return has_words() ? words_[index] >> kScoreBits : only_group(); }

  // Groups with nodes, in no order; their numbers are below number_end().
  std::size_t number_end() const { return groups_.size(); }
  const std::vector<Number>& groups() const { return used_; }
  std::size_t size_of(Number group) const { return groups_[group].size; }
  const Key& key_of(Number group) const { return *groups_[group].key; }
  Best best_of(Number group);
  Index any_of(Number group);  // some node of the group
  // Bytes of memory, about.
  std::size_t bytes() const;

 private:
  friend class RanksDraw;
  static constexpr std::size_t kFewGroups = 4;
  static constexpr std::size_t kFewChanges = 4;  // to follow each costs less than a look at the blocks that they are in
  using Numbers = RecyclingMap<Key, Number>;
  struct Group {
    const Key* key = nullptr;  // null: unused
    std::uint32_t size = 0;
    std::uint32_t place = 0;  // in used_
    std::uint32_t stale = 0;  // of `blocks`
    Index any = 0;
    bool has_any = false;
    bool known = false;  // best
    Best best;
    std::vector<Index> few;     // while there are no blocks
    std::vector<Block> blocks;  // empty: none
    std::vector<Block> blocks_of_blocks;

    void make_stale();  // all blocks
    // The block that the node is in; there are blocks.
    void make_stale(Index index) {
      Block& block = blocks[index / kSide];
      if (block.nodes == kStale) return;  // and so is the block of blocks
      block.nodes = kStale;
      ++stale;
      blocks_of_blocks[index / kSide / kSide].nodes = kStale;
    }
    void note_score(Score before, Score after) { note_best(Block::of_one(before), Block::of_one(after)); }
    // A part of the group that had `before` has `after`.
    void note_best(Block before, Block after) {
      if (!known) return;
      if (before.score == best.score) best.nodes -= before.nodes;
      if (after.score > best.score) {
        best = {after.score, after.nodes};
      } else if (after.score == best.score) {
        best.nodes += after.nodes;
      }
      known = best.nodes > 0;
    }
    // The same of one node, through its blocks as far as their best is known.
    void note_in_blocks(Index index, Score before, Score after) {
      Block& block = blocks[index / kSide];
      Block& above = blocks_of_blocks[index / kSide / kSide];
      if (block.nodes == kStale) return;  // and so is what it is in
      const Block block_had = block;
      const Block above_had = above;
      block.replace(Block::of_one(before), Block::of_one(after));
      stale += block.nodes == kStale ? 1 : 0;
      if (above.nodes != kStale && block.nodes != kStale) above.replace(block_had, block);
      if (block.nodes == kStale) above.nodes = kStale;
      known = known && above.nodes != kStale;
      note_best(above_had, above);
    }
  };
  // A group's number and a score.
  using Word = std::uint32_t;
  static constexpr Word kNoWord = static_cast<Word>(-1);
  static Word word_of(Number number, Score score) { return number << kScoreBits | static_cast<Word>(score); }
  bool has_words() const { return !words_.empty(); }
  void set(Index index, Number number, Score score);
  void clear(Index index);
  static std::size_t divide(std::size_t count) { return (count + kSide - 1) / kSide; }
  // The node's score in the group; -1: it is not in it.
  void note_change(Group& group, Index index, Score before, Score after) {
    if (!group.blocks.empty() && !has_words()) return group.note_in_blocks(index, before, after);
    if (!group.blocks.empty()) group.make_stale(index);
    group.note_score(before, after);
  }
  template <class Stays>
  bool rescore_one(Index index, Score score, Stays stays) {
    Score& had = scores_[index];
    if (had == score) return had < 0 || stays(index);
    if (had < 0 || score < 0 || !stays(index)) return false;
    note_change(groups_[only_group()], index, std::exchange(had, score), score);
    return true;
  }
  // Of the one group. The loops keep what they need in registers: a class that waited for many others runs them most.
  template <class Stays>
  void rescore_blocks(Group& group, std::span<const Index> indices, std::span<const Score> scores, Stays stays,
                      std::vector<std::size_t>& others) {
    if (indices.size() >= 2 * group.blocks.size()) return rescore_all_blocks(group, indices, scores, stays, others);
    Score* const kept = scores_.data();
    Block* const blocks = group.blocks.data();
    Block* const blocks_of_blocks = group.blocks_of_blocks.data();
    std::uint32_t stale = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Index index = indices[i];
      const Score score = scores[i];
      if ((kept[index] | score) < 0 || !stays(index)) {
        if (kept[index] != score || score >= 0) others.push_back(i);
        continue;
      }
      if (std::exchange(kept[index], score) == score) continue;
      group.known = false;
      Block& block = blocks[index / kSide];
      stale += block.nodes != kStale ? 1 : 0;
      block.nodes = blocks_of_blocks[index / kSide / kSide].nodes = kStale;
    }
    group.stale += stale;
  }
  // The same where next to no block would stay as it is.
  template <class Stays>
  void rescore_all_blocks(Group& group, std::span<const Index> indices, std::span<const Score> scores, Stays stays,
                          std::vector<std::size_t>& others) {
    group.make_stale();
    Score* const kept = scores_.data();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Index index = indices[i];
      const Score score = scores[i];
      if ((kept[index] | score) < 0 || !stays(index)) {
        if (kept[index] != score || score >= 0) others.push_back(i);
        continue;
      }
      kept[index] = score;
    }
  }
  template <class Stays>
  void rescore_words(std::span<const Index> indices, std::span<const Score> scores, Stays stays,
                     std::vector<std::size_t>& others) {
    Word* const words = words_.data();
    Group* const groups = groups_.data();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Index index = indices[i];
      const Score score = scores[i];
      const Word had = words[index];
      if (had == kNoWord || score < 0 || !stays(index)) {
        if (had != kNoWord || score >= 0) others.push_back(i);
        continue;
      }
      const auto before = static_cast<Score>(had & kMostScore);
      if (before == score) continue;
      const Number number = had >> kScoreBits;
      words[index] = word_of(number, score);
      Group& group = groups[number];
      if (!group.blocks.empty()) group.make_stale(index);
      group.note_score(before, score);
    }
  }
  void make_blocks(Number number);
  void drop(Number number);
  Number only_group() const { return used_.front(); }
  void split();
  void look_at_block_of_blocks(Number number, std::size_t which);
  void find_best(Number number);
  void refresh(Number number);
  void count_sizes(std::span<const Number> groups);
  void deal_out();

  std::size_t size_ = 0;
  std::vector<Score> scores_;        // by index, while all are in one group; -1: in none
  std::vector<Word> words_;          // by index, from the second group on; kNoWord: in none
  std::vector<Group> groups_;        // by number
  std::vector<Number> used_, free_;  // numbers
  RecyclingMap<Key, Number> numbers_;
};

}  // namespace berth
