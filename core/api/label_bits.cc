#include "core/api/label_bits.h"

#include <functional>

namespace berth {

void LabelBits::add(const std::string& key, const std::string* value) {
  const std::hash<std::string> hash;
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
  const std::uint64_t of_key = hash(key) * kSpread;
  set(of_key >> 57);
  if (value == nullptr) return;
  const std::uint64_t of_both = (of_key ^ hash(*value)) * kSpread;
  set(of_both >> 57);
  set(of_both >> 50 & 127);
}

LabelBits LabelBits::of(const std::map<std::string, std::string>& labels) {
  LabelBits bits;
  for (const auto& [key, value] : labels) bits.add(key, &value);
  return bits;
}

LabelBits LabelBits::asked_by(const LabelSelector& selector) {
  LabelBits bits;
  for (const Requirement& requirement : selector.requirements) {
    switch (requirement.op) {
      case Requirement::Operator::in:
        bits.add(requirement.key, requirement.values.size() == 1 ? &requirement.values.front() : nullptr);
        break;
      case Requirement::Operator::exists:
      case Requirement::Operator::gt:
      case Requirement::Operator::lt: bits.add(requirement.key, nullptr); break;
      case Requirement::Operator::not_in:
      case Requirement::Operator::does_not_exist: break;  // labels without the key match
    }
  }
  return bits;
}

}  // namespace berth
