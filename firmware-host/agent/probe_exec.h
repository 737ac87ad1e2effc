// ExecCheck: a command in the container. Exit code 0 is success (pkg/probe/exec/exec.go).
#pragma once

#include <memory>
#include <string>

#include "firmware-host/agent/probe_check.h"

namespace berth {

class ExecCheck final : public Check {
 public:
  // As the kubelet's maxReadLength: what a command says beyond it is read and thrown away, so that it can go on.
  static constexpr std::size_t kOutputBytesMax = 10 * 1024;

  ExecCheck(const HandlerPlan& handler, const CheckSite& site);
  ~ExecCheck() override;  // kills it if it has not ended

  void on_ready() override;
  bool on_exit(pid_t pid, int wait_status) override;
  std::string timed_out(Millis after) const override;

 private:
  const HandlerPlan& handler_;
  std::unique_ptr<ContainerRun> run_;  // null: it has ended, or could not be run
  std::string output_;
};

}  // namespace berth
