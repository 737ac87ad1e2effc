// IndexIntervals: completion indexes of a Job as its status writes them: "0,2-4" (pkg/controller/job/
// indexed_job_utils.go, orderedIntervals).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

class IndexIntervals {
 public:
  struct Interval {
    std::int32_t first;
    std::int32_t last;
    bool operator==(const Interval&) const = default;
  };

  IndexIntervals() = default;
  explicit IndexIntervals(const std::set<std::int32_t>& indexes);
  // Indexes from `completions` on are left out, and so is what is not a number.
  static IndexIntervals parse(std::string_view text, std::int32_t completions);

  IndexIntervals merged_with(const IndexIntervals& other) const;
  bool has(std::int32_t index) const;
  bool empty() const { return intervals_.empty(); }
  std::int64_t total() const;
  // How many indexes both have.
  std::int64_t common_with(const IndexIntervals& other) const;
  // The lowest indexes below `completions` that are not in here, `count` at most. Takes as long as there are intervals
  // and results.
  std::vector<std::int32_t> first_missing(std::int64_t count, std::int32_t completions) const;
  std::string text() const;
  bool operator==(const IndexIntervals&) const = default;

 private:
  void append(Interval interval);

  std::vector<Interval> intervals_;  // ascending, and not adjacent
};

}  // namespace berth
