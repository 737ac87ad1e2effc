// How a registry asks for credentials (distribution specification; its token authentication), and how curl(1) is told
// what to answer: by a configuration that it reads, since a command line is seen by everybody.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "firmware-host/agent/images/registry_keyring.h"

namespace berth {

struct RegistryChallenge {
  bool is_bearer = false;  // or basic
  std::string realm;       // where tokens are given
  std::string service;
};

// Of the answer to GET /v2/, its head as it was received, with those of redirections before it. None: nothing that is
// known here is asked for.
std::optional<RegistryChallenge> read_challenge(std::string_view head);
// The status of the last answer in it; 0: there is none.
int http_status_of(std::string_view head);
// From the answer of a token server; empty: it has none.
std::string read_token(std::string_view json);

// One line of curl's configuration: `option = "value"`. Values come from elsewhere: none can end its line.
std::string curl_option(std::string_view option, std::string_view value);
// The URL of the request for a token to pull from the repository, in curl's configuration.
std::string token_request(const RegistryChallenge& challenge, const std::string& repository,
                          const std::optional<Credential>& credential);

}  // namespace berth
