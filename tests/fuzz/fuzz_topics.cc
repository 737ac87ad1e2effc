// Any bytes as a topic, name, quantity, timestamp or epoch.
#include "core/api/names.h"
#include "core/api/quantity.h"
#include "core/api/timestamp.h"
#include "core/check.h"
#include "core/handshake/epoch.h"
#include "core/handshake/topics.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const Topics topics("f");
  const std::string topic = topics.root() + std::string(text);
  std::size_t total = 0;
  for (const std::string_view level : topics.split(topic)) total += level.size() + 1;
  CHECK(total <= text.size() + 1);
  static_cast<void>(topics.split(text));
  static_cast<void>(is_valid_name(text));
  if (const auto quantity = Quantity::parse(text)) {
    const auto again = Quantity::parse(quantity->to_text());
    CHECK(again.has_value());
  }
  if (const auto epoch = parse_epoch(text)) CHECK(*parse_epoch(to_text(*epoch)) == *epoch);
  static_cast<void>(parse_timestamp(text));
  return 0;
}
