// What a start makes of what was stored: nodes and placed pods into the cache, rows into their binding cycles, the
// other pods into the queue.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/gateway/gateway.h"

namespace berth {

namespace {

// Nothing is asked of anybody, and no volume has to be held.
bool is_settled(const Row& row) { return row.phase == Phase::bound && row.volumes.empty(); }

}  // namespace

// Recovery is the binding cycle: each row found re-enters it at its phase; the other pods go to the queue.
void Gateway::recover() {
  publisher_.set_mirror_mark(identity_.id.store_id);
  for (const auto& [kind, key] : terminating_) objects_.mark_deleting(kind, key);
  std::vector<std::string> names;
  for (const auto& [name, device] : nodes_.all()) names.push_back(name);
  for (const std::string& node : names) refresh_node(node);
  for (const std::string& node : objects_.keys(Kind::node)) {
    if (!is_retired(node)) nodes_.expect(node);
  }
  cache_.expect_pods(rows_loaded_.size());
  resume_rows(std::exchange(rows_loaded_, {}));
  for (const auto& [key, release] : releases_) hold_volumes(key, release.entry.volumes);
  for (auto* keys : {&identity_.orphans, &identity_.ending}) {  // of a store that lost a part
    std::erase_if(*keys, [this](const std::string& key) { return !releases_.contains(key); });
  }
  std::vector<std::string> leaving;
  for (const auto& [key, entry] : objects_.pods()) {
    if (!entry.deleting || entry.finished || identity_.adopting) continue;
    if (!bindings_.contains(entry.pod->uid())) leaving.push_back(key);
  }
  for (const std::string& key : leaving) finish_removal(key);
  restore_queue();
  log_.write(Level::info, "gateway started",
             {{"fleet", options_.fleet},
              {"gateway", options_.gateway},
              {"seed", std::to_string(options_.seed)},
              {"term", std::to_string(identity_.id.term)},
              {"store", identity_.id.store_id},
              {"pods", std::to_string(objects_.pods().size())},
              {"rows", std::to_string(bindings_.size())},
              {"releases", std::to_string(releases_.size())},
              {"adopting", identity_.adopting ? "yes" : "no"}});
}

// In the order of uids, as the store is read. Most rows are settled: their pods only have to be found and counted,
// which is done first and in the order in which those lie in memory, since one pod after another costs much less than
// one here and one there.
void Gateway::resume_rows(std::deque<Row> rows) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> settled;  // by place of the pod: which row
  settled.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_settled(rows[i])) settled.emplace_back(objects_.place_of_uid(rows[i].uid), static_cast<std::uint32_t>(i));
  }
  std::sort(settled.begin(), settled.end());
  std::vector<std::shared_ptr<const Pod>> pods(rows.size());
  for (const auto& [place, i] : settled) pods[i] = find_placed(rows[i]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_settled(rows[i])) {
      resume_row(std::move(rows[i]));
      continue;
    }
    Binding binding;
    binding.row = std::move(rows[i]);
    binding.pod = std::move(pods[i]);
    add_binding(std::move(binding));
  }
}

void Gateway::resume_row(Row row) {
  hold_volumes(row);
  Binding& binding = add_binding(restore_binding(std::move(row)));
  if (binding.row.phase == Phase::prebind) arm_deadline(binding);
  if (is_in_flight(binding.row)) enter_flight(binding.row);
  binding.edit().task = binding_cycle(binding);
  reap(Text(binding.row.uid));
}

// A store is read in the order of uids: there it comes behind all others.
Binding& Gateway::add_binding(Binding binding) {
  const Text uid = binding.row.uid;
  const std::size_t before = bindings_.size();
  Binding& added = bindings_.emplace_hint(bindings_.end(), uid, std::move(binding))->second;
  CHECK(bindings_.size() > before);
  return added;
}

// Of a row that is found: its pod, null when there is none, counted on its node unless the row is in flight.
std::shared_ptr<const Pod> Gateway::find_placed(Row& row) {
  const PodEntry* entry = objects_.find_pod_by_uid(row.uid);
  if (entry != nullptr) {
    row.uid = entry->pod->metadata.uid;  // the same, held once
    if (row.pod == entry->key) row.pod = entry->key;
  }
  hold_epoch(row.node, row.epoch, row.uid);
  if (entry == nullptr) return nullptr;
  if (!is_in_flight(row) && !entry->finished) cache_.confirm(entry->pod, row.node);
  return entry->pod;
}

Binding Gateway::restore_binding(Row row) {
  Binding binding;
  binding.pod = find_placed(row);
  binding.row = std::move(row);
  if (!is_in_flight(binding.row)) return binding;
  const Text uid = binding.row.uid;
  binding.edit().cycle = std::make_unique<BindingCycle>();
  BindingCycle& cycle = *binding.edit().cycle;
  cycle.queued.pod = binding.pod;
  if (auto place = places_.find(uid); place != places_.end()) take_place(place->second, cycle.queued);
  cycle.node = binding.row.node;
  cycle.framework = binding.pod == nullptr ? nullptr : framework_of(*binding.pod);
  if (cycle.framework != nullptr) {
    cycle.reservation = Reservation::restore(*cycle.framework, cache_, std::make_unique<CycleState>(), binding.pod,
                                             binding.row.node, binding.row.volumes);
  } else if (binding.pod != nullptr && !objects_.find_pod_by_uid(uid)->finished) {
    cache_.confirm(binding.pod, binding.row.node);
  }
  return binding;
}

}  // namespace berth
