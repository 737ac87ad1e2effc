// How a restart enters a pod's life: each row that was stored resumes at its phase.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/placement/pod_lifecycle.h"
#include "core/placement/queue_positions.h"

namespace berth {

namespace {

// Nothing is asked of anybody, and no volume has to be held.
bool is_settled(const Row& row) { return row.phase == Phase::bound && row.volumes.empty(); }

}  // namespace

// Most rows are settled: their pods only have to be found and counted. That is done first, and in the order of the pods
// in memory, which costs much less than jumping between them.
void PodLifecycle::resume_all(std::deque<Row> rows) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> settled;  // by index of the pod: which row
  settled.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_settled(rows[i]))
      settled.emplace_back(context_.objects.place_of_uid(rows[i].uid), static_cast<std::uint32_t>(i));
  }
  std::sort(settled.begin(), settled.end());
  std::vector<std::shared_ptr<const Pod>> pods(rows.size());
  for (const auto& [index, i] : settled) pods[i] = find_placed(rows[i]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_settled(rows[i])) {
      resume(std::move(rows[i]));
      continue;
    }
    Binding binding;
    binding.row = std::move(rows[i]);
    binding.pod = std::move(pods[i]);
    add(std::move(binding));
  }
}

void PodLifecycle::resume(Row row) {
  volumes_.hold(row);
  Binding& binding = add(restore(std::move(row)));
  if (binding.row.phase == Phase::prebind) arm_deadline(binding);
  if (is_in_flight(binding.row)) window_.enter(binding.row);
  binding.edit().task = binding_cycle(binding);
  reap(Text(binding.row.uid));
}

// A store is read in the order of the uids: the row comes behind all others.
Binding& PodLifecycle::add(Binding binding) {
  const Text uid = binding.row.uid;
  const std::size_t before = state_.bindings.size();
  Binding& added = state_.bindings.emplace_hint(state_.bindings.end(), uid, std::move(binding))->second;
  CHECK(state_.bindings.size() > before);
  return added;
}

// The pod of a row that was found, null when there is none; counted on its node unless the row is in flight.
std::shared_ptr<const Pod> PodLifecycle::find_placed(Row& row) {
  const PodEntry* entry = context_.objects.find_pod_by_uid(row.uid);
  if (entry != nullptr) {
    row.uid = entry->pod->metadata.uid;  // the same, held once
    if (row.pod == entry->key) row.pod = entry->key;
  }
  state_.epochs.hold(row.node, row.epoch, row.uid);
  if (entry == nullptr) return nullptr;
  if (!is_in_flight(row) && !entry->finished) scheduler_.cache().confirm(entry->pod, row.node);
  return entry->pod;
}

Binding PodLifecycle::restore(Row row) {
  Binding binding;
  binding.pod = find_placed(row);
  binding.row = std::move(row);
  if (!is_in_flight(binding.row)) return binding;
  const Text uid = binding.row.uid;
  binding.edit().cycle = std::make_unique<BindingCycle>();
  BindingCycle& cycle = *binding.edit().cycle;
  cycle.queued.pod = binding.pod;
  const PodEntry* entry = context_.objects.find_pod_by_uid(uid);
  if (entry != nullptr && entry->position) resume_attempts(*entry->position, cycle.queued);
  cycle.node = binding.row.node;
  cycle.framework = binding.pod == nullptr ? nullptr : scheduler_.framework_of(*binding.pod);
  if (cycle.framework != nullptr) {
    cycle.reservation = Reservation::restore(*cycle.framework, scheduler_.cache(), std::make_unique<CycleState>(),
                                             binding.pod, binding.row.node, binding.row.volumes);
  } else if (binding.pod != nullptr && !entry->finished) {
    scheduler_.cache().confirm(binding.pod, binding.row.node);
  }
  return binding;
}

bool PodLifecycle::forget_claim(const std::string& claim) {
  for (auto& [uid, binding] : state_.bindings) {
    if (binding.row.volumes.empty() || binding.row.phase == Phase::none) continue;
    Row row = binding.row;
    if (std::erase_if(row.volumes, [&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; }) ==
        0)
      continue;
    if (!context_.store.begin(uid, encode(row), static_cast<int>(row.phase)).is_success()) return false;
    binding.row.volumes = std::move(row.volumes);
  }
  return true;
}

}  // namespace berth
