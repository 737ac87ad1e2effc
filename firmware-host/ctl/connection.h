// Connection: address of the gateway and credentials, from the command line, --config and --state-dir.
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
  std::string name_space = "default";  // for objects without a namespace
  Millis timeout_ms = 10'000;

  std::string broker() const { return host + ":" + std::to_string(port); }
};

// Reads the files that the options name. Exit::usage for errors in them, Exit::unreachable if the state directory has
// no running broker.
Outcome<Connection> resolve_connection(const ConnectionOptions& options);

// All reasons of a failure, one per line.
std::string lines_of(const Status& status);

// Reads a file; "-" is standard input. Exit::usage if it cannot be read.
Outcome<std::string> read_text_file(const std::string& path);

}  // namespace berth
