#include "core/json/did_you_mean.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace berth {
namespace {

constexpr std::size_t kComparedMax = 64;  // bytes of a name that is compared with the known ones

// The edit distance: insertions, deletions, substitutions and transpositions (Damerau-Levenshtein, optimal string
// alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> older(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    older.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view text, const std::vector<std::string_view>& names) {
  if (text.size() > kComparedMax) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 4) + 1;
  for (std::string_view name : names) {
    const std::size_t edits = distance(text, name);
    if (edits < best_distance) {
      best_distance = edits;
      best = name;
    }
  }
  return best;
}

}  // namespace

std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& names) {
  const std::string_view near = nearest(text, names);
  return near.empty() ? std::string() : "; did you mean " + std::string(near) + "?";
}

}  // namespace berth
