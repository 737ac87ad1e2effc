#include "core/placement/recovery.h"

#include <algorithm>
#include <utility>

#include "core/placement/queue_positions.h"
#include "core/placement/retired.h"

namespace berth {

namespace {

// Nothing is asked of anybody, and no volume has to be held.
bool is_settled(const Row& row) { return row.phase == Phase::bound && row.volumes.empty(); }

}  // namespace

// P11: the time that the copy lost may have given a promise up and placed the pod elsewhere, or have bound it. What the
// nodes list tells which, as after a lost store.
void Recovery::forget_promises(std::deque<Row>& rows) {
  const auto is_promise = [](const Row& row) { return row.phase == Phase::prebind; };
  for (const Row& row : rows) {
    if (is_promise(row)) context_.store.erase(Table::row, row.uid);
  }
  std::erase_if(rows, is_promise);
}

void Recovery::recover(std::deque<Row> rows) {
  if (context_.identity->rolled_back) forget_promises(rows);
  parts_.volumes.restore();
  std::vector<std::string> names;
  for (const auto& [name, device] : context_.nodes.all()) names.push_back(name);
  for (const std::string& node : names) parts_.nodes.recover(node);
  for (const std::string& node : context_.objects.keys(Kind::node)) {
    if (!is_retired(*context_.identity, context_.nodes, node)) context_.nodes.expect(node);
  }
  parts_.scheduler.cache().expect_pods(rows.size());
  resume_all(std::move(rows));
  parts_.releases.recover();
  if (!context_.identity->adopting) parts_.pods.finish_removals(false);
  parts_.pods.restore_queue();
}

// Most rows are settled: their pods only have to be found and counted. That is done first, and in the order of the pods
// in memory, which costs much less than jumping between them.
void Recovery::resume_all(std::deque<Row> rows) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> settled;  // by index of the pod: which row
  settled.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_settled(rows[i])) continue;
    settled.emplace_back(context_.objects.pods().index_of_uid(rows[i].uid), static_cast<std::uint32_t>(i));
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
    parts_.lifecycle.resume(std::move(binding));
  }
}

void Recovery::resume(Row row) {
  if (row.phase != Phase::prebind) parts_.provisioned.make_objects(row);
  parts_.volumes.hold(row);
  parts_.lifecycle.resume(restore(std::move(row)));
}

// The pod of a row that was found, null when there is none; counted on its node unless the row is in flight.
std::shared_ptr<const Pod> Recovery::find_placed(Row& row) {
  const PodEntry* entry = context_.objects.pods().find_by_uid(row.uid);
  if (entry != nullptr) {
    row.uid = entry->pod->metadata.uid;  // the same, held once
    if (row.pod == entry->key) row.pod = entry->key;
  }
  parts_.state.epochs.hold(row.node, row.epoch, row.uid);
  if (row.phase == Phase::bound) parts_.state.note_bound_before(row);
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
