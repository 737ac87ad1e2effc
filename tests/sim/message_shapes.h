// MessageShapes: one message of each shape that the programs have sent, for the check against the schemas. A shape is
// the topic's kind and the set of the payload's member paths, each with its type and, of words as enumerations have,
// the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/transport.h"

namespace berth::sim {

class MessageShapes {
 public:
  // So many shapes are known at most, so that a check of them takes a few seconds.
  static constexpr std::size_t kMax = 8000;

  // It outlives this.
  explicit MessageShapes(std::ostream& out) : out_(out) {}
  // Writes the message, if something in it is the first of its shape: a JSON object on a line.
  void take(std::string_view sender, const Message& message);

 private:
  struct Open {
    std::uint64_t path = 0;
    std::uint64_t members = 0;  // in any order
    bool is_object = false;
  };
  bool has_news(const Message& message);
  bool note(std::uint64_t shape);

  std::ostream& out_;
  std::unordered_set<std::uint64_t> known_;
  std::vector<Open> open_;  // of the message at hand
};

}  // namespace berth::sim
