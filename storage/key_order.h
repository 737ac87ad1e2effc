// Sorts keys faster than by comparing them pairwise: a start sorts a hundred thousand of them, which share long
// prefixes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace berth {

// `numbers` in the order of their keys. A key stays valid while they are sorted.
using KeyOf = std::function<std::string_view(std::uint32_t number)>;
std::vector<std::uint32_t> in_key_order(std::vector<std::uint32_t> numbers, const KeyOf& key_of);

}  // namespace berth
