// How a view judges nodes: Filter and Score of all plugins that look at one node, row by row or in batches.
#include <algorithm>
#include <utility>

#include "core/fastpath/class_view.h"

namespace berth {

// Ranks these nodes, or removes those that a plugin rejects. False: a plugin failed.
bool ClassView::judge(const Rows& rows, const Snapshot& snapshot) {
  if (!filter_rows(rows, snapshot)) return false;
  const bool ranked =
      rows.are_all() && keep_accepted() ? rank(Rows::at(scratch_.changed), snapshot) : rank(rows, snapshot);
  return ranked && (!tells_why_ || tell_why(rows, snapshot));
}

bool ClassView::rank(const Rows& rows, const Snapshot& snapshot) {
  return score_rows(rows, snapshot) && place_rows(rows, snapshot);
}

// When few of all nodes are accepted, as by a node selector: makes them the rows. False: they are many.
bool ClassView::keep_accepted() {
  constexpr std::size_t kMany = 8;  // of so many nodes one
  std::vector<std::uint8_t>& rejects = scratch_.rejects;
  std::size_t rejected = 0;
  for (const std::uint8_t each : rejects) rejected += each;
  if ((rejects.size() - rejected) * kMany > rejects.size()) return false;
  scratch_.changed.clear();
  for (std::size_t index = 0; index < rejects.size(); ++index) {
    if (rejects[index] == 0) scratch_.changed.push_back(static_cast<Ranks::Index>(index));
  }
  rejects.assign(scratch_.changed.size(), 0);
  return true;
}

bool ClassView::filter_rows(const Rows& rows, const Snapshot& snapshot) {
  std::vector<std::uint8_t>& rejects = scratch_.rejects;
  rejects.assign(rows.size(), 0);
  for (std::size_t place = 0; place < framework_.filters().size(); ++place) {
    const auto& entry = framework_.filters()[place];
    if (!filters(entry)) continue;
    if (const ObjectAnswer* answer = object_filters_[place].answer.get(); answer != nullptr) {
      if (answer->uniform && answer->same == 0) continue;
      for (std::size_t row = 0; row < rows.size(); ++row) rejects[row] |= answer->at(rows[row]) != 0 ? 1 : 0;
      continue;
    }
    if (entry.batch_filter != nullptr &&
        entry.batch_filter->filter_rows(state_, pod_, snapshot, rows, rejects.data())) {
      entry.count(rows.size());
      continue;
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rejects[row] != 0) continue;
      entry.count();
      const Status status = entry.plugin->filter(state_, pod_, *snapshot.nodes()[rows[row]]);
      if (status.is_success()) continue;
      if (!status.is_rejected()) return false;
      rejects[row] = 1;
    }
  }
  return true;
}

// One plugin's scores of the nodes that are not rejected.
bool ClassView::ask_scores(std::size_t place, const Rows& rows, const Snapshot& snapshot,
                           std::vector<std::int32_t>& scores) {
  const auto& entry = framework_.scores()[place];
  scores.resize(rows.size());
  if (const ObjectAnswer* answer = object_scores_[place].answer.get(); answer != nullptr) {
    for (std::size_t row = 0; row < rows.size(); ++row) scores[row] = answer->at(rows[row]);
    return true;
  }
  if (entry.batch_score != nullptr && entry.batch_score->score_rows(state_, pod_, snapshot, rows, scores.data())) {
    entry.count(rows.size());
    return true;
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (scratch_.rejects[row] != 0) continue;
    entry.count();
    std::int64_t score = 0;
    if (!entry.plugin->score(state_, pod_, *snapshot.nodes()[rows[row]], score).is_success()) return false;
    if (!std::in_range<std::int32_t>(score)) return false;
    scores[row] = static_cast<std::int32_t>(score);
  }
  return true;
}

