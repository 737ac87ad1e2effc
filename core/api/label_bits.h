// LabelBits: a coarse picture of labels, and of what selectors ask of them, that tells in two instructions that a
// selector does not match. A label sets three bits of 128, one by its key and two by key and value.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/api/selector.h"

namespace berth {

class LabelBits {
 public:
  static LabelBits of(const std::map<std::string, std::string>& labels);
  // Of labels that the selector matches all have these bits. None where it asks for no label.
  static LabelBits asked_by(const LabelSelector& selector);
  // The bits that both have.
  LabelBits common_with(const LabelBits& other) const { return {first_ & other.first_, second_ & other.second_}; }
  // False: one of the bits that are asked for is missing.
  bool has_all(const LabelBits& asked) const { return ((asked.first_ & ~first_) | (asked.second_ & ~second_)) == 0; }
  bool operator==(const LabelBits&) const = default;

  LabelBits() = default;

 private:
  LabelBits(std::uint64_t first, std::uint64_t second) : first_(first), second_(second) {}
  void set(std::uint64_t bit) { ((bit & 64) != 0 ? second_ : first_) |= std::uint64_t{1} << (bit & 63); }
  void add(const std::string& key, const std::string* value);

  std::uint64_t first_ = 0, second_ = 0;
};

}  // namespace berth
