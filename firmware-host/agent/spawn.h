// Executing a program as a child that is like any other, whatever this process has done to its signals.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

// As execve(2) takes them, with the null at the end; they point into `texts`.
std::vector<char*> to_pointers(const std::vector<std::string>& texts);

// Descriptors of the child's input and outputs; -1: /dev/null.
struct SpawnFiles {
  int input = -1;
  int output = -1;
  int errors = -1;
};

// `program`: its path. `arguments`: the first one is the name that it sees. `environment`: "NAME=value"; null: that of
// this process. No signal is blocked or ignored in it. The error says why it cannot be executed.
Result<pid_t> spawn(const std::string& program, const std::vector<std::string>& arguments,
                    const std::vector<std::string>* environment, const SpawnFiles& files);

}  // namespace berth
