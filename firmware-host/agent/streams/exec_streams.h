// ExecStreams: commands that operators run in containers of this device. In a container of an OCI runtime, by its
// "exec" with the container's own user, environment, capabilities and control group; in a plain process's, as a process
// with its environment and in its directory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/agent/rules.h"
#include "core/streams/stream_source.h"
#include "firmware-host/agent/pod_planner.h"
#include "firmware-host/agent/streams/ending_commands.h"
#include "firmware-host/agent/streams/exec_child.h"
#include "firmware-host/agent/streams/running_pod.h"

namespace berth {

class ExecStreams {
 public:
  // The slot of a pod by its uid; null: there is none.
  using SlotOf = std::function<const Slot*(const std::string& uid)>;

  // `pods`: the directory of the pods' directories. All must outlive it and the sources.
  ExecStreams(std::string pods, const PodPlanner& planner, SlotOf slot_of, asio::io_context& context);

  // Kills commands in containers that an earlier agent, which was killed itself, has left. Once, before any is opened.
  void end_earlier() const;
  // As StreamSources::open().
  Result<OpenedStream> open(const ExecQuery& query, std::function<void()> ready);

 private:
  Result<Workload> plan_of(const RunningPod& pod, const std::string& name) const;
  Result<OpenedStream> open_in_container(const SandboxPlan& sandbox, const RunningPod& pod, const ExecQuery& query,
                                         const std::string& container, std::function<void()> ready);
  Result<OpenedStream> open_in_sandbox(const SandboxPlan& sandbox, const RunningPod& pod, const ExecQuery& query,
                                       const std::string& container, std::function<void()> ready);
  Result<OpenedStream> open_as_process(const ContainerPlan& plan, const ExecQuery& query, std::function<void()> ready);
  // The operator's command itself, as a child of the agent.
  Result<OpenedStream> open_workload(ExecStart start, const ExecQuery& query, std::function<void()> ready);

  const std::string pods_;
  const PodPlanner& planner_;
  const SlotOf slot_of_;
  asio::io_context& context_;
  EndingCommands ended_;
  std::uint64_t commands_ = 0;
};

}  // namespace berth
