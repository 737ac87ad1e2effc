#include "firmware-host/agent/container_entries.h"

#include <algorithm>

namespace berth {

namespace {

ContainerEntry entry_of(const ContainerPlan& plan, bool is_init, const char* reason, ContainerReport& report) {
  report.name = plan.name;
  report.image = plan.image;
  report.image_id = plan.image_id;
  report.state.reason = reason;
  report.is_init = is_init;
  report.sidecar = plan.sidecar;
  ContainerEntry entry;
  entry.plan = &plan;
  entry.is_init = is_init;
  entry.report = &report;
  return entry;
}

}  // namespace

const char* waiting_reason(const Workload& workload) {
  return workload.init_containers.empty() ? "ContainerCreating" : "PodInitializing";
}

void ContainerEntries::add(const Workload& workload, const std::map<std::string, ContainerReport>& earlier,
                           PodState& state) {
  const auto add_list = [&](const std::vector<ContainerPlan>& plans, std::vector<ContainerReport>& reports,
                            std::vector<ContainerEntry>& entries) {
    reports.resize(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      entries.push_back(entry_of(plans[i], &entries == &init, waiting_reason(workload), reports[i]));
      if (auto known = earlier.find(plans[i].name); known != earlier.end()) go_on_from(known->second, reports[i]);
    }
  };
  add_list(workload.init_containers, state.init_containers, init);
  add_list(workload.containers, state.containers, main);
}

std::vector<ContainerEntry*> ContainerEntries::all() {
  std::vector<ContainerEntry*> entries;
  for (ContainerEntry& entry : init) entries.push_back(&entry);
  for (ContainerEntry& entry : main) entries.push_back(&entry);
  return entries;
}

bool ContainerEntries::any_running() const {
  const auto runs = [](const ContainerEntry& entry) { return entry.is_running(); };
  return std::any_of(init.begin(), init.end(), runs) || std::any_of(main.begin(), main.end(), runs);
}

bool ContainerEntries::has_failed_init() const {
  return std::any_of(init.begin(), init.end(), [](const ContainerEntry& entry) {
    return entry.done && !entry.plan->sidecar && !entry.has_succeeded();
  });
}

std::vector<Check*> ContainerEntries::checks() {
  std::vector<Check*> checks;
  for (ContainerEntry* entry : all()) {
    if (entry->prober) entry->prober->add_checks(checks);
    if (entry->hook && entry->hook->check() != nullptr) checks.push_back(entry->hook->check());
  }
  return checks;
}

}  // namespace berth
