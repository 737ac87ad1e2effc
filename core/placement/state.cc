#include "core/placement/state.h"

#include <algorithm>

namespace berth {

std::string release_key(const std::string& node, const std::string& uid, const Epoch& epoch) {
  return node + "/" + uid + "/" + to_text(epoch);
}

std::vector<Binding*> rows_of(PlacementState& state, const std::string& node) {
  std::vector<Binding*> rows;
  const LiveEpochs::Epochs* live = state.epochs.of(node);
  if (live == nullptr) return rows;
  for (const auto& [epoch, uid] : *live) {
    Binding* binding = state.find(uid);
    if (binding == nullptr || binding->row.phase == Phase::none) continue;
    if (binding->row.node == node && binding->row.epoch == epoch) rows.push_back(binding);
  }
  std::sort(rows.begin(), rows.end(), [](const Binding* a, const Binding* b) { return a->row.uid < b->row.uid; });
  return rows;
}

void PlacementState::note_bound_before(const Row& row) {
  Epoch& highest = bound_before[row.node];
  highest = std::max(highest, row.epoch);
}

bool PlacementState::was_bound_before(const Row& row) const {
  const auto found = bound_before.find(row.node);
  return found != bound_before.end() && row.epoch <= found->second;
}

}  // namespace berth
