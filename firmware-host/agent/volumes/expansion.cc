#include "firmware-host/agent/volumes/expansion.h"

#include <algorithm>

namespace berth {

void set_variable(Variables& variables, const std::string& name, std::string value) {
  std::erase_if(variables, [&](const auto& variable) { return variable.first == name; });
  variables.emplace_back(name, std::move(value));
}

const std::string* find_variable(const Variables& variables, std::string_view name) {
  const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.first == name; });
  return found == variables.end() ? nullptr : &found->second;
}

std::string expand(std::string_view text, const std::function<std::string(const std::string& name)>& value_of) {
  std::string expanded;
  const std::size_t last_close = text.rfind(')');
  for (std::size_t i = 0; i < text.size() && expanded.size() <= kMostArgumentBytes; ++i) {
    const bool is_dollar = text[i] == '$' && i + 1 < text.size();
    if (is_dollar && text[i + 1] == '$') {
      expanded += '$';
      ++i;
    } else if (is_dollar && text[i + 1] == '(' && last_close != std::string_view::npos && i < last_close) {
      const std::size_t close = text.find(')', i);
      expanded += value_of(std::string(text.substr(i + 2, close - i - 2)));
      i = close;
    } else {
      expanded += text[i];
    }
  }
  return expanded;
}

std::string expand_variables(const std::string& text, const Variables& known) {
  return expand(text, [&](const std::string& name) {
    const std::string* value = find_variable(known, name);
    return value != nullptr ? *value : "$(" + name + ")";
  });
}

}  // namespace berth
