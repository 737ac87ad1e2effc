// How berthd ends, for its supervisor (sysexits.h has the numbers).
#pragma once

namespace berth::gateway_exit {

inline constexpr int kOk = 0;         // asked to end by SIGINT or SIGTERM
inline constexpr int kUsage = 64;     // command line or configuration wrong: starting again does not help
inline constexpr int kStore = 70;     // a commit failed: start again, the store will be read anew
inline constexpr int kMachine = 71;   // the system refused something (directories, the broker program)
inline constexpr int kOccupied = 75;  // another gateway has this state directory

inline constexpr const char* kText =
    "Exit codes: 0 asked to end; 64 wrong command line or configuration; 70 a commit failed (start again);\n"
    "71 the system refused something; 75 another gateway uses the state directory.";

}  // namespace berth::gateway_exit
