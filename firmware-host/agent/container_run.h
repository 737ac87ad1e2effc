// ContainerRun: one run of a container, or of a command in one, from the moment it is begun until nothing is left of
// it. The keeper, which is the parent or subreaper of all that belongs to it, reaps its children and passes on how they
// ended.
#pragma once

#include <sys/types.h>

#include <string>

namespace berth {

class ContainerRun {
 public:
  ContainerRun() = default;
  virtual ~ContainerRun() = default;
  ContainerRun(const ContainerRun&) = delete;
  ContainerRun& operator=(const ContainerRun&) = delete;

  // A child has exited and is not reaped yet: its pid cannot be another process's.
  virtual void note_exit(pid_t /*child*/) {}
  // It has been reaped, with a status of wait(2). False: it is none of this run's.
  virtual bool take_exit(pid_t child, int wait_status) = 0;
  // Its first process has begun.
  virtual bool has_begun() const = 0;
  virtual bool has_ended() const = 0;
  // Of its first process; 0: not known, or there is none.
  virtual pid_t process() const = 0;
  // To its first process, and to what is in its group.
  virtual void signal(int number) = 0;
  // Ends it and all that belongs to it. May be repeated.
  virtual void kill() = 0;
  // Once it has ended: the status of its first process, as of wait(2).
  virtual int status() const = 0;
  // Once it has ended: why its first process could not be run. Empty: it was run.
  virtual const std::string& failure() const = 0;
  // Once it has ended: the kernel has ended one of its processes since it used too much memory.
  virtual bool is_out_of_memory() const { return false; }
  // Once it has ended: what it has left as its message. Bytes of any kind.
  virtual std::string termination_message() const { return {}; }
};

}  // namespace berth
