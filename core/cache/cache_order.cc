// The order of nodes in a snapshot, and how a snapshot is brought up to date with the cache.
#include <algorithm>
#include <span>
#include <utility>

#include "core/cache/cache.h"
#include "core/prefetch.h"

namespace berth {

namespace {

// Of changes to come the later ones, each in three steps, as one has to be there to find the next.
template <class Entries>
void prefetch_changes(const Entries& entries, const Snapshot& snapshot, std::span<const std::size_t> index_by_number,
                      std::span<const KeyIndex::Index> changes) {
  constexpr std::size_t kStep = 4;
  const std::size_t nodes = snapshot.nodes().size();
  const auto place_of = [&](KeyIndex::Index number) {
    return number < index_by_number.size() ? index_by_number[number] : nodes;
  };
  if (changes.size() > 3 * kStep) {
    const KeyIndex::Index number = changes[3 * kStep];
    prefetch(entries[number]);
    if (number < index_by_number.size()) prefetch_line(&index_by_number[number]);
  }
  if (changes.size() > 2 * kStep) {
    const KeyIndex::Index number = changes[2 * kStep];
    if (entries[number].info != nullptr) prefetch(*entries[number].info);
    if (const std::size_t at = place_of(number); at < nodes) snapshot.prefetch_place(at);
  }
  if (changes.size() > kStep) {
    if (const std::size_t at = place_of(changes[kStep]); at < nodes) snapshot.prefetch_state(at);
  }
}

// The oldest first.
template <class Entries>
std::vector<std::pair<std::int64_t, KeyIndex::Index>> newer_than(const Entries& entries, std::int64_t generation) {
  std::vector<std::pair<std::int64_t, KeyIndex::Index>> found;
  for (KeyIndex::Index index = 0; index < entries.size(); ++index) {
    constexpr KeyIndex::Index kAhead = 16;
    const auto* ahead = index + kAhead < entries.size() ? entries[index + kAhead].info.get() : nullptr;
    if (ahead != nullptr) prefetch_line(&ahead->generation);
    const auto* info = entries[index].info.get();
    if (info != nullptr && info->generation > generation) found.emplace_back(info->generation, index);
  }
  std::sort(found.begin(), found.end());  // by copies: there may be as many as nodes
  return found;
}

}  // namespace

std::vector<Cache::Index> Cache::order() const {
  std::vector<Index> nodes;
  nodes.reserve(entries_.size());
  bool more = true;
  for (std::size_t round = 0; std::exchange(more, false); ++round) {
    for (const Zone& zone : zones_) {
      if (round >= zone.nodes.size()) continue;
      nodes.push_back(zone.nodes[round]);
      more = true;
    }
  }
  return nodes;
}

void Cache::note_structure(const std::string& node, Index number) {
  ++structure_;
  structural_.push_back({node, number});
  if (structural_.size() > kStructuralKept) structural_.pop_front();
}

// To number all nodes again costs a look at each of them, here and in whatever is kept by index. A node or two cost
// that much only once for an eighth of the fleet. Fleets in which every search looks at all nodes
// (upstream's minFeasibleNodesToFind) are small enough to be kept in order, and an order that nobody has read yet is
// made again, so that it is the same whenever it was prepared. False: rearrange() has to.
bool Cache::may_loosen(const Snapshot& snapshot) const {
  constexpr std::size_t kOrderedBelow = 100;
  const std::int64_t behind = structure_ - snapshot.structure_;
  if (behind > static_cast<std::int64_t>(structural_.size()) || snapshot.nodes_.size() < kOrderedBelow) return false;
  if (snapshot.is_unread_) return false;
  return (snapshot.loosened_ + static_cast<std::size_t>(behind)) * 8 <= snapshot.nodes_.size();
}

void Cache::loosen(Snapshot& snapshot) const {
  const std::int64_t behind = structure_ - snapshot.structure_;
  for (auto each = structural_.end() - behind; each != structural_.end(); ++each) {
    const std::size_t index = snapshot.index_of(each->node);
    const bool is_known = index < snapshot.nodes_.size();
    const Entry& entry = entries_[each->number];
    const bool is_there = entry.name == each->node && entry.info->node != nullptr;
    if (is_known && !is_there) snapshot.take(index);
    if (!is_known && is_there) snapshot.add_last(each->number, entry.info);
  }
  snapshot.structure_ = structure_;
  snapshot.loosened_ += static_cast<std::size_t>(behind);
}

// Nodes keep their states; those that changed are replaced afterwards.
void Cache::rearrange(Snapshot& snapshot) const {
  constexpr std::size_t kNew = Snapshot::kNoIndex;
  const std::vector<Index> ordered = order();
  std::vector<std::shared_ptr<const NodeInfo>> nodes;
  nodes.reserve(ordered.size());
  std::vector<std::size_t> index_by_number(entries_.size(), kNew);
  for (const Index number : ordered) {
    const Entry& entry = entries_[number];
    std::size_t from = number < snapshot.index_by_number_.size() ? snapshot.index_by_number_[number] : kNew;
    // The number of a removed node may have been reused.
    const bool may_differ = from != kNew && snapshot.nodes_[from] != entry.info;
    if (may_differ && snapshot.nodes_[from]->name() != entry.name) from = kNew;
    index_by_number[number] = nodes.size();
    nodes.push_back(from == kNew ? entry.info : snapshot.nodes_[from]);
  }
  snapshot.nodes_ = std::move(nodes);
  snapshot.columns_.reset();
  snapshot.pod_kinds_.reset();
  snapshot.kinds_counted_ = 0;
  snapshot.labels_ready_ = 0;
  snapshot.numbers_ = nodes_;
  snapshot.index_by_number_ = std::move(index_by_number);
  snapshot.begin_logs();
  snapshot.structure_ = structure_;
  snapshot.loosened_ = 0;
}

// No longer shared; touch() reuses it for the next state.
void Cache::keep_spare(std::shared_ptr<const NodeInfo> state) const {
  auto spare = std::const_pointer_cast<NodeInfo>(std::move(state));
  spare->node = nullptr;
  spare->pods.clear();
  for (auto* few :
       {&spare->pods_with_affinity, &spare->pods_with_required_anti_affinity, &spare->pods_with_host_ports}) {
    *few = {};
  }
  spare_.push_back(std::move(spare));
}

void Cache::update_snapshot(Snapshot& snapshot) const {
  if (snapshot.structure_ != structure_) may_loosen(snapshot) ? loosen(snapshot) : rearrange(snapshot);
  snapshot.is_unread_ = false;
  if (snapshot.columns_) snapshot.columns_->forget_many_labels();
  take_changes(snapshot);
}

bool Cache::prepare(Snapshot& snapshot, const Snapshot::Needs& needs, std::size_t most) const {
  if (snapshot.structure_ != structure_) {
    if (may_loosen(snapshot)) return false;
    rearrange(snapshot);
    snapshot.is_unread_ = true;
    return true;
  }
  // Another part: what changed before nodes were numbered afresh may be all of them.
  if (snapshot.is_unread_ && snapshot.generation_ != generation_) {
    take_changes(snapshot);
    return true;
  }
  return snapshot.prepare(needs, most);
}

void Cache::take_change(Snapshot& snapshot, Index index) const {
  const Entry& entry = entries_[index];
  if (entry.info->node == nullptr) return;
  const std::size_t at = snapshot.index_by_number_[index];
  std::shared_ptr<const NodeInfo>& node = snapshot.nodes_[at];
  take_images(*entry.info);
  if (node == entry.info) return;
  if (snapshot.has_column_of(at)) snapshot.columns_->set(at, *node, *entry.info);
  std::shared_ptr<const NodeInfo> dropped =
      snapshot.note(at, std::exchange(node, entry.info), Snapshot::ObjectChange::Kind::replaced);
  if (dropped.use_count() == 1 && spare_.size() < std::clamp(entries_.size() / 8, kFewestSpare, kMostSpare))
    keep_spare(std::move(dropped));
}

void Cache::take_changes(Snapshot& snapshot) const {
  if (touched_.reaches(snapshot.generation_)) {
    std::int64_t generation = snapshot.generation_;
    const std::span<const Index> touched = touched_.since(snapshot.generation_);
    for (std::size_t i = 0; i < touched.size(); ++i) {
      const Index index = touched[i];
      prefetch_changes(entries_, snapshot, snapshot.index_by_number_, touched.subspan(i));
      const Entry& entry = entries_[index];
      // Touched again later, or gone.
      if (++generation != (entry.info == nullptr ? -1 : entry.info->generation)) continue;
      take_change(snapshot, index);
    }
  } else {
    const auto newer = newer_than(entries_, snapshot.generation_);
    for (std::size_t i = 0; i < newer.size(); ++i) {
      constexpr std::size_t kAhead = 16;
      if (i + kAhead < newer.size()) {
        const NodeInfo& ahead = *entries_[newer[i + kAhead].second].info;
        prefetch_line(&ahead);
        prefetch_line(&ahead.images_taken);
      }
      take_change(snapshot, newer[i].second);
    }
  }
  snapshot.has_images_ = !images_.empty();
  snapshot.pods_with_affinity_ = pods_with_affinity_;
  snapshot.lowest_priority_ =
      pods_by_priority_.empty() ? std::numeric_limits<std::int32_t>::max() : pods_by_priority_.begin()->first;
  snapshot.generation_ = generation_;
}

}  // namespace berth
