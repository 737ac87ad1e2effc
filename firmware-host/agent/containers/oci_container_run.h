// A container of a pod, and a command in one, as runs of an OCI runtime.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "firmware-host/agent/container_run.h"
#include "firmware-host/agent/oci/oci_run.h"
#include "firmware-host/real_clock.h"

namespace berth {

class OciContainerRun final : public ContainerRun {
 public:
  // `out_of_memory` is asked once, when the first process has ended and its control group is still there.
  OciContainerRun(OciRun::Place place, int output, int errors, std::string termination_message,
                  std::function<bool()> out_of_memory);

  Status begin() { return run_.begin(); }

  bool take_exit(pid_t child, int wait_status) override;
  bool has_begun() const override { return run_.phase() == OciRun::Phase::running; }
  bool has_ended() const override { return run_.phase() == OciRun::Phase::ended; }
  pid_t process() const override { return run_.process(); }
  void signal(int number) override;
  void kill() override;
  int status() const override { return run_.status(); }
  const std::string& failure() const override { return run_.failure(); }
  bool is_out_of_memory() const override { return is_out_of_memory_; }
  std::string termination_message() const override;

 private:
  OciRun run_;
  const std::string termination_message_;  // a file
  const std::function<bool()> out_of_memory_;
  RealClock clock_;
  std::optional<Millis> killed_at_;
  bool is_out_of_memory_ = false;
};

// A command, run by "exec" of the runtime, which ends with its exit code.
class OciExecRun final : public ContainerRun {
 public:
  // `process`: the process part of a configuration, as text; files for it are made below `directory` and removed.
  // `name`: unique there.
  static Result<std::unique_ptr<ContainerRun>> begin(const OciRun::Place& place, const std::string& name,
                                                     const std::string& process, int output);
  ~OciExecRun() override;

  bool take_exit(pid_t child, int wait_status) override;
  bool has_begun() const override { return true; }
  bool has_ended() const override { return status_.has_value(); }
  pid_t process() const override;
  void signal(int number) override;
  void kill() override;
  int status() const override { return status_.value_or(0); }
  const std::string& failure() const override { return failure_; }

 private:
  OciExecRun(pid_t program, std::string files) : program_(program), files_(std::move(files)) {}

  const pid_t program_;
  const std::string files_;  // their path without an ending
  std::optional<int> status_;
  const std::string failure_;
};

}  // namespace berth
