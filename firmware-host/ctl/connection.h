// Connection: where the gateway is and how to log in, put together from the command line, --config and --state-dir.
#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "firmware-host/ctl/options.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

struct Connection {
  std::string host = "127.0.0.1";
  std::uint16_t port = 1883;
  std::string username;
  std::string password;
  std::string ca_file;  // not empty: TLS
  std::string cert_file;
  std::string key_file;
  std::string fleet = "default";
  std::string gateway = "gateway";
  std::string identity = "operator";
  std::string name_space = "default";  // of what names none
  Millis timeout_ms = 10'000;

  std::string broker() const { return host + ":" + std::to_string(port); }
};

// Reads the files that the options name. Exit::usage for what is wrong in them, Exit::unreachable when the state
// directory has no running broker.
Outcome<Connection> resolve_connection(const ConnectionOptions& options);

// Every reason of a failure, a line each.
std::string lines_of(const Status& status);

// The whole file; "-" is standard input. Exit::usage when it cannot be read.
Outcome<std::string> read_text_file(const std::string& path);

}  // namespace berth
