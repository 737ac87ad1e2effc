#include "tests/conformance/verdict.h"

namespace berth {

Verdict replay_hint(const Json& test_case) {
  Verdict verdict;
  verdict.left_out["not replayed yet"] = 1;
  static_cast<void>(test_case);
  return verdict;
}

}  // namespace berth
