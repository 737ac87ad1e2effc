// The result of replaying a recorded case, and helpers to read such cases.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace berth {

struct Verdict {
  int same = 0;                          // records that match
  std::vector<std::string> differences;  // of the others: "<pod or step>: <field>: got ..., want ..."
  std::map<std::string, int> left_out;   // records that need a missing feature, by its name
  std::map<std::string, int> intended;   // records that deviate on purpose (core/README.md), by deviation
};

// One function per kind of family. A difference may end a case if later records depend on it.
Verdict replay_decisions(const Json& test_case);
Verdict replay_queue(const Json& test_case);
Verdict replay_hint(const Json& test_case);
Verdict replay_extension_points(const Json& test_case);
Verdict replay_cron_schedule(const Json& test_case);
Verdict replay_controllers(const Json& test_case);

// The member, or null JSON if it is absent.
const Json& at(const Json& json, std::string_view key);
std::string text(const Json& json);                       // "" if it is not a string
const Json::Array& list(const Json& json);                // empty if it is not an array
std::vector<std::string> strings(const Json& json);       // of an array
std::int64_t number(const Json& json);                    // 0 if it is not an integer
bool flag(const Json& json);                              // false if it is not a boolean
std::string show(const std::vector<std::string>& parts);  // "[a, b]"

}  // namespace berth
