// How a view divides nodes into groups: those that differ in nothing but their own scores.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/fastpath/class_view.h"
#include "core/vectorized.h"

namespace berth {

namespace {

std::int64_t domain_of(const Domains::Key& key, std::size_t index) {
  const std::int64_t number = key.number_of(index);
  return key.per_node && number != Domains::kNone ? 0 : number;
}

}  // namespace

// A node's group: its scores that are normalized later, what its own scores exceed ranks by, the domains that it is in
// and, where pods that count are on it, its own traits.
Ranks::Number ClassView::group_of(std::size_t row, std::size_t index, const Snapshot& snapshot) {
  Ranks::Key& key = scratch_.key;
  key.clear();
  for (std::size_t i = 0; i < normalizing_; ++i) key.push_back(one_group_ ? 0 : scratch_.raw[i][row]);
  if (most_own_ > Ranks::kMostScore) key.push_back(scratch_.own[row] / (Ranks::kMostScore + 1));
  for (const Domains::Key& each : domains_.keys()) key.push_back(domain_of(each, index));
  if (touched_.contains(index)) {
    const std::size_t without = key.size();
    for (const SummingPlugin* plugin : active_) {
      plugin->add_traits(state_, pod_, *snapshot.nodes()[index], domains_, key);
    }
    const bool has_traits = std::any_of(key.begin() + static_cast<std::ptrdiff_t>(without), key.end(),
                                        [](std::int64_t trait) { return trait != 0; });
    if (!has_traits) key.resize(without);
  }
  return ranks_.group(key, static_cast<Ranks::Index>(index));
}

namespace {

// Those that are not rejected are in group 0.
BERTH_VECTORIZED void leave_out(const std::uint8_t* rejects, std::size_t rows, Ranks::Number* groups) {
  for (std::size_t row = 0; row < rows; ++row) groups[row] = rejects[row] != 0 ? Ranks::kNone : Ranks::Number{0};
}

struct Range {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
};

// Of the rows with a group. By masks, since the compiler would make branches of conditions.
BERTH_VECTORIZED Range range_of(const std::int32_t* values, const Ranks::Number* groups, std::size_t rows) {
  Range range;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t without = -(groups[row] == Ranks::kNone ? 1 : 0);  // all bits, or none
    range.least =
        std::min(range.least, (values[row] & ~without) | (std::numeric_limits<std::int32_t>::max() & without));
    range.most = std::max(range.most, (values[row] & ~without) | (std::numeric_limits<std::int32_t>::min() & without));
  }
  return range;
}

// Tells groups apart by one more value of each row: (group, value) becomes a group. Rows without a group stay so.
class Refinement {
 public:
  explicit Refinement(std::vector<Ranks::Number>& groups) : groups_(groups) {}

  void by(const std::vector<std::int32_t>& values) {
    const Range range = range_of(values.data(), groups_.data(), groups_.size());
    if (range.least >= range.most) return;  // all are the same
    constexpr std::int64_t kDense = 1 << 16;
    const std::int64_t span = std::int64_t{range.most} - range.least + 1;  // up to 2^32
    const bool is_dense = span <= kDense && span * static_cast<std::int64_t>(count_) <= kDense;
    dense_.assign(is_dense ? static_cast<std::size_t>(span) * count_ : 0, Ranks::kNone);
    sparse_.clear();
    Ranks::Number found = 0;
    for (std::size_t row = 0; row < groups_.size(); ++row) {
      if (groups_[row] == Ranks::kNone) continue;
      const auto value = static_cast<std::size_t>(std::int64_t{values[row]} - range.least);
      Ranks::Number& group =
          is_dense ? dense_[groups_[row] * static_cast<std::size_t>(span) + value] : sparse(groups_[row], value);
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

// The groups of all nodes: found column by column, and looked up once each, as there are few. False: they are too many.
bool ClassView::group_all(const Snapshot& snapshot) {
  const std::size_t nodes = scratch_.rejects.size();
  std::vector<Ranks::Number>& groups = scratch_.groups;
  groups.resize(nodes);
  leave_out(scratch_.rejects.data(), nodes, groups.data());
  const auto for_each_touched = [&](auto visit) {
    touched_.for_each([&](std::size_t index) {
      if (index < nodes && scratch_.rejects[index] == 0) visit(index);
    });
  };
  for_each_touched([&](std::size_t index) { groups[index] = Ranks::kNone; });
  Refinement refinement(groups);
  for (std::size_t i = 0; i < normalizing_; ++i) refinement.by(scratch_.raw[i]);
  std::vector<std::int32_t>& values = scratch_.scores;
  values.resize(nodes);
  if (most_own_ > Ranks::kMostScore) {
    for (std::size_t row = 0; row < nodes; ++row) values[row] = scratch_.own[row] / (Ranks::kMostScore + 1);
    refinement.by(values);
  }
  for (const Domains::Key& key : domains_.keys()) {
    for (std::size_t row = 0; row < nodes; ++row) values[row] = static_cast<std::int32_t>(domain_of(key, row));
    refinement.by(values);
  }
  if (!number_groups(refinement.count(), snapshot)) return false;
  bool few = true;
  for_each_touched([&](std::size_t index) {
    groups[index] = group_of(index, index, snapshot);
    few = few && groups[index] != Ranks::kNone;
  });
  return few;
}

// Ranks number new groups in their order, so that most often the numbers stay. False: they are too many.
bool ClassView::number_groups(std::size_t count, const Snapshot& snapshot) {
  std::vector<Ranks::Number>& groups = scratch_.groups;
  std::vector<Ranks::Number> numbers(count, Ranks::kNone);
  std::size_t known = 0;
  for (std::size_t index = 0; index < groups.size() && known < count; ++index) {
    const Ranks::Number group = groups[index];
    if (group == Ranks::kNone || numbers[group] != Ranks::kNone) continue;
    numbers[group] = group_of(index, index, snapshot);
    if (numbers[group] == Ranks::kNone) return false;
    ++known;
  }
  bool same = true;
  for (std::size_t group = 0; group < count; ++group) same = same && numbers[group] == group;
  if (same) return true;
  for (Ranks::Number& group : groups) {
    if (group != Ranks::kNone) group = numbers[group];
  }
  return true;
}

std::int64_t ClassView::beyond_ranks(Ranks::Number group) const {
  return most_own_ > Ranks::kMostScore ? ranks_.key_of(group)[normalizing_] * (Ranks::kMostScore + 1) : 0;
}

}  // namespace berth
