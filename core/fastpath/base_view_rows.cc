// How a base view judges nodes: Filter and Score of all plugins that look at one node, row by row or in batches.
#include <algorithm>
#include <span>
#include <utility>

#include "core/fastpath/attempt.h"
#include "core/fastpath/base_view.h"
#include "core/vectorized.h"

namespace berth {

namespace {

// So few rows are judged one by one: what a batch costs before its first row, columns looked up and amounts copied, is
// more than they do.
constexpr std::size_t kFewRows = 2;

// So few are set one by one: memset() would write both at once, and a processor can only read such a byte when all that
// was written before is in its cache, a node's cold memory included.
void clear(std::vector<std::uint8_t>& flags, std::size_t rows) {
  if (rows > kFewRows) return flags.assign(rows, 0);
  flags.clear();
  while (flags.size() < rows) flags.push_back(0);
}

// Adds one plugin's scores to the nodes' own; those of the first plugin are the own ones so far. False: one of a node
// that is not rejected is out of range.
template <bool kFirst>
inline bool take_weighted(const std::int32_t* scores, std::int32_t weight, const std::uint8_t* rejects,
                          std::size_t rows, std::int32_t* own) {
  std::uint32_t wrong = 0;
  const auto times = static_cast<std::uint32_t>(weight);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto score = static_cast<std::uint32_t>(scores[row]);
    wrong |= (score > ScorePlugin::kMaxScore ? 1u : 0u) & (rejects[row] ^ 1u);
    // Those of rejected nodes are whatever was there: without a sign they may overflow.
    own[row] = static_cast<std::int32_t>((kFirst ? 0 : static_cast<std::uint32_t>(own[row])) + score * times);
  }
  return wrong == 0;
}
BERTH_VECTORIZED bool set_weighted(const std::int32_t* scores, std::int32_t weight, const std::uint8_t* rejects,
                                   std::size_t rows, std::int32_t* own) {
  return take_weighted<true>(scores, weight, rejects, rows, own);
}
BERTH_VECTORIZED bool add_weighted(const std::int32_t* scores, std::int32_t weight, const std::uint8_t* rejects,
                                   std::size_t rows, std::int32_t* own) {
  return take_weighted<false>(scores, weight, rejects, rows, own);
}

BERTH_VECTORIZED void make_ranks(const std::int32_t* own, const std::uint8_t* rejects, std::size_t rows,
                                 Ranks::Score* ranks) {
  for (std::size_t row = 0; row < rows; ++row) {
    const auto rank = static_cast<Ranks::Score>(own[row] & Ranks::kMostScore);
    ranks[row] = rejects[row] != 0 ? Ranks::Score{-1} : rank;
  }
}

BERTH_VECTORIZED std::size_t count_ones(const std::uint8_t* flags, std::size_t rows) {
  std::size_t ones = 0;
  for (std::size_t row = 0; row < rows; ++row) ones += flags[row];
  return ones;
}

BERTH_VECTORIZED void reject_not_zero(const std::int32_t* answers, std::size_t rows, std::uint8_t* rejects) {
  for (std::size_t row = 0; row < rows; ++row) rejects[row] |= answers[row] != 0 ? std::uint8_t{1} : std::uint8_t{0};
}

// When few of all nodes are accepted, as by a node selector: makes them the rows. False: they are many.
bool keep_accepted(ViewScratch& scratch) {
  constexpr std::size_t kMany = 8;  // of so many nodes one
  std::vector<std::uint8_t>& rejects = scratch.rejects;
  const std::size_t rejected = count_ones(rejects.data(), rejects.size());
  if ((rejects.size() - rejected) * kMany > rejects.size()) return false;
  scratch.changed.clear();
  for (std::size_t index = 0; index < rejects.size(); ++index) {
    if (rejects[index] == 0) scratch.changed.push_back(static_cast<Ranks::Index>(index));
  }
  rejects.assign(scratch.changed.size(), 0);
  return true;
}

}  // namespace

// Ranks these nodes, or removes those that a plugin rejects. False: a plugin failed.
bool BaseView::judge(const Rows& rows, const Snapshot& snapshot) {
  if (!filter_rows(rows, snapshot)) return false;
  const auto rank = [&](const Rows& each) { return score_rows(each, snapshot) && place_rows(each, snapshot); };
  const bool few = rows.are_all() && keep_accepted(common_.scratch);
  const bool ranked = few ? rank(Rows::at(snapshot, common_.scratch.changed, common_.scratch.copies)) : rank(rows);
  return ranked && (!tells_why_ || tell_why(rows, snapshot));
}

bool BaseView::filter_rows(const Rows& rows, const Snapshot& snapshot) {
  std::vector<std::uint8_t>& rejects = common_.scratch.rejects;
  clear(rejects, rows.size());
  for (const std::size_t place : asked_filters_) {
    const auto& entry = common_.framework.filters()[place];
    if (const ObjectAnswer* answer = object_filters_[place].answer.get(); answer != nullptr) {
      if (answer->uniform && answer->same == 0) continue;
      if (rows.are_all() && !answer->uniform) {
        reject_not_zero(answer->values.data(), rows.size(), rejects.data());
      } else {
        for (std::size_t row = 0; row < rows.size(); ++row) rejects[row] |= answer->at(rows[row]) != 0 ? 1 : 0;
      }
      continue;
    }
    if (entry.batch_filter != nullptr && rows.size() > kFewRows &&
        entry.batch_filter->filter_rows(asked_.state, pod_, snapshot, rows, rejects.data())) {
      entry.count(rows.size());
      continue;
    }
    asks_nodes_ = asks_nodes_ || rows.size() > kFewRows;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rejects[row] != 0) continue;
      entry.count();
      const Status status = entry.plugin->filter(asked_.state, pod_, *snapshot.nodes()[rows[row]]);
      if (status.is_success()) continue;
      if (!status.is_rejected()) return false;
      rejects[row] = 1;
    }
  }
  return true;
}

