// Epoch: identifies one placement of one pod. (term, counter), compared in that order; never reused
// (core/handshake/rules.md).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

struct Epoch {
  std::uint64_t term = 0;
  std::uint64_t counter = 0;
  auto operator<=>(const Epoch&) const = default;
  bool is_zero() const { return term == 0 && counter == 0; }
};

// "<term>.<counter>", as in messages and record keys.
std::string to_text(const Epoch& epoch);
Result<Epoch> parse_epoch(std::string_view text);

// Terms are below; no fault uses them up, but somebody may say so.
inline constexpr std::uint64_t kTermMax = std::uint64_t{1} << 62;

// Identifies the store of the gateway that sends. The same term with another store id is another gateway.
struct GatewayId {
  std::uint64_t term = 0;
  std::string store_id;  // random at the first boot of the store
  auto operator<=>(const GatewayId&) const = default;
};

}  // namespace berth
