// ProcessNamespace: one for the processes of all containers of a pod (spec.shareProcessNamespace). Its first process is
// a child of this one that does nothing but take the exits of orphans; with it the kernel ends all others. It goes with
// this object, and with this process, whatever that dies of.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/status.h"

namespace berth {

class ProcessNamespace {
 public:
  ProcessNamespace() = default;
  ~ProcessNamespace();
  ProcessNamespace(const ProcessNamespace&) = delete;
  ProcessNamespace& operator=(const ProcessNamespace&) = delete;

  // Makes it where there is none, or where its first process has died. This process has one thread.
  Status make();
  // False: the child is another one.
  bool take_exit(pid_t child);
  // As a path to join (pid_namespaces(7)); made before.
  std::string path() const { return "/proc/" + std::to_string(first_) + "/ns/pid"; }

 private:
  pid_t first_ = 0;  // 0: there is none
};

}  // namespace berth
