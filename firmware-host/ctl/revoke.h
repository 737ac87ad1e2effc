// berthctl revoke: takes an account away from your own mosquitto at once: its password, certificate and ACL entries,
// and its session. Run it on the broker's machine, as root.
#pragma once

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

struct Withdrawn {
  bool passwords = false;
  bool certificates = false;  // mosquitto needs a restart
};
// Makes every password and certificate of the name invalid; its ACL entries stay. A certificate that an earlier version
// issued is in no record and stays valid: the screen's `err` says so.
Outcome<Withdrawn> withdraw_credentials(const EnrollOptions& options, const Screen& screen);

Outcome<void> run_revoke(const EnrollOptions& options, const Screen& screen);

}  // namespace berth
