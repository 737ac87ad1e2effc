#include "core/fastpath/candidates.h"

#include <algorithm>

namespace berth {

namespace {

std::size_t count_below(const std::vector<const Candidates::Indices*>& indices, Candidates::Index bound) {
  std::size_t below = 0;
  for (const Candidates::Indices* each : indices) {
    below += static_cast<std::size_t>(std::lower_bound(each->begin(), each->end(), bound) - each->begin());
  }
  return below;
}

}  // namespace

void Candidates::reset(std::size_t indices) {
  groups_.clear();
  where_.assign(indices, {});
}

void Candidates::resize(std::size_t indices) {
  for (std::size_t index = indices; index < where_.size(); ++index) take(static_cast<Index>(index));
  where_.resize(indices);
}

void Candidates::put(Index index, const Key& key, std::int64_t score) {
  Where& where = where_[index];
  if (where.group != nullptr) {
    if (where.score == score && where.entry->first == key) return;
    take(index);
  }
  where.entry = groups_.try_emplace(key).first;
  where.group = &where.entry->second;
  where.score = score;
  Indices& indices = where.group->by_score[score];
  indices.insert(std::lower_bound(indices.begin(), indices.end(), index), index);
  ++where.group->size;
}

void Candidates::take(Index index) {
  Where& where = where_[index];
  if (where.group == nullptr) return;
  Group& group = *where.group;
  where.group = nullptr;
  const auto bucket = group.by_score.find(where.score);
  Indices& indices = bucket->second;
  indices.erase(std::lower_bound(indices.begin(), indices.end(), index));
  if (indices.empty()) group.by_score.erase(bucket);
  if (--group.size == 0) groups_.erase(where.entry);
}

void Candidates::move(const std::vector<std::size_t>& from) {
  for (auto& [key, group] : groups_) {
    group.size = 0;
    for (auto& [score, indices] : group.by_score) indices.clear();
  }
  std::vector<Where> where(from.size());
  for (std::size_t index = 0; index < from.size(); ++index) {
    if (from[index] == kNew || where_[from[index]].group == nullptr) continue;
    where[index] = where_[from[index]];
    where[index].group->by_score[where[index].score].push_back(static_cast<Index>(index));
    ++where[index].group->size;
  }
  where_ = std::move(where);
  for (auto& [key, group] : groups_) {
    std::erase_if(group.by_score, [](const auto& bucket) { return bucket.second.empty(); });
  }
  std::erase_if(groups_, [](const auto& entry) { return entry.second.size == 0; });
}

Candidates::Index nth_index(const std::vector<const Candidates::Indices*>& indices, std::size_t n,
                            Candidates::Index start) {
  std::size_t total = 0;
  Candidates::Index low = 0;
  Candidates::Index high = 0;  // one after the last
  for (const Candidates::Indices* each : indices) {
    total += each->size();
    if (!each->empty()) high = std::max(high, each->back() + 1);
  }
  n = (n + count_below(indices, start)) % total;
  if (indices.size() == 1) return (*indices.front())[n];
  while (low + 1 < high) {  // the last index with at most n before it
    const Candidates::Index middle = low + (high - low) / 2;
    (count_below(indices, middle) <= n ? low : high) = middle;
  }
  return low;
}

}  // namespace berth
