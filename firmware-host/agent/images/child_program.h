// ChildProgram: one program, run to its end by a child that may wait (child_task.h). Never call it in the agent itself,
// but at its start.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace berth {

struct ProgramRun {
  std::vector<std::string> arguments;
  std::string input;                  // at most 60 KiB
  std::string secret;                 // in the file kSecretFile; empty: there is none
  int output_fd = -1;                 // takes its standard output; below 0: it is returned
  std::int64_t most_file_bytes = -1;  // of each file that it writes (RLIMIT_FSIZE); below 0: not limited
  std::size_t most_output_bytes = 4 << 20;
};

struct ProgramEnd {
  int code = 0;  // below 0: it was killed
  std::string output;
  std::string error;  // the end of what it wrote to standard error
};

// `each_second` is called while it runs. It ends with the calling process.
ProgramEnd run_program(const ProgramRun& run, const std::function<void()>& each_second = {});

}  // namespace berth
