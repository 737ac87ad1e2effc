#include "firmware-host/broker_address.h"

#include <charconv>

namespace berth {

namespace {

Status wrong(const std::string& text) {
  return Status::error("broker '" + text + "': expected HOST, HOST:PORT or [IPV6]:PORT");
}

}  // namespace

Status parse_broker(const std::string& text, BrokerSettings& broker) {
  const bool bracketed = text.starts_with('[');
  const std::size_t close = text.find(']');
  if (bracketed && close == std::string::npos) return wrong(text);
  const std::size_t colon = bracketed ? close + 1 : text.find(':');
  broker.host = bracketed ? text.substr(1, close - 1) : text.substr(0, colon);
  if (broker.host.empty()) return wrong(text);
  if (colon >= text.size()) return Status::ok();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, broker.port);
  if (text[colon] != ':' || error != std::errc() || stop != end || broker.port == 0) return wrong(text);
  return Status::ok();
}

}  // namespace berth