bool ClassView::score_rows(const Rows& rows, const Snapshot& snapshot) {
  const std::vector<std::uint8_t>& rejects = scratch_.rejects;
  std::vector<std::int32_t>& own = scratch_.own;
  own.assign(rows.size(), 0);
  std::size_t normalizing = 0;
  for (std::size_t place = 0; place < framework_.scores().size(); ++place) {
    const auto& entry = framework_.scores()[place];
    if (!scores(entry)) continue;
    if (entry.normalizing != nullptr) {
      if (one_group_) continue;
      if (scratch_.raw.size() <= normalizing) scratch_.raw.emplace_back();
      if (!ask_scores(place, rows, snapshot, scratch_.raw[normalizing++])) return false;
      continue;
    }
    std::vector<std::int32_t>& scores = scratch_.scores;
    if (!ask_scores(place, rows, snapshot, scores)) return false;
    const auto weight = static_cast<std::int32_t>(entry.weight);  // see note_shape()
    std::uint32_t wrong = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {  // without branches, to be vectorised
      const auto score = static_cast<std::uint32_t>(scores[row]);
      wrong |= (score > ScorePlugin::kMaxScore ? 1u : 0u) & (rejects[row] ^ 1u);
      own[row] += scores[row] * weight;
    }
    if (wrong != 0) return false;
  }
  return true;
}

// A node's group: its scores that are normalized later, what its own scores exceed ranks by, and the traits that
// SummingPlugins know it by.
Ranks::Number ClassView::group_of(std::size_t row, const NodeInfo& node) {
  Ranks::Key& key = scratch_.key;
  key.clear();
  std::size_t normalizing = 0;
  for (const auto& entry : framework_.scores()) {
    if (!scores(entry) || entry.normalizing == nullptr) continue;
    key.push_back(one_group_ ? 0 : scratch_.raw[normalizing++][row]);
  }
  if (most_own_ > Ranks::kMostScore) key.push_back(scratch_.own[row] / (Ranks::kMostScore + 1));
  for (const SummingPlugin* plugin : active_) plugin->add_traits(state_, pod_, node, domains_, key);
  return ranks_.group(key);
}

std::int64_t ClassView::beyond_ranks(Ranks::Number group) const {
  return most_own_ > Ranks::kMostScore ? ranks_.key_of(group)[normalizing_] * (Ranks::kMostScore + 1) : 0;
}

bool ClassView::place_rows(const Rows& rows, const Snapshot& snapshot) {
  const auto rank_of = [this](std::size_t row) {
    return static_cast<Ranks::Score>(scratch_.own[row] % (Ranks::kMostScore + 1));
  };
  const std::vector<std::uint8_t>& rejects = scratch_.rejects;
  if (!rows.are_all()) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto index = static_cast<Ranks::Index>(rows[row]);
      if (rejects[row] != 0) {
        ranks_.take(index);
      } else {
        const bool has_group = one_group_ && !ranks_.groups().empty();
        ranks_.put(index, has_group ? ranks_.groups().front() : group_of(row, *snapshot.nodes()[index]), rank_of(row));
      }
    }
    return true;
  }
  scratch_.ranks.resize(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    scratch_.ranks[row] = rejects[row] != 0 ? static_cast<Ranks::Score>(-1) : rank_of(row);
  }
  scratch_.groups.clear();
  if (one_group_) {
    if (rows.size() > 0) group_of(0, *snapshot.nodes()[0]);
  } else {
    scratch_.groups.resize(rows.size(), Ranks::kNone);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rejects[row] == 0) scratch_.groups[row] = group_of(row, *snapshot.nodes()[row]);
    }
  }
  ranks_.fill(scratch_.ranks, scratch_.groups);
  return true;
}

Status ClassView::why_rejected(std::size_t index, const Snapshot& snapshot) {
  const NodeInfo& node = *snapshot.nodes()[index];
  for (const auto& entry : framework_.filters()) {
    if (!filters(entry)) continue;
    Status status = entry.plugin->filter(state_, pod_, node);
    if (!status.is_success()) return std::move(status).with_plugin(entry.name);
  }
  return {};
}

// Keeps why nodes are rejected from now on, for these rows. False: a plugin failed.
bool ClassView::tell_why(const Rows& rows, const Snapshot& snapshot) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t index = rows[row];
    Status status;
    if (!ranks_.contains(static_cast<Ranks::Index>(index))) status = why_rejected(index, snapshot);
    if (status.code() == Code::error) return false;
    if (status.is_success()) {
      rejected_.clear(index);
    } else {
      rejected_.set(index, std::move(status));
    }
  }
  return true;
}

}  // namespace berth
