// Which nodes a pod's claims fit, by columns of labels.
#include <algorithm>
#include <string>
#include <vector>

#include "core/framework/rows.h"
#include "plugins/node_label_rows.h"
#include "plugins/volume_claims.h"
#include "plugins/volumebinding_fit.h"
#include "plugins/volumebinding_match.h"

namespace berth {

namespace {

using Flags = std::vector<std::uint8_t>;  // by row

constexpr std::uint8_t kIsGone = 1, kIsElsewhere = 2, kHasNoMatch = 4, kHasNoSpace = 8;  // reasons
constexpr std::uint8_t kNone = 1, kAsk = 2;  // whether a free volume is there
constexpr std::size_t kHosts = 4096;         // with free volumes: with more, to ask each node takes no longer
constexpr std::size_t kFewRows = 32;         // are asked about one by one: a column has many values

// 1 where the volume does not reach the node.
Flags unreached(const PersistentVolume& volume, const Snapshot& snapshot, const Rows& rows) {
  Flags none_met(rows.size(), volume.node_affinity ? 1 : 0);
  if (!volume.node_affinity) return none_met;
  Flags unmet;
  for (const NodeSelectorTerm& term : volume.node_affinity->terms) {
    if (!may_match(term)) continue;
    unmet.assign(rows.size(), 0);
    for (const Requirement& each : term.match_expressions) mark_unmet(each, snapshot, rows, unmet.data());
    for (std::size_t row = 0; row < rows.size(); ++row) none_met[row] &= unmet[row];
  }
  return none_met;
}

void add_free(const VolumeBindingState::DelayedClaim& delayed, const Snapshot& snapshot, const Rows& rows,
              Flags& free) {
  const NodeColumns::Label& label = snapshot.columns().label(kHostLabel, snapshot.nodes());
  Flags of_value(label.values.size() + 1, kNone);  // the last one: without the label
  for (const VolumeIndex::HostWithVolume& each : delayed.candidates->hosts_for(*delayed.claim)) {
    const auto found = label.values.find(std::string(each.host));
    if (found != label.values.end()) of_value[found->second] = each.sure ? std::uint8_t{0} : kAsk;
  }
  const auto without = static_cast<std::uint32_t>(label.values.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    free[row] |= of_value[std::min(label.numbers[rows[row]], without)];  // kNone of a label is the greatest number
  }
}

// The claim has a volume where one is, and is not provisioned elsewhere.
bool needs_existing(const Lister& lister, const VolumeBindingState::DelayedClaim& delayed) {
  const auto storage_class = lister.storage_class(class_of(*delayed.claim));
  return storage_class != nullptr && storage_class->provisioner == StorageClass::kNoProvisioner &&
         (delayed.reserved != nullptr || delayed.candidates->is_on_few_hosts(kHosts));
}

// By row, for claims that are all delayed.
Flags free_for(const VolumeBindingState& volumes, const Snapshot& snapshot, const Rows& rows) {
  const auto& delayed = volumes.delayed;
  const auto is_free = [](const auto& each) { return each.reserved == nullptr; };
  // Two claims may find the same volume.
  const bool are_sure = std::count_if(delayed.begin(), delayed.end(), is_free) <= 1;
  Flags free(rows.size(), are_sure ? std::uint8_t{0} : kAsk);
  for (const VolumeBindingState::DelayedClaim& each : delayed) {
    if (is_free(each)) {
      add_free(each, snapshot, rows, free);
      continue;
    }
    const Flags elsewhere = unreached(*each.reserved, snapshot, rows);
    for (std::size_t row = 0; row < rows.size(); ++row) free[row] |= elsewhere[row] != 0 ? kNone : std::uint8_t{0};
  }
  return free;
}

// Where claims are to be provisioned for a node: that one has to be asked.
Flags only_at(const std::vector<VolumeBindingState::SelectedClaim>& selected, const Snapshot& snapshot,
              const Rows& rows) {
  Flags free(rows.size(), kNone);
  const std::size_t index = snapshot.index_of(selected.front().node);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] == index) free[row] = kAsk;
  }
  return free;
}

void number_bound(const VolumeBindingState& volumes, const Snapshot& snapshot, const Rows& rows,
                  std::uint8_t* reasons) {
  for (const auto& [claim, volume] : volumes.bound) {
    if (volume == nullptr) {
      for (std::size_t row = 0; row < rows.size(); ++row) reasons[row] = reasons[row] == 0 ? kIsGone : reasons[row];
      return;
    }
    const Flags elsewhere = unreached(*volume, snapshot, rows);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (reasons[row] == 0 && elsewhere[row] != 0) reasons[row] = kIsElsewhere;
    }
  }
}

}  // namespace

bool number_misfits(const Lister& lister, const VolumeBindingState& volumes, const Snapshot& snapshot, const Rows& rows,
                    std::uint8_t* reasons) {
  const auto& delayed = volumes.delayed;
  const auto is_able = [&lister](const auto& each) { return needs_existing(lister, each); };
  const bool are_able = !volumes.selected.empty() || std::all_of(delayed.begin(), delayed.end(), is_able);
  if (!are_able || (!rows.are_all() && rows.size() < kFewRows)) return false;
  std::fill_n(reasons, rows.size(), std::uint8_t{0});
  number_bound(volumes, snapshot, rows, reasons);
  const Flags free =
      volumes.selected.empty() ? free_for(volumes, snapshot, rows) : only_at(volumes.selected, snapshot, rows);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if ((free[row] & kNone) != 0) {
      reasons[row] |= kHasNoMatch;
    } else if (free[row] == kAsk) {
      PodVolumes unused;
      const Result<const char*> misfit = unbound_fit(lister, volumes, *snapshot.nodes()[rows[row]]->node, unused);
      if (!misfit) return false;
      if (*misfit != nullptr) reasons[row] |= *misfit == kNoSpace ? kHasNoSpace : kHasNoMatch;
    }
  }
  return true;
}

}  // namespace berth
