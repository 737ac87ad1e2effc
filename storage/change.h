// One staged change of a store, and the contents that a sequence of changes produces. All stores in this folder share
// these rules, so that they cannot differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store.h"

namespace berth {

// Numbers are on flash: never renumber.
enum class Op : std::uint8_t { put = 1, erase = 2, begin = 3, advance = 4 };

struct Change {
  Op op = Op::put;
  Table table = Table::meta;
  std::string key;
  std::string value;  // put and begin
  int phase = 0;      // begin and advance
};

inline constexpr std::size_t kKeyMax = 4096;  // bytes; a namespace and a name, or a uid, take 507 at most
inline constexpr int kPhaseMax = 255;

// Nothing else may be staged, and nothing else is accepted from a journal: the next start would report it as damage.
constexpr bool is_storable(std::size_t key_bytes, int phase) {
  return key_bytes <= kKeyMax && phase >= 0 && phase <= kPhaseMax;
}

struct Content {
  std::string value;
  int phase = 0;
  bool operator==(const Content&) const = default;
};

using Contents = std::map<std::pair<Table, std::string>, Content>;

// put keeps the phase of an existing record; erase and advance of an unknown key do nothing.
void apply(Contents& contents, Change change);

// In (table, key) order, as Store::load() returns them.
std::vector<Record> to_records(Contents contents);

}  // namespace berth
