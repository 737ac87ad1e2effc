// The mosquitto listeners with TLS: berth.tls.conf in options.mosquitto_dir. By certificates, devices at one port and
// operators at the next one; by passwords, devices and operators at the two after these.
#pragma once

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

// The file is there.
bool has_listeners(const EnrollOptions& options);
// Writes the file if there is none, else updates it; `port` is that of devices with certificates. True: mosquitto needs
// a restart.
Outcome<bool> open_listeners(const EnrollOptions& options, int port, const Screen& screen);
// Writes the file of an earlier version again, with the port that it has: certificates that are revoked, and operators,
// are known only to listeners of this version. True: mosquitto needs a restart.
Outcome<bool> update_listeners(const EnrollOptions& options, const Screen& screen);
// Of installations from before TLS, which go on as they were.
void warn_of_plaintext(const EnrollOptions& options, const Screen& screen);

}  // namespace berth
