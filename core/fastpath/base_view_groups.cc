// How a base view divides nodes into groups: those that differ in nothing but their own scores.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/fastpath/base_view.h"
#include "core/vectorized.h"

namespace berth {

namespace {

// `has_traits`: nodes that are alone in their domain are told apart by traits.
std::int64_t domain_of(const Domains::Key& key, bool has_traits, std::size_t index) {
  const std::int64_t number = key.number_of(index);
  return has_traits && key.per_node && number != Domains::kNone ? 0 : number;
}

}  // namespace

// A node's group: its scores that are normalized later, what its own scores exceed ranks by, the domains that it is in
// and, where pods that count are on it, its own traits.
Ranks::Number BaseView::group_of(std::size_t row, std::size_t index, const Snapshot& snapshot) {
  Ranks::Key& key = common_.scratch.key;
  key.clear();
  for (std::size_t i = 0; i < normalizing_; ++i) key.push_back(one_group_ ? 0 : common_.scratch.raw[i][row]);
  if (most_own_ > Ranks::kMostScore) key.push_back(common_.scratch.own[row] / (Ranks::kMostScore + 1));
  for (const Domains::Key& each : domains_.keys()) key.push_back(domain_of(each, sums_ != nullptr, index));
  if (has_traits(index)) {
    const std::size_t without = key.size();
    sums_->add_traits(*snapshot.nodes()[index], key);
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

// What domain_of() says of all rows: a number without a domain is Domains::kNone as it is.
BERTH_VECTORIZED void take_domains(const std::uint32_t* numbers, bool per_node, std::size_t rows,
                                   std::int32_t* domains) {
  static_assert(static_cast<std::int32_t>(NodeColumns::Label::kNone) == Domains::kNone);
  const std::uint32_t one_domain = per_node ? 0 : ~std::uint32_t{0};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint32_t without = -(numbers[row] == NodeColumns::Label::kNone ? 1U : 0U);  // all bits, or none
    domains[row] = static_cast<std::int32_t>((numbers[row] & one_domain) | without);
  }
}

BERTH_VECTORIZED void take_beyond_ranks(const std::int32_t* own, std::size_t rows, std::int32_t* beyond) {
  for (std::size_t row = 0; row < rows; ++row) beyond[row] = own[row] / (Ranks::kMostScore + 1);
}

// (group, value) as one number of each row with a group.
BERTH_VECTORIZED void combine(const std::int32_t* values, std::int32_t least, std::uint32_t span, std::size_t rows,
                              Ranks::Number* groups) {
  for (std::size_t row = 0; row < rows; ++row) {
    const Ranks::Number without = -(groups[row] == Ranks::kNone ? 1U : 0U);
    const std::uint32_t value = static_cast<std::uint32_t>(values[row]) - static_cast<std::uint32_t>(least);
    groups[row] = (groups[row] * span + value) | without;
  }
}

// Tells groups apart by more values of each row: (group, value, value...) becomes a group. Rows without a group stay
// so. The values are combined for as long as a table has room for all combinations.
class Refinement {
 public:
  explicit Refinement(std::vector<Ranks::Number>& groups) : groups_(groups) {}

  void by(const std::vector<std::int32_t>& values) {
    const Range range = range_of(values.data(), groups_.data(), groups_.size());
    if (range.least >= range.most) return;                                                     // all are the same
    const auto span = static_cast<std::uint64_t>(std::int64_t{range.most} - range.least + 1);  // up to 2^32
    if (span * combinations_ > kTable) number();
    if (span * combinations_ > kTable) return number_with(values, range.least);
    combine(values.data(), range.least, static_cast<std::uint32_t>(span), groups_.size(), groups_.data());
    combinations_ *= span;
    numbered_ = false;
  }
  // Numbers the groups in the order of their first rows; returns how many there are.
  std::size_t number() {
    if (std::exchange(numbered_, true)) return combinations_;
    table_.assign(combinations_, Ranks::kNone);
    Ranks::Number found = 0;
    for (Ranks::Number& group : groups_) {
      if (group == Ranks::kNone) continue;
      Ranks::Number& numbered = table_[group];
      if (numbered == Ranks::kNone) numbered = found++;
      group = numbered;
    }
    combinations_ = found;
    return found;
  }

 private:
  static constexpr std::uint64_t kTable = 1 << 14;
  struct PairHash {
    std::size_t operator()(const std::pair<std::size_t, std::size_t>& pair) const {
      return static_cast<std::size_t>(pair.first * std::uint64_t{0x9E3779B97F4A7C15} + pair.second);
    }
  };
  // As by() and number(), for values that lie far apart.
  void number_with(const std::vector<std::int32_t>& values, std::int32_t least) {
    std::unordered_map<std::pair<std::size_t, std::size_t>, Ranks::Number, PairHash> numbers;
    for (std::size_t row = 0; row < groups_.size(); ++row) {
      if (groups_[row] == Ranks::kNone) continue;
      const auto value = static_cast<std::size_t>(std::int64_t{values[row]} - least);
      groups_[row] =
          numbers.try_emplace({groups_[row], value}, static_cast<Ranks::Number>(numbers.size())).first->second;
    }
    combinations_ = numbers.size();
  }

  std::vector<Ranks::Number>& groups_;
  std::uint64_t combinations_ = 1;  // all groups are below it
  bool numbered_ = true;            // each number below it is a group
  std::vector<Ranks::Number> table_;
};

}  // namespace

// The groups of all nodes: found column by column, and looked up once each, as there are few. False: they are too many.
bool BaseView::group_all(const Snapshot& snapshot) {
  const std::size_t nodes = common_.scratch.rejects.size();
  std::vector<Ranks::Number>& groups = common_.scratch.groups;
  groups.resize(nodes);
  leave_out(common_.scratch.rejects.data(), nodes, groups.data());
  const auto for_each_touched = [&](auto visit) {
    if (sums_ == nullptr) return;
    sums_->touched().for_each([&](std::size_t index) {
      if (index < nodes && common_.scratch.rejects[index] == 0) visit(index);
    });
  };
  for_each_touched([&](std::size_t index) { groups[index] = Ranks::kNone; });
  Refinement refinement(groups);
  for (std::size_t i = 0; i < normalizing_; ++i) refinement.by(common_.scratch.raw[i]);
  std::vector<std::int32_t>& values = common_.scratch.scores;
  make_room(values, nodes);
  if (most_own_ > Ranks::kMostScore) {
    take_beyond_ranks(common_.scratch.own.data(), nodes, values.data());
    refinement.by(values);
  }
  for (const Domains::Key& key : domains_.keys()) {
    take_domains(key.label->numbers.data(), key.per_node && sums_ != nullptr, nodes, values.data());
    refinement.by(values);
  }
  if (!number_groups(refinement.number(), snapshot)) return false;
  bool few = true;
  for_each_touched([&](std::size_t index) {
    groups[index] = group_of(index, index, snapshot);
    few = few && groups[index] != Ranks::kNone;
  });
  return few;
}

// Ranks number new groups in their order, so that most often the numbers stay. False: they are too many.
bool BaseView::number_groups(std::size_t count, const Snapshot& snapshot) {
  std::vector<Ranks::Number>& groups = common_.scratch.groups;
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

std::int64_t BaseView::beyond_ranks(Ranks::Number group) const {
  return most_own_ > Ranks::kMostScore ? ranks_.key_of(group)[normalizing_] * (Ranks::kMostScore + 1) : 0;
}

}  // namespace berth
