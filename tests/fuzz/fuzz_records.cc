// Any bytes as the contents of a store: lines "<table digit> <key> <phase digit> <value>". A gateway and an agent must
// read them, or reject them with a reason.
#include <memory>

#include "core/agent/records.h"
#include "core/check.h"
#include "core/gateway/gateway.h"
#include "core/handshake/row.h"
#include "plugins/registry.h"
#include "storage/change.h"
#include "storage/memory_store.h"
#include "tests/fuzz/environment.h"

namespace berth::fuzz {
namespace {

void read_as_gateway(MemoryStore& store) {
  GatewayOptions options;
  options.profiles.push_back(default_profile());
  const Registry registry = in_tree_registry();
  HandClock clock;
  NullLog log;
  RecordingTransport transport;
  Timers timers;
  Gateway gateway(options, registry, clock, transport, store, timers, log);
  if (!gateway.start().is_success()) return;
  CHECK(gateway.finish_turn().is_success());
  transport.up = true;
  gateway.on_link(true);
  CHECK(gateway.finish_turn().is_success());
}

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace berth;
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  MemoryStore store;
  for (std::size_t lines = 0; lines < fuzz::kLinesMax && !text.empty(); ++lines) {
    std::string_view line = fuzz::take(text, '\n');
    const std::string_view table = fuzz::take(line, ' ');
    const std::string key(fuzz::take(line, ' '));
    const std::string_view phase = fuzz::take(line, ' ');
    if (table.empty() || phase.empty()) continue;
    const int number = phase[0] - '0';
    const bool storable = is_storable(key.size(), number);  // other records cannot get into a store
    if (storable && table[0] == '3') {
      static_cast<void>(store.begin(key, std::string(line), number));
    } else if (storable) {
      store.put(static_cast<Table>(1 + (table[0] - '1') % 8u), key, std::string(line));
    }
    static_cast<void>(decode_row(line, number));
    static_cast<void>(decode_release_entry(line));
  }
  CHECK(store.commit().is_success());
  static_cast<void>(decode_records(store.load().value()));
  fuzz::read_as_gateway(store);
  return 0;
}
