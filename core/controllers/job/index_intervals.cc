#include "core/controllers/job/index_intervals.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace berth {
namespace {

std::optional<std::int32_t> index_in(std::string_view text) {
  std::int32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() && index >= 0 ? std::optional(index) : std::nullopt;
}

}  // namespace

IndexIntervals::IndexIntervals(const std::set<std::int32_t>& indexes) {
  for (const std::int32_t index : indexes) append({index, index});
}

IndexIntervals IndexIntervals::parse(std::string_view text, std::int32_t completions) {
  IndexIntervals found;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t hyphen = part.find('-');
    const std::optional<std::int32_t> first = index_in(part.substr(0, hyphen));
    const std::optional<std::int32_t> last =
        hyphen == std::string_view::npos ? first : index_in(part.substr(hyphen + 1));
    if (!first || !last) continue;
    if (*first >= completions) break;
    if (*first <= *last) found.append({*first, std::min(*last, completions - 1)});
  }
  return found;
}

void IndexIntervals::append(Interval interval) {
  if (intervals_.empty() || interval.first > intervals_.back().last + 1) {
    intervals_.push_back(interval);
  } else {
    intervals_.back().last = std::max(intervals_.back().last, interval.last);
  }
}

IndexIntervals IndexIntervals::merged_with(const IndexIntervals& other) const {
  std::vector<Interval> all = intervals_;
  all.insert(all.end(), other.intervals_.begin(), other.intervals_.end());
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.first < b.first; });
  IndexIntervals merged;
  for (const Interval& each : all) merged.append(each);
  return merged;
}

bool IndexIntervals::has(std::int32_t index) const {
  const auto found = std::lower_bound(intervals_.begin(), intervals_.end(), index,
                                      [](const Interval& each, std::int32_t value) { return each.last < value; });
  return found != intervals_.end() && found->first <= index;
}

std::int64_t IndexIntervals::total() const {
  std::int64_t count = 0;
  for (const Interval& each : intervals_) count += std::int64_t{each.last} - each.first + 1;
  return count;
}

std::int64_t IndexIntervals::common_with(const IndexIntervals& other) const {
  std::int64_t common = 0;
  auto a = intervals_.begin();
  auto b = other.intervals_.begin();
  while (a != intervals_.end() && b != other.intervals_.end()) {
    common += std::max<std::int64_t>(0, std::int64_t{std::min(a->last, b->last)} - std::max(a->first, b->first) + 1);
    (a->last < b->last ? a : b)++;
  }
  return common;
}

std::vector<std::int32_t> IndexIntervals::first_missing(std::int64_t count, std::int32_t completions) const {
  std::vector<std::int32_t> missing;
  const auto add_until = [&](std::int32_t from, std::int32_t end) {
    for (std::int32_t index = from; index < end && static_cast<std::int64_t>(missing.size()) < count; ++index) {
      missing.push_back(index);
    }
  };
  std::int32_t candidate = 0;
  for (const Interval& each : intervals_) {
    add_until(candidate, std::min(each.first, completions));
    candidate = each.last + 1;
  }
  add_until(candidate, completions);
  return missing;
}

std::string IndexIntervals::text() const {
  std::string text;
  for (const Interval& each : intervals_) {
    if (!text.empty()) text += ",";
    text += std::to_string(each.first);
    if (each.last == each.first) continue;
    text += (each.last == each.first + 1 ? "," : "-") + std::to_string(each.last);
  }
  return text;
}

}  // namespace berth
