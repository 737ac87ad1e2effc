#include "core/placement/recovery.h"

#include <utility>

#include "core/placement/queue_positions.h"
#include "core/placement/retired.h"

namespace berth {

namespace {

// Nothing is asked of anybody, and no volume has to be held.
bool is_settled(const Row& row) { return row.phase == Phase::bound && row.volumes.empty(); }

// The same texts, held once.
void hold_once(Row& row, const PodEntry& entry) {
  row.uid = entry.pod->metadata.uid;
  if (row.pod == entry.key) row.pod = entry.key;
}

}  // namespace

// Most rows are settled: they become bindings at once, whose pods are to be counted.
void Recovery::load(Row row) {
  PodEntry* entry = context_.objects.pods().find_by_uid(row.uid);
  if (entry != nullptr) hold_once(row, *entry);
  if (!is_settled(row) || (entry != nullptr && entry->finished)) return rows_.push_back(std::move(row));
  Binding binding;
  if (entry != nullptr) {
    binding.pod = entry->pod;
    entry->bound_at_start = true;
  }
  binding.row = std::move(row);
  parts_.lifecycle.resume(std::move(binding));
}

// P11: the time that the copy lost may have given a promise up and placed the pod elsewhere, or have bound it. What the
// nodes list tells which, as after a lost store.
void Recovery::forget_promises() {
  const auto is_promise = [](const Row& row) { return row.phase == Phase::prebind; };
  for (const Row& row : rows_) {
    if (is_promise(row)) context_.store.erase(Table::row, row.uid);
  }
  std::erase_if(rows_, is_promise);
}

void Recovery::recover() {
  if (context_.identity->rolled_back) forget_promises();
  parts_.volumes.restore();
  for (const auto& [name, device] : context_.nodes.all()) parts_.nodes.recover(name);
  for (const std::string& node : context_.objects.keys(Kind::node)) {
    if (!is_retired(*context_.identity, context_.nodes, node)) context_.nodes.expect(node);
  }
  parts_.scheduler.cache().expect_pods(parts_.state.bindings.size() + rows_.size());
  for (const auto& [uid, binding] : parts_.state.bindings) {
    note_live(binding.row);
    if (binding.pod != nullptr) parts_.scheduler.cache().confirm(binding.pod, binding.row.node);
  }
  for (Row& row : std::exchange(rows_, {})) resume(std::move(row));
  parts_.releases.recover();
  if (!context_.identity->adopting) parts_.pods.finish_removals(false);
  parts_.pods.restore_queue();
}

void Recovery::resume(Row row) {
  if (row.phase != Phase::prebind) parts_.provisioned.make_objects(row);
  parts_.volumes.hold(row);
  parts_.lifecycle.resume(restore(std::move(row)));
}

void Recovery::note_live(const Row& row) {
  parts_.state.epochs.hold(row.node, row.epoch, row.uid);
  if (row.phase == Phase::bound) parts_.state.note_bound_before(row);
}

// The pod of a row that was found, null when there is none; counted on its node unless the row is in flight.
PodPtr Recovery::find_placed(Row& row) {
  const PodEntry* entry = context_.objects.pods().find_by_uid(row.uid);
  if (entry != nullptr) hold_once(row, *entry);
  note_live(row);
  if (entry == nullptr) return nullptr;
  if (!is_in_flight(row) && !entry->finished) parts_.scheduler.cache().confirm(entry->pod, row.node);
  return entry->pod;
}

Binding Recovery::restore(Row row) {
  Binding binding;
  binding.pod = find_placed(row);
  binding.row = std::move(row);
  if (!is_in_flight(binding.row)) return binding;
  const Text uid = binding.row.uid;
  BindingCycle& cycle = binding.edit();
  cycle.queued.pod = binding.pod;
  const PodEntry* entry = context_.objects.pods().find_by_uid(uid);
  if (entry != nullptr && entry->extras().position) resume_attempts(*entry->extras().position, cycle.queued);
  cycle.node = binding.row.node;
  cycle.framework = binding.pod == nullptr ? nullptr : parts_.scheduler.framework_of(*binding.pod);
  if (cycle.framework != nullptr) {
    cycle.reservation = Reservation::restore(*cycle.framework, parts_.scheduler.cache(), std::make_unique<CycleState>(),
                                             binding.pod, binding.row.node, binding.row.volumes);
  } else if (binding.pod != nullptr && !entry->finished) {
    parts_.scheduler.cache().confirm(binding.pod, binding.row.node);
  }
  return binding;
}

}  // namespace berth
