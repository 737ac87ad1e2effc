#include "core/fastpath/candidates.h"

#include <algorithm>

namespace berth {

namespace {

std::size_t count_below(const std::vector<const Candidates::Places*>& places, Candidates::Index bound) {
  std::size_t below = 0;
  for (const Candidates::Places* each : places) {
    below += static_cast<std::size_t>(std::lower_bound(each->begin(), each->end(), bound) - each->begin());
  }
  return below;
}

}  // namespace

void Candidates::reset(std::size_t places) {
  groups_.clear();
  where_.assign(places, {});
}

void Candidates::resize(std::size_t places) {
  for (std::size_t place = places; place < where_.size(); ++place) take(static_cast<Index>(place));
  where_.resize(places);
}

void Candidates::put(Index place, const Key& key, std::int64_t score) {
  Where& where = where_[place];
  if (where.group != nullptr) {
    if (where.score == score && where.entry->first == key) return;
    take(place);
  }
  where.entry = groups_.try_emplace(key).first;
  where.group = &where.entry->second;
  where.score = score;
  Places& places = where.group->by_score[score];
  places.insert(std::lower_bound(places.begin(), places.end(), place), place);
  ++where.group->size;
}

void Candidates::take(Index place) {
  Where& where = where_[place];
  if (where.group == nullptr) return;
  Group& group = *where.group;
  where.group = nullptr;
  const auto bucket = group.by_score.find(where.score);
  Places& places = bucket->second;
  places.erase(std::lower_bound(places.begin(), places.end(), place));
  if (places.empty()) group.by_score.erase(bucket);
  if (--group.size == 0) groups_.erase(where.entry);
}

void Candidates::move(const std::vector<std::size_t>& from) {
  for (auto& [key, group] : groups_) {
    group.size = 0;
    for (auto& [score, places] : group.by_score) places.clear();
  }
  std::vector<Where> where(from.size());
  for (std::size_t place = 0; place < from.size(); ++place) {
    if (from[place] == kNew || where_[from[place]].group == nullptr) continue;
    where[place] = where_[from[place]];
    where[place].group->by_score[where[place].score].push_back(static_cast<Index>(place));
    ++where[place].group->size;
  }
  where_ = std::move(where);
  for (auto& [key, group] : groups_) {
    std::erase_if(group.by_score, [](const auto& bucket) { return bucket.second.empty(); });
  }
  std::erase_if(groups_, [](const auto& entry) { return entry.second.size == 0; });
}

Candidates::Index nth_place(const std::vector<const Candidates::Places*>& places, std::size_t n,
                            Candidates::Index start) {
  std::size_t total = 0;
  Candidates::Index low = 0;
  Candidates::Index high = 0;  // beyond the last
  for (const Candidates::Places* each : places) {
    total += each->size();
    if (!each->empty()) high = std::max(high, each->back() + 1);
  }
  n = (n + count_below(places, start)) % total;
  if (places.size() == 1) return (*places.front())[n];
  while (low + 1 < high) {  // the last place with at most n before it
    const Candidates::Index middle = low + (high - low) / 2;
    (count_below(places, middle) <= n ? low : high) = middle;
  }
  return low;
}

}  // namespace berth