// One plugin's scores of the nodes that are not rejected.
bool BaseView::ask_scores(std::size_t place, const Rows& rows, const Snapshot& snapshot,
                          std::vector<std::int32_t>& scores) {
  const auto& entry = common_.framework.scores()[place];
  make_room(scores, rows.size());
  if (const ObjectAnswer* answer = object_scores_[place].answer.get(); answer != nullptr) {
    if (rows.are_all() && !answer->uniform) {
      std::copy(answer->values.begin(), answer->values.end(), scores.begin());
    } else {
      for (std::size_t row = 0; row < rows.size(); ++row) scores[row] = answer->at(rows[row]);
    }
    return true;
  }
  if (entry.batch_score != nullptr && rows.size() > kFewRows &&
      entry.batch_score->score_rows(asked_.state, pod_, snapshot, rows, scores.data())) {
    entry.count(rows.size());
    return true;
  }
  asks_nodes_ = asks_nodes_ || rows.size() > kFewRows;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (common_.scratch.rejects[row] != 0) continue;
    entry.count();
    std::int64_t score = 0;
    if (!entry.plugin->score(asked_.state, pod_, *snapshot.nodes()[rows[row]], score).is_success()) return false;
    if (!std::in_range<std::int32_t>(score)) return false;
    scores[row] = static_cast<std::int32_t>(score);
  }
  return true;
}

bool BaseView::score_rows(const Rows& rows, const Snapshot& snapshot) {
  const std::vector<std::uint8_t>& rejects = common_.scratch.rejects;
  std::vector<std::int32_t>& own = common_.scratch.own;
  make_room(own, rows.size());
  bool is_first = true;
  std::size_t normalizing = 0;
  for (std::size_t place = 0; place < common_.framework.scores().size(); ++place) {
    const auto& entry = common_.framework.scores()[place];
    if (!asked_.score(entry)) continue;
    if (entry.normalizing != nullptr) {
      if (one_group_) continue;
      if (common_.scratch.raw.size() <= normalizing) common_.scratch.raw.emplace_back();
      if (!ask_scores(place, rows, snapshot, common_.scratch.raw[normalizing++])) return false;
      continue;
    }
    if (entry.batch_score != nullptr && entry.batch_score->scores_none(pod_, snapshot)) continue;
    std::vector<std::int32_t>& scores = common_.scratch.scores;
    if (!ask_scores(place, rows, snapshot, scores)) return false;
    const auto weight = static_cast<std::int32_t>(entry.weight);  // see note_shape()
    const auto take = std::exchange(is_first, false) ? set_weighted : add_weighted;
    if (!take(scores.data(), weight, rejects.data(), rows.size(), own.data())) return false;
  }
  if (is_first) std::fill_n(own.begin(), rows.size(), 0);
  return true;
}

bool BaseView::place_rows(const Rows& rows, const Snapshot& snapshot) {
  const std::vector<std::uint8_t>& rejects = common_.scratch.rejects;
  make_room(common_.scratch.ranks, rows.size());
  make_ranks(common_.scratch.own.data(), rejects.data(), rows.size(), common_.scratch.ranks.data());
  if (!rows.are_all()) {
    // A node in a group stays there while nothing changes that tells groups apart: neither its object nor pods that
    // count.
    const std::uint8_t* const other_objects = common_.scratch.has_other_object.data();
    const auto keeps = [&](Ranks::Index index) {
      return groups_by_object_ && other_objects[index] == 0 && !has_traits(index);
    };
    std::vector<std::size_t>& others = common_.scratch.other_rows;
    const bool all_keep = groups_by_object_ && !common_.scratch.any_other_object && sums_ == nullptr;
    if (one_group_ || all_keep) {
      ranks_.rescore(rows.indices(), common_.scratch.ranks, [](Ranks::Index) { return true; }, others);
    } else {
      ranks_.rescore(rows.indices(), common_.scratch.ranks, keeps, others);
    }
    for (const std::size_t row : others) {
      const auto index = static_cast<Ranks::Index>(rows[row]);
      if (!rows.is_last(row)) continue;
      if (rejects[row] != 0) {
        ranks_.take(index);
        continue;
      }
      const bool only = one_group_ && !ranks_.groups().empty();
      const Ranks::Number group = only ? ranks_.groups().front() : group_of(row, index, snapshot);
      if (group == Ranks::kNone) return fail(declined::kGroups);
      ranks_.put(index, group, common_.scratch.ranks[row]);
    }
    return true;
  }
  const auto ranks = std::span(common_.scratch.ranks).first(rows.size());
  if (one_group_) {
    if (rows.size() > 0) group_of(0, 0, snapshot);
    ranks_.fill(ranks, {});
  } else {
    if (!group_all(snapshot)) return fail(declined::kGroups);
    ranks_.fill(ranks, common_.scratch.groups);
  }
  return true;
}

}  // namespace berth
