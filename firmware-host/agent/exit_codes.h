// Exit codes of berth-agent, for its supervisor (numbers as in sysexits.h).
#pragma once

namespace berth {

inline constexpr int kExitOk = 0;         // stopped by SIGINT or SIGTERM; workloads keep running
inline constexpr int kExitUsage = 64;     // invalid command line or configuration: a restart does not help
inline constexpr int kExitStore = 70;     // the store cannot be written: restart to read it again
inline constexpr int kExitMachine = 71;   // a system error (directories, descriptors)
inline constexpr int kExitOccupied = 75;  // another agent uses this state directory

inline constexpr const char* kExitCodesText =
    "Exit codes: 0 stopped by a signal; 64 invalid command line or configuration; 70 the store cannot be written\n"
    "(restart); 71 system error; 75 another agent uses the state directory.\n"
    "Workloads keep running when the agent exits; the next one takes them over.";

}  // namespace berth
