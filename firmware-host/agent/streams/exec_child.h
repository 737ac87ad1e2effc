// ExecChild: a program that is run for an operator, as a child of the agent: with pipes or a terminal, in a session of
// its own, which is killed as a whole.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"
#include "core/streams/stream_query.h"
#include "firmware-host/agent/processes/process_place.h"

namespace berth {

struct ExecStart {
  std::vector<std::string> arguments;           // the first one is the program's path
  std::vector<std::string> programs;            // in place of that: paths, the first that can be executed is
  const std::vector<std::string>* environment;  // "NAME=value"; null: the agent's
  std::string directory;                        // empty: that of the agent
  pid_t mounts_of = 0;                          // a process whose mount namespace it sees; 0: the agent's
  const ProcessPlace* place = nullptr;          // in place of that: where it is, and who it is there
  bool is_workload = false;                     // it becomes the operator's command itself (child_limits.h)
  bool input = false;                           // otherwise /dev/null
  bool terminal = false;
  TerminalSize size = {};
};

struct ExecChild {
  pid_t pid = 0;
  int pidfd = -1;
  int input = -1;   // -1: it has none, or it is `output`, a terminal
  int output = -1;  // non-blocking, as all
  int errors = -1;  // -1: they are in `output`
};

// The caller owns the descriptors, and waits for the child. The error says what cannot be run.
Result<ExecChild> start_exec(const ExecStart& start);

void set_size(int terminal, TerminalSize size);

// SIGKILL to each process of the session that `leader` began.
void kill_session(pid_t leader);

}  // namespace berth
