#include "core/handshake/protocol.h"

#include <limits>
#include <optional>

#include "core/handshake/fields.h"

namespace berth {

namespace {

std::optional<std::uint32_t> read_part(std::string_view text) {
  const std::optional<std::uint64_t> value = parse_u64(text);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

}  // namespace

std::string to_text(const ProtocolVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

Result<ProtocolVersion> read_protocol(const Json* member) {
  if (member == nullptr) return ProtocolVersion{};
  const std::string_view text = member->is_string() ? std::string_view(member->as_string()) : std::string_view();
  const std::size_t dot = text.find('.');
  const auto major = read_part(text.substr(0, dot));
  const auto minor = dot == std::string_view::npos ? std::nullopt : read_part(text.substr(dot + 1));
  if (major && minor && *major > 0) return ProtocolVersion{*major, *minor};
  return Status::error("protocol: must be \"<major>.<minor>\", such as \"" + to_text(kProtocol) + "\"");
}

bool serves(const ProtocolVersion& gateway, const ProtocolVersion& device) {
  return device.major == gateway.major || device.major == gateway.major - 1;
}

std::string why_not_served(const ProtocolVersion& gateway, const ProtocolVersion& device) {
  if (serves(gateway, device)) return {};
  const std::string before = gateway.major > 1 ? std::to_string(gateway.major - 1) + " and " : "";
  const std::string side = device.major > gateway.major ? "the gateway" : "the device's agent";
  return "its protocol " + to_text(device) + " is not supported: this gateway speaks " + to_text(gateway) +
         " and serves devices of " + before + std::to_string(gateway.major) + "; upgrade " + side;
}

}  // namespace berth
