#include "firmware-host/agent/stop_signal.h"

#include <charconv>
#include <csignal>
#include <cstring>
#include <string>
#include <tuple>

namespace berth {

namespace {

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int> real_time_signal(std::string_view text) {
  for (const auto& [name, base, direction] : {std::tuple{"RTMIN", SIGRTMIN, 1}, {"RTMAX", SIGRTMAX, -1}}) {
    if (!text.starts_with(name)) continue;
    const std::string_view rest = text.substr(std::strlen(name));
    if (rest.empty()) return base;
    if (rest.front() != (direction > 0 ? '+' : '-')) return std::nullopt;
    const std::optional<int> steps = number_in(rest.substr(1));
    if (!steps || *steps < 0) return std::nullopt;
    const int number = base + direction * *steps;
    if (number < SIGRTMIN || number > SIGRTMAX) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> signal_number(std::string_view text) {
  if (const std::optional<int> number = number_in(text)) {
    if (*number > 0 && *number < NSIG) return number;
    return std::nullopt;
  }
  if (text.starts_with("SIG")) text.remove_prefix(3);
  if (text.empty()) return std::nullopt;
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* name = sigabbrev_np(number);
    if (name != nullptr && text == name) return number;
  }
  return real_time_signal(text);
}

}  // namespace berth
