#include "plugins/node_label_rows.h"

#include <algorithm>
#include <string>

#include "core/api/node.h"
#include "core/vectorized.h"

namespace berth {

namespace {

BERTH_VECTORIZED void add_where_met(const std::uint8_t* unmet, std::int32_t weight, std::size_t rows,
                                    std::int32_t* scores) {
  for (std::size_t row = 0; row < rows; ++row) scores[row] += unmet[row] != 0 ? 0 : weight;
}

}  // namespace

void mark_unmet(const Requirement& requirement, const Snapshot& snapshot, const Rows& rows, std::uint8_t* unmet) {
  const NodeColumns::Label& label = snapshot.columns().label(requirement.key, snapshot.nodes());
  const auto is_unmet = [&requirement](const std::string* value) -> std::uint8_t {
    return matches_value(requirement, value) ? 0 : 1;
  };
  std::vector<std::uint8_t> of_value(label.values.size() + 1);  // the last one: without the label
  if (requirement.op == Requirement::Operator::in || requirement.op == Requirement::Operator::not_in) {
    // All values that the requirement does not name have the same result.
    std::fill(of_value.begin(), of_value.end(), requirement.op == Requirement::Operator::in ? 1 : 0);
    for (const std::string& value : requirement.values) {
      if (const auto found = label.values.find(value); found != label.values.end()) {
        of_value[found->second] = is_unmet(&value);
      }
    }
  } else {
    for (const auto& [value, number] : label.values) of_value[number] = is_unmet(&value);
  }
  of_value.back() = is_unmet(nullptr);
  const auto without = static_cast<std::uint32_t>(label.values.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    unmet[row] |= of_value[std::min(label.numbers[rows[row]], without)];  // kNone is the greatest number
  }
}

void add_weights(const std::vector<PreferredNodeTerm>& terms, const Snapshot& snapshot, const Rows& rows,
                 std::int32_t* scores) {
  std::vector<std::uint8_t> unmet;
  for (const PreferredNodeTerm& term : terms) {
    if (term.preference.match_expressions.empty()) continue;  // matches no node
    unmet.assign(rows.size(), 0);
    for (const Requirement& each : term.preference.match_expressions) mark_unmet(each, snapshot, rows, unmet.data());
    add_where_met(unmet.data(), term.weight, rows.size(), scores);
  }
}

}  // namespace berth
