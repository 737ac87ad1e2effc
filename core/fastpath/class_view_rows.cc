// How a view judges nodes: Filter and Score of all plugins that look at one node, row by row or in batches.
#include <algorithm>
#include <limits>
#include <unordered_map>
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

// A node's group: its scores that are normalized later, what its own scores exceed ranks by, the domains that it is in
// and, where pods that count are on it, its own traits.
Ranks::Number ClassView::group_of(std::size_t row, std::size_t index, const Snapshot& snapshot) {
  Ranks::Key& key = scratch_.key;
  key.clear();
  for (std::size_t i = 0; i < normalizing_; ++i) key.push_back(one_group_ ? 0 : scratch_.raw[i][row]);
  if (most_own_ > Ranks::kMostScore) key.push_back(scratch_.own[row] / (Ranks::kMostScore + 1));
  for (const Domains::Key& each : domains_.keys()) key.push_back(domain_of(each, index));
  if (is_touched(index)) {
    const std::size_t without = key.size();
    for (const SummingPlugin* plugin : active_) {
      plugin->add_traits(state_, pod_, *snapshot.nodes()[index], domains_, key);
    }
    const bool has_traits = std::any_of(key.begin() + static_cast<std::ptrdiff_t>(without), key.end(),
                                        [](std::int64_t trait) { return trait != 0; });
    if (!has_traits) key.resize(without);
  }
  return ranks_.group(key);
}

namespace {

// Tells groups apart by one more value of each row: (group, value) becomes a group. Rows without a group stay so.
class Refinement {
 public:
  explicit Refinement(std::vector<Ranks::Number>& groups) : groups_(groups) {}

  template <class ValueOf>
  void by(ValueOf value_of) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (std::size_t row = 0; row < groups_.size(); ++row) {
      if (groups_[row] == Ranks::kNone) continue;
      least = std::min(least, value_of(row));
      most = std::max(most, value_of(row));
    }
    if (least >= most) return;  // all are the same
    constexpr std::int64_t kDense = 1 << 16;
    const bool is_dense = most - least < kDense && (most - least + 1) * static_cast<std::int64_t>(count_) <= kDense;
    const auto span = is_dense ? static_cast<std::size_t>(most - least + 1) : 0;
    dense_.assign(span * count_, Ranks::kNone);
    sparse_.clear();
    Ranks::Number found = 0;
    for (std::size_t row = 0; row < groups_.size(); ++row) {
      if (groups_[row] == Ranks::kNone) continue;
      const auto value = static_cast<std::size_t>(value_of(row) - least);
      Ranks::Number& group = is_dense ? dense_[groups_[row] * span + value] : sparse(groups_[row], value);
      if (group == Ranks::kNone) group = found++;
      groups_[row] = group;
    }
    count_ = found;
  }
  std::size_t count() const { return count_; }

 private:
  struct PairHash {
    std::size_t operator()(const std::pair<std::size_t, std::size_t>& pair) const {
      return static_cast<std::size_t>(pair.first * std::uint64_t{0x9E3779B97F4A7C15} + pair.second);
    }
  };
  Ranks::Number& sparse(std::size_t group, std::size_t value) {
    return sparse_.try_emplace({group, value}, Ranks::kNone).first->second;
  }
  std::vector<Ranks::Number>& groups_;
  std::size_t count_ = 1;
  std::vector<Ranks::Number> dense_;
  std::unordered_map<std::pair<std::size_t, std::size_t>, Ranks::Number, PairHash> sparse_;
};

}  // namespace

std::int64_t ClassView::domain_of(const Domains::Key& key, std::size_t index) {
  const std::int64_t number = key.number_of(index);
  return key.per_node && number != Domains::kNone ? 0 : number;
}

// The groups of all nodes: found column by column, and looked up once each, as there are few.
void ClassView::group_all(const Snapshot& snapshot) {
  const std::size_t nodes = scratch_.rejects.size();
  std::vector<Ranks::Number>& groups = scratch_.groups;
  groups.resize(nodes);
  for (std::size_t index = 0; index < nodes; ++index) {
    groups[index] = scratch_.rejects[index] != 0 || is_touched(index) ? Ranks::kNone : 0;
  }
  Refinement refinement(groups);
  for (std::size_t i = 0; i < normalizing_; ++i) {
    refinement.by([&](std::size_t row) -> std::int64_t { return scratch_.raw[i][row]; });
  }
  if (most_own_ > Ranks::kMostScore) {
    refinement.by([&](std::size_t row) -> std::int64_t { return scratch_.own[row] / (Ranks::kMostScore + 1); });
  }
  for (const Domains::Key& key : domains_.keys()) {
    refinement.by([&](std::size_t row) { return domain_of(key, row); });
  }
  std::vector<Ranks::Number> numbers(refinement.count(), Ranks::kNone);
  for (std::size_t index = 0; index < nodes; ++index) {
    if (groups[index] != Ranks::kNone) {
      Ranks::Number& number = numbers[groups[index]];
      if (number == Ranks::kNone) number = group_of(index, index, snapshot);
      groups[index] = number;
    } else if (scratch_.rejects[index] == 0) {
      groups[index] = group_of(index, index, snapshot);
    }
  }
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
        ranks_.put(index, has_group ? ranks_.groups().front() : group_of(row, index, snapshot), rank_of(row));
      }
    }
    return true;
  }
  scratch_.ranks.resize(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    scratch_.ranks[row] = rejects[row] != 0 ? static_cast<Ranks::Score>(-1) : rank_of(row);
  }
  scratch_.groups.clear();
  if (!one_group_) {
    group_all(snapshot);
  } else if (rows.size() > 0) {
    group_of(0, 0, snapshot);
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
