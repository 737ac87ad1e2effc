// Replays one conformance case with the default profile and says where the answers differ.
#pragma once

#include <map>
#include <string>

#include "core/api/json.h"

namespace berth {

struct Verdict {
  int same = 0;                         // records that matched
  std::map<std::string, int> left_out;  // records that need what is not here, by what that is
  std::string difference;               // of the first record that did not match; the rest of the case depends on it
};

// Records that are left out still take effect as recorded, so that those after them can be compared.
Verdict replay(const Json& test_case);

}  // namespace berth
