// berthctl enroll: gives a device (or an operator, or a gateway) its account at a mosquitto of one's own: the broker's
// password and access lines, and the files that go to the device, in one step. Run on the broker's machine, as root.
#pragma once

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

// An account that is there already gets a new password or certificate; the old one ends with the reload.
Outcome<void> run_enroll(const EnrollOptions& options, const Screen& screen);

}  // namespace berth
