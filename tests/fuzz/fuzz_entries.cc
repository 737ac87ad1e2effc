// Any bytes as data from the journal: as an entry, as the compressed part of one, and as its changes. All of them must
// be read or reported as damaged; what was read must be unchanged when written and read again.
#include <vector>

#include "core/check.h"
#include "storage/entry.h"
#include "storage/squeeze.h"

namespace berth::fuzz {
namespace {

struct Known {
  Op op;
  Table table;
  std::string key;
  std::string value;
  int phase;
  bool operator==(const Known&) const = default;
};

// None: damaged.
std::optional<std::vector<Known>> read(std::string_view changes) {
  std::vector<Known> known;
  const bool complete = each_change(changes, [&known](const ChangeView& change) {
    known.push_back({change.op, change.table, change.key(), std::string(change.value), change.phase});
  });
  return complete ? std::optional(std::move(known)) : std::nullopt;
}

void write_again(std::string_view changes) {
  const auto known = read(changes);
  if (!known) return;
  ByteWriter out;
  for (const Known& each : *known) write_change(out, each.op, each.table, each.key, each.value, each.phase);
  const auto opened = open_entry(seal_entry(out.take()));
  CHECK(opened.has_value());
  CHECK(read(*opened) == known);
}

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  CHECK(unsqueeze(squeeze(text)) == text);
  CHECK(open_entry(seal_entry(text)) == text);
  if (const auto changes = open_entry(text)) fuzz::write_again(*changes);
  if (const auto plain = unsqueeze(text)) fuzz::write_again(*plain);
  fuzz::write_again(text);
  return 0;
}
