// EndingCommands: ends commands whose streams have ended. The program that has started a command in a container must
// not be killed before it says which process the command is: that one may run already, in a session of its own, and
// would never end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/exit_collector.h"
#include "firmware-host/fd_watch.h"

namespace berth {

struct EndingCommand {
  pid_t child = 0;  // of the agent
  Descriptor pidfd;
  Descriptor output, errors;  // kept open meanwhile: the child would die of writing to a closed one
  // Kills the command, where the child is only the program that has started it. False: which one is not known yet.
  std::function<bool()> kill;
  int looks = 0;
};

class EndingCommands {
 public:
  // The context must outlive it.
  explicit EndingCommands(asio::io_context& context) : context_(context), ended_(context) {}

  // Kills and reaps it: at once, or as soon as the command is known or the child has exited. After 30 s it kills the
  // child nevertheless.
  void add(EndingCommand command);
  // True: too many are waited for, so that none should be started.
  bool is_full() const { return commands_.size() >= kCommandsMax; }

 private:
  static constexpr std::size_t kCommandsMax = 16;

  bool end(EndingCommand& command);
  void look();

  asio::io_context& context_;
  std::vector<EndingCommand> commands_;
  std::unique_ptr<FdWatch> clock_;  // while any is waited for
  ExitCollector ended_;
};

}  // namespace berth
