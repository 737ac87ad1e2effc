#include "core/handshake/epoch.h"

#include <charconv>

#include "core/handshake/fields.h"

namespace berth {

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string to_text(const Epoch& epoch) { return std::to_string(epoch.term) + "." + std::to_string(epoch.counter); }

Result<Epoch> parse_epoch(std::string_view text) {
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos) {
    const auto term = parse_u64(text.substr(0, dot));
    const auto counter = parse_u64(text.substr(dot + 1));
    if (term && counter) return Epoch{*term, *counter};
  }
  std::string reason = "\"";
  return Status::error(reason.append(text.substr(0, 50)).append("\" is not an epoch; write \"<term>.<counter>\""));
}

}  // namespace berth
