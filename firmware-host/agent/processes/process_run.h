// Starts plain processes as children of a keeper: as they are, or in a ProcessPlace.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/container_starter.h"
#include "firmware-host/agent/processes/process_place.h"

namespace berth {

struct ProcessStart {
  std::vector<std::string> programs;   // paths, not empty: the first one that can be executed is
  std::vector<std::string> arguments;  // the first one is the name that it sees
  std::vector<std::string> env;        // "NAME=value"
  std::string directory;
  bool has_errors = true;               // its standard error has a pipe of its own
  const ProcessPlace* place = nullptr;  // null: it stays where the keeper is, as who that is
  // Asked when it has exited; null: it has no limit.
  std::function<bool()> is_out_of_memory;
};

// What execvp(3) would try for a command, with a PATH.
std::vector<std::string> programs_for(const std::string& command, std::string_view search_path);
// Between vfork(2) and exec: becomes the first of the programs that can be executed. Lists end with a null. Returns the
// error number of what has stood in the way most: a program that is there and may not be executed.
int execute_first(char* const* programs, char* const* arguments, char* const* environment);

// The process leads a process group of its own and is killed when the keeper exits. The error names the working
// directory or the command.
Result<StartedRun> start_process(ProcessStart start);

}  // namespace berth
