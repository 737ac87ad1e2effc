// berthctl revoke: takes an account away from your own mosquitto at once: its password, certificate and ACL entries,
// and its session. Run it on the broker's machine, as root.
#pragma once

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

Outcome<void> run_revoke(const EnrollOptions& options, const Screen& screen);

}  // namespace berth
