// What replaying one recorded case found, and the reading of such cases that every family shares.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace berth {

struct Verdict {
  int same = 0;                          // records that matched
  std::vector<std::string> differences;  // of those that did not: "<pod or step>: <field>: got ..., want ..."
  std::map<std::string, int> left_out;   // records that need what is not here, by what that is
  std::map<std::string, int> wanted;     // deviations listed in core/README.md, by name
};

// One replay per kind of family. A difference may end the case when what follows depends on it.
Verdict replay_decisions(const Json& test_case);
Verdict replay_queue(const Json& test_case);
Verdict replay_hint(const Json& test_case);
Verdict replay_extension_points(const Json& test_case);

// The member, or null JSON when there is none.
const Json& at(const Json& json, std::string_view key);
std::string text(const Json& json);                       // "" when it is no string
const Json::Array& list(const Json& json);                // empty when it is no array
std::vector<std::string> strings(const Json& json);       // of an array
std::int64_t number(const Json& json);                    // 0 when it is no integer
bool flag(const Json& json);                              // false when it is no boolean
std::string show(const std::vector<std::string>& parts);  // "[a, b]"

}  // namespace berth
