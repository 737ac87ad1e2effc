// berthctl enroll: creates the account of a device (or an operator, or a gateway) at your own mosquitto: the broker's
// password and ACL entries, and the files for the device, in one step. Run it on the broker's machine, as root.
#pragma once

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

// An existing account gets a new password or certificate; the old one becomes invalid with the reload.
Outcome<void> run_enroll(const EnrollOptions& options, const Screen& screen);

}  // namespace berth
