// Exit codes of berthctl, and the failure that a step returns to main.
#pragma once

#include <expected>
#include <string>

namespace berth {

enum class Exit : int {
  ok = 0,
  refused = 1,       // the gateway refused, a manifest is invalid, or there is no such object
  usage = 2,         // bad command line or configuration, or no valid manifest; nothing was sent
  unreachable = 3,   // no connection to the broker in time
  no_answer = 4,     // connected, but the gateway did not answer in time
  system = 71,       // a system error: the output cannot be written, no memory
  interrupted = 130  // SIGINT or SIGTERM, as a shell reports it
};

struct Failure {
  Exit exit = Exit::refused;
  std::string text;  // for people; may have several lines, without a trailing newline
};

template <class T>
using Outcome = std::expected<T, Failure>;

inline std::unexpected<Failure> fail(Exit exit, std::string text) {
  return std::unexpected<Failure>(Failure{exit, std::move(text)});
}

}  // namespace berth
