// Suggests what a misspelt word was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

// "; did you mean spec?", with the name that `text` is most likely a misspelling of; empty if none is similar.
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& names);

}  // namespace berth
