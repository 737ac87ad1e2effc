// berthctl backup and restore: the state directory of a gateway as one file, and back.
//
// A running berthd is not asked: it holds its database locked, and a copy made by it would delay its turns. Pages of
// the database change only when the write-ahead log is moved into it, and the log is overwritten only after that. So
// the database and then the log, copied before the log is begun again, are together what a power cut would have left.
#pragma once

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

// Needs the rights of berthd on this machine.
Outcome<void> run_backup(const BackupOptions& options, const Screen& screen);
// Checks the whole file before it changes anything. The gateway then starts in adopt mode (rule P11): what was placed
// since the backup is found on the devices.
Outcome<void> run_restore(const BackupOptions& options, const Screen& screen);

}  // namespace berth
