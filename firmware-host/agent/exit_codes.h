// How berth-agent ends, for its supervisor (sysexits.h has the numbers).
#pragma once

namespace berth {

inline constexpr int kExitOk = 0;         // asked to end by SIGINT or SIGTERM; workloads keep running
inline constexpr int kExitUsage = 64;     // command line or configuration wrong: starting again does not help
inline constexpr int kExitStore = 70;     // the store cannot be written: start again, it will be read anew
inline constexpr int kExitMachine = 71;   // the system refused something (directories, descriptors)
inline constexpr int kExitOccupied = 75;  // another agent has this state directory

inline constexpr const char* kExitCodesText =
    "Exit codes: 0 asked to end; 64 wrong command line or configuration; 70 the store cannot be written (start "
    "again);\n"
    "71 the system refused something; 75 another agent uses the state directory.\n"
    "Workloads keep running when the agent ends; the next one takes them over.";

}  // namespace berth
