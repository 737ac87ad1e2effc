// Variables, and the expansion of $(NAME) in texts of a manifest (third_party/forked/golang/expansion).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

using Variables = std::vector<std::pair<std::string, std::string>>;  // each name once

// The longest text that every Linux takes as one argument or variable, its end included (execve(2), MAX_ARG_STRLEN).
inline constexpr std::size_t kMostArgumentBytes = 128 * 1024;

// Replaces it, or adds it at the end.
void set_variable(Variables& variables, const std::string& name, std::string value);
// Null: there is none. Valid until `variables` changes.
const std::string* find_variable(const Variables& variables, std::string_view name);

// Puts value_of(NAME) in place of each $(NAME); $$ is a literal $, and what is not closed stays as it is. A result that
// would be longer than kMostArgumentBytes ends soon after: no program could be given it, and texts that refer to each
// other double at each step.
std::string expand(std::string_view text, const std::function<std::string(const std::string& name)>& value_of);
// The same with these; unknown names are left unchanged.
std::string expand_variables(const std::string& text, const Variables& known);

}  // namespace berth
