// KindVerdicts: whether pods of a kind (core/cache/pod_kinds.h) count for a class, asked once for each kind.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cache/pod_kinds.h"

namespace berth {

class KindVerdicts {
 public:
  void clear() { verdicts_.clear(); }
  // `serial`: of the kind, as numbers are given again. `ask`: bool(), called where it is not known.
  template <class Ask>
  bool counts(PodKinds::Number number, std::uint32_t serial, Ask ask) {
    if (number >= verdicts_.size()) verdicts_.resize(number + 1);
    Verdict& verdict = verdicts_[number];
    if (verdict / 2 != known(serial, false) / 2) verdict = known(serial, ask());
    return verdict % 2 == 1;
  }
  // True when it was asked for, and they do not.
  bool is_out(PodKinds::Number number, std::uint32_t serial) const {
    return number < verdicts_.size() && verdicts_[number] == known(serial, false);
  }
  std::size_t bytes() const { return verdicts_.capacity() * sizeof(Verdict); }

 private:
  // 0: not known. Otherwise the kind's serial number, which needs 31 bits; lowest bit: it counts.
  using Verdict = std::uint32_t;
  static Verdict known(std::uint32_t serial, bool counts) { return serial << 1 | (counts ? 1U : 0U); }
  std::vector<Verdict> verdicts_;  // by number
};

}  // namespace berth
