#include "firmware-host/agent/container_starter.h"

#include <string_view>
#include <utility>
#include <vector>

#include "firmware-host/agent/process_tree.h"
#include "firmware-host/agent/processes/process_run.h"

namespace berth {

namespace {

std::string search_path_of(const ContainerPlan& plan) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string& variable : plan.env) {
    if (variable.starts_with(kName)) return variable.substr(kName.size());
  }
  return {};
}

}  // namespace

Result<StartedRun> ProcessStarter::start(const ContainerPlan& plan) {
  return start_process({.programs = {plan.argv.front()},
                        .arguments = plan.argv,
                        .env = plan.env,
                        .directory = plan.directory,
                        .is_out_of_memory = {}});
}

// The program is looked for at each run: the container may make it.
Result<StartedRun> ProcessStarter::exec(const ContainerPlan& plan, const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  arguments.front() = find_program(command.front(), search_path_of(plan), plan.directory);
  if (arguments.front().empty()) return Status::error("command '" + command.front() + "' not found");
  return start_process({.programs = {arguments.front()},
                        .arguments = arguments,
                        .env = plan.env,
                        .directory = plan.directory,
                        .has_errors = false,
                        .is_out_of_memory = {}});
}

// As happens when the first process of a pid namespace exits.
Result<int> ProcessStarter::kill_rest(const ContainerPlan& plan) {
  return kill_by_environment({tag_, "BERTH_CONTAINER=" + plan.name});
}

Result<int> ProcessStarter::kill_pod() { return kill_descendants(); }

// Whatever they did to their session, parent or environment.
Result<int> ProcessStarter::kill_all() {
  const Result<int> descendants = kill_descendants();
  const Result<int> tagged = kill_by_environment({tag_});
  if (!descendants || !tagged) return descendants ? tagged : descendants;
  return *descendants + *tagged;
}

}  // namespace berth
