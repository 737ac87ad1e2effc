// TLS of the embedded broker: its authority and its own certificate, in <state>/broker/tls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace berth {

// Whether the broker of this mosquitto.conf served devices without TLS beyond loopback: the devices of an installation
// from before TLS connect so, and stay connected until the operator decides otherwise.
bool served_plaintext(std::string_view config);

// Names and addresses by which devices may reach this machine: `configured`, host name, addresses of its interfaces.
std::vector<std::string> names_of_machine(const std::vector<std::string>& configured);

// Makes the authority unless it exists, and a certificate for the broker if there is none, a third of its life is left,
// it is not valid yet, or it lacks one of the names, those of add_server_name() included. True: there is a new
// certificate. Takes some hundred milliseconds then.
Result<bool> settle_server_certificate(const std::string& dir, const std::vector<std::string>& names);

// Writes the list of revoked certificates again if it is not valid yet, because the clock was ahead: the broker accepts
// no certificate of a device then. True: it was so.
Result<bool> settle_revocations(const std::string& dir);
// Why no device accepts any certificate of this authority, which cannot be mended here. Empty: they do.
std::string problem_of_authority(const std::string& dir);

// The broker's certificate in `dir`, which exists, names this name or address from now on, whoever makes it again.
// True: there is a new certificate. An error if it would have to be made again, and somebody else made it.
Result<bool> add_server_name(const std::string& dir, const std::string& name);

}  // namespace berth
