// OciRun: one run of one container by an OCI runtime, without waiting for anything (runtime-spec, "Runtime and
// Lifecycle").
//
//   begin() ─▶ creating ──▶ starting ──▶ running ──its first process ends──▶ removing ──▶ ended
//                 │ failed     │ failed      │ kill()                           ▲
//                 └────────────┴─────────────┴──────────────────────────────────┘
//
// Create, start and delete are processes of the runtime's program. The caller reaps all its children, and passes on how
// each ended. It is the subreaper of what it starts (PR_SET_CHILD_SUBREAPER): the first process of a container is left
// behind by the program that created it, and becomes the caller's child. Destroying it leaves the container alone.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

class OciRun {
 public:
  struct Place {
    std::string program;  // crun or runc, absolute
    std::string state;    // its --root: where it keeps its containers
    std::string bundle;   // the directory with config.json; files of its own are made there
    std::string id;       // of the container: unique below `state`
  };
  enum class Phase { creating, starting, running, removing, ended };

  // Descriptors for what the container writes, needed until begin() has returned.
  OciRun(Place place, int output, int errors) : place_(std::move(place)), output_(output), errors_(errors) {}
  OciRun(const OciRun&) = delete;
  OciRun& operator=(const OciRun&) = delete;

  // Once, first of all. An error: the program cannot be started.
  Status begin();
  // A child has ended, with a status of wait(2). False: it has nothing to do with this run.
  bool take_exit(pid_t process, int status);
  // To the container's first process, while it runs.
  void signal(int number) const;
  // Ends the container and all that is in it, whatever it is doing now. The second time, a program of the runtime that
  // does not come to an end too.
  void kill();

  Phase phase() const { return phase_; }
  // Of its first process; 0: not known yet.
  pid_t process() const { return process_; }
  // Why it did not come to run, or could not be removed; empty: neither.
  const std::string& failure() const { return failure_; }
  // Of its first process, as of wait(2); once it has ended without failure.
  int status() const { return status_; }

 private:
  Status execute(std::vector<std::string> arguments, int output = -1, int errors = -1);
  void take_created();
  void remove();
  void fail(const std::string& command);
  void note_failure(const std::string& command);
  std::string file(const char* name) const { return place_.bundle + "/" + name; }

  const Place place_;
  const int output_;
  const int errors_;
  Phase phase_ = Phase::creating;
  pid_t program_ = 0;  // the runtime's that runs now; 0: none
  pid_t process_ = 0;
  bool has_ended_ = false;  // its first process
  bool is_killed_ = false;
  int status_ = 0;
  std::string failure_;
};

}  // namespace berth
