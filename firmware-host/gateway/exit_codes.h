// Exit codes of berthd, for its supervisor (numbers as in sysexits.h).
#pragma once

namespace berth::gateway_exit {

inline constexpr int kOk = 0;         // stopped by SIGINT or SIGTERM
inline constexpr int kUsage = 64;     // invalid command line or configuration: a restart does not help
inline constexpr int kStore = 70;     // a commit failed: restart to read the store again
inline constexpr int kMachine = 71;   // a system error (directories, the broker program)
inline constexpr int kOccupied = 75;  // another gateway uses this state directory

inline constexpr const char* kText =
    "Exit codes: 0 stopped by a signal; 64 invalid command line or configuration; 70 a commit failed (restart);\n"
    "71 system error; 75 another gateway uses the state directory.";

}  // namespace berth::gateway_exit
