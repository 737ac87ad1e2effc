#include "core/framework/node_statuses.h"

#include <functional>
#include <utility>

namespace berth {

namespace {

std::size_t hash_of(const Status& status) {
  const std::hash<std::string_view> hash;
  std::size_t sum = static_cast<std::size_t>(status.code()) * 31 + hash(status.plugin());
  for (const std::string& reason : status.reasons()) sum = sum * 31 + hash(reason);
  return sum;
}

}  // namespace

void NodeStatuses::reset(std::size_t places) {
  *this = {};
  by_place_.assign(places, kNone);
}

void NodeStatuses::resize(std::size_t places) {
  for (std::size_t place = places; place < by_place_.size(); ++place) clear(place);
  by_place_.resize(places, kNone);
}

std::size_t NodeStatuses::find_kind(const Status& status) const {
  if (last_ < kinds_.size() && kinds_[last_].nodes > 0 && kinds_[last_].status == status) return last_;
  const auto [first, last] = index_.equal_range(hash_of(status));
  for (auto each = first; each != last; ++each) {
    if (kinds_[each->second].status == status) return each->second;
  }
  return kinds_.size();
}

void NodeStatuses::set(std::size_t place, Status status) {
  std::size_t kind = find_kind(status);
  if (by_place_[place] != kNone && by_place_[place] == kind) return;
  clear(place);
  if (kind == kinds_.size()) {
    kind = free_.empty() ? kinds_.size() : free_.back();
    if (free_.empty()) {
      kinds_.emplace_back();
    } else {
      free_.pop_back();
    }
    index_.emplace(hash_of(status), static_cast<std::uint32_t>(kind));
    kinds_[kind].status = std::move(status);
  }
  last_ = kind;
  ++kinds_[kind].nodes;
  ++size_;
  by_place_[place] = static_cast<std::uint32_t>(kind);
}

void NodeStatuses::clear(std::size_t place) {
  const std::uint32_t kind = std::exchange(by_place_[place], kNone);
  if (kind == kNone) return;
  --size_;
  if (--kinds_[kind].nodes > 0) return;
  const auto [first, last] = index_.equal_range(hash_of(kinds_[kind].status));
  for (auto each = first; each != last; ++each) {
    if (each->second != kind) continue;
    index_.erase(each);
    break;
  }
  free_.push_back(kind);
}

void NodeStatuses::move(const std::vector<std::size_t>& from) {
  std::vector<std::uint32_t> by_place(from.size(), kNone);
  for (std::size_t place = 0; place < from.size(); ++place) {
    if (from[place] != Snapshot::Move::kNew) by_place[place] = std::exchange(by_place_[from[place]], kNone);
  }
  for (std::size_t gone = 0; gone < by_place_.size(); ++gone) clear(gone);
  by_place_ = std::move(by_place);
}

const Status* NodeStatuses::find(std::size_t place) const {
  const std::uint32_t kind = kind_of(place);
  return kind == kNone ? nullptr : &kinds_[kind].status;
}

std::map<std::string, Status> NodeStatuses::by_name(const Snapshot& snapshot) const {
  std::map<std::string, Status> named;
  for (std::size_t place = 0; place < by_place_.size(); ++place) {
    if (const Status* status = find(place)) named.emplace(snapshot.nodes()[place]->name(), *status);
  }
  return named;
}

}  // namespace berth
