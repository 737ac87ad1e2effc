// Trace: the events of a run: keeps the last ones for a report, and a hash of all.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace berth::sim {

class Trace {
 public:
  static constexpr std::size_t kKept = 40;

  // `print`: also prints every event to standard output.
  explicit Trace(bool print) : print_(print) {}

  void add(Millis at, std::string_view who, std::string_view what);
  // An additional line of the printed trace, neither hashed nor kept.
  void remark(Millis at, std::string_view who, std::string_view what) const;
  void print_last() const;

  bool prints() const { return print_; }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t events() const { return events_; }

 private:
  bool print_;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
  std::uint64_t events_ = 0;
  std::array<std::string, kKept> last_;
};

}  // namespace berth::sim
