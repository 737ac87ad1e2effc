// What an operator opens a stream for (transports/README.md, Streams): one of these in each frame `open`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "core/handshake/fields.h"
#include "core/json/json.h"

namespace berth {

// The log of one container.
struct LogQuery {
  std::string uid = {};                    // of the pod
  std::string pod = {};                    // "<namespace>/<name>", for people
  std::string container = {};              // empty: the pod's first one
  bool follow = false;                     // goes on until the container ends
  bool previous = false;                   // of the run before
  std::optional<std::uint64_t> tail = {};  // the last lines only
  std::optional<Millis> since_ms = {};     // lines that are not older
  std::string from = {};                   // a position: what comes behind it; tail and since_ms do not count then
  bool operator==(const LogQuery&) const = default;
};

struct TerminalSize {
  int rows = 0;  // 0: not known
  int columns = 0;
  bool operator==(const TerminalSize&) const = default;
};

// A command in a container that runs.
struct ExecQuery {
  std::string uid = {};
  std::string pod = {};
  std::string container = {};  // empty: the pod's first one
  std::vector<std::string> command = {};
  bool input = false;     // it has a standard input
  bool terminal = false;  // and that, and its output, are a terminal
  TerminalSize size = {};
  bool operator==(const ExecQuery&) const = default;
};

// A TCP connection to a port of the pod, on its loopback address.
struct ForwardQuery {
  std::string uid = {};
  std::string pod = {};
  int port = 0;
  bool operator==(const ForwardQuery&) const = default;
};

// What the node and its pods use (usage_report.h of the agent).
struct UsageQuery {
  bool operator==(const UsageQuery&) const = default;
};

// An archive of images for the device's image store, which the operator sends.
struct LoadQuery {
  std::string name = {};                    // of the only image in it; empty: those that the archive says
  std::optional<std::uint64_t> bytes = {};  // that will come; none: not known
  bool operator==(const LoadQuery&) const = default;
};

using StreamQuery = std::variant<LogQuery, ExecQuery, ForwardQuery, UsageQuery, LoadQuery>;

inline constexpr std::size_t kStreamTextBytes = 512;  // of a position, a reason, the name of a pod or container

// Adds the member that says which it is.
void add_query(const StreamQuery& query, Json& frame);
// Of a frame `open`. `fields` tells which member is wrong.
StreamQuery read_query(Fields& fields);

// Optional members: a text of at most kStreamTextBytes; false if absent.
std::string read_short(Fields& fields, std::string_view key);
bool read_flag(Fields& fields, std::string_view key);
// From 0 to 65535; absent: 0.
int read_small(Fields& fields, std::string_view key);

}  // namespace berth
