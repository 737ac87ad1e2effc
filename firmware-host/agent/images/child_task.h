// ChildTask: work that would block the loop, in a forked child, which tells its result by an exit code and a text.
// It ends with this process, or with the object: nothing that it does is worth finishing without whoever asked for it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/fd_watch.h"

namespace berth {

struct ChildEnd {
  int code = 0;      // exit code; below 0: it was killed
  std::string text;  // the end of what it wrote, at most ChildTask::kKept bytes
};

class ChildTask {
 public:
  static constexpr std::size_t kKept = 4096;
  // Called in the child, with the descriptor that its text goes to; returns the exit code. Standard input and output
  // are /dev/null there, signals are as at the start of a program, and all other descriptors are closed.
  using Work = std::function<int(int text_fd)>;
  // May destroy the task.
  using OnEnd = std::function<void(ChildEnd end)>;

  // The context must outlive the task. After an error no process is left behind.
  static Result<std::unique_ptr<ChildTask>> start(asio::io_context& context, const Work& work, OnEnd on_end);
  // Kills the child, and the processes that it has started, if it still runs. on_end is not called then.
  ~ChildTask();
  ChildTask(const ChildTask&) = delete;
  ChildTask& operator=(const ChildTask&) = delete;

 private:
  ChildTask(asio::io_context& context, pid_t pid, int pidfd, int text_fd, OnEnd on_end);
  void read_text();
  void end();

  pid_t pid_;
  OnEnd on_end_;
  std::string text_;
  std::unique_ptr<FdWatch> text_watch_;
  std::unique_ptr<FdWatch> exit_watch_;  // null: it has ended
};

// Becomes the program; its standard error is the task's text. The exit code is 127 when it cannot be started, with a
// text that says why. `secret`: the program can read it from the file kSecretFile, which only it has; it is on no disk
// and no command line, and gone with the program.
inline constexpr const char* kSecretFile = "/proc/self/fd/3";
ChildTask::Work executing(std::vector<std::string> arguments, std::string secret = {});

// Deletes trees. Code 1: one could not be deleted.
ChildTask::Work deleting(std::vector<std::string> directories);

// Writes as much of a text as can be written.
void write_text(int fd, std::string_view text);

}  // namespace berth
