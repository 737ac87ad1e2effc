// Finds commits that were lost to damage of the write-ahead log. SQLite ends the log without a word at the first frame
// whose checksum does not fit, since a power cut leaves such a frame where the last transaction was being written. But
// a bit that flips in the middle of the log does the same, and all later commits are gone.
//
// Every commit is synced before the next transaction is written (synchronous=FULL), so a power cut can spoil frames of
// the last transaction only: no frame that continues a commit lies behind. Checksums are cumulative, and each frame
// stores the sum that the next one continues from. A frame behind the first bad one that continues a commit is
// therefore proof that this commit was on the disk. Frames of an earlier use of the log carry another salt.
//
// Not to be told from a power cut: damage to the last transaction alone.
#pragma once

#include <string>

#include "storage/database.h"

namespace berth {

// What is wrong; empty: no commit is known to be lost. `database` has been read from, and not written to. Reads the log
// once, like SQLite's own recovery, and keeps no more than a page of it.
DatabaseResult<std::string> find_lost_commits(Database& database);

}  // namespace berth
