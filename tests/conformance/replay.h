// Replays one conformance case with the default profile and says where the answers differ.
#pragma once

#include <string>

#include "core/api/json.h"

namespace berth {

struct Verdict {
  enum class Kind { passed, failed, not_covered } kind = Kind::passed;
  std::string why;  // the first difference, or what is not covered
};

Verdict replay(const Json& test_case);

}  // namespace berth
