#include "core/framework/node_statuses.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/api/kind.h"

namespace berth {

namespace {

std::size_t hash_of(const Status& status) {
  const std::hash<std::string_view> hash;
  std::size_t sum = static_cast<std::size_t>(status.code()) * 31 + hash(status.plugin());
  for (const std::string& reason : status.reasons()) sum = sum * 31 + hash(reason);
  return sum;
}

}  // namespace

void NodeStatuses::reset(std::size_t nodes) {
  *this = {};
  nodes_ = nodes;
}

void NodeStatuses::resize(std::size_t nodes) {
  for (std::size_t index = nodes; index < by_node_.size(); ++index) clear(index);
  if (!by_node_.empty()) by_node_.resize(nodes, kNone);
  nodes_ = nodes;
}

std::size_t NodeStatuses::find_kind(const Status& status) const {
  if (last_ < kinds_.size() && kinds_[last_].nodes > 0 && kinds_[last_].status == status) return last_;
  const auto [first, last] = index_.equal_range(hash_of(status));
  for (auto each = first; each != last; ++each) {
    if (kinds_[each->second].status == status) return each->second;
  }
  return kinds_.size();
}

std::uint32_t NodeStatuses::kind_for(Status status) {
  std::size_t kind = find_kind(status);
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
  return static_cast<std::uint32_t>(kind);
}

void NodeStatuses::set(std::size_t index, Status status) {
  if (by_node_.empty()) by_node_.assign(nodes_, kNone);
  const std::size_t known = find_kind(status);
  if (by_node_[index] != kNone && by_node_[index] == known) return;
  clear(index);
  const std::uint32_t kind = kind_for(std::move(status));
  ++kinds_[kind].nodes;
  ++size_;
  by_node_[index] = kind;
}

void NodeStatuses::set_groups(std::span<const std::uint32_t> groups, const std::vector<const Status*>& statuses) {
  if (by_node_.empty()) by_node_.assign(nodes_, kNone);
  const auto none = static_cast<std::uint32_t>(statuses.size());
  std::vector<std::uint32_t> kinds(none + std::size_t{1}, kNone);
  std::vector<std::size_t> nodes(none + std::size_t{1}, 0);
  for (std::uint32_t group = 0; group < none; ++group) {
    if (statuses[group] == nullptr) continue;
    kinds[group] = kind_for(*statuses[group]);
    ++kinds_[kinds[group]].nodes;  // in use, until they are counted
  }
  for (std::size_t index = 0; index < nodes_; ++index) {
    const std::uint32_t group = std::min(groups[index], none);
    if (kinds[group] == kNone) continue;
    by_node_[index] = kinds[group];
    ++nodes[group];
  }
  for (std::uint32_t group = 0; group < none; ++group) {
    if (statuses[group] == nullptr) continue;
    kinds_[kinds[group]].nodes += nodes[group] - 1;
    size_ += nodes[group];
  }
}

void NodeStatuses::clear(std::size_t index) {
  const std::uint32_t kind = own_kind_of(index);
  if (kind == kNone) return;
  by_node_[index] = kNone;
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

void NodeStatuses::set_others(Status status, std::vector<std::size_t> except) {
  std::erase_if(except, [this](std::size_t index) { return own_kind_of(index) != kNone; });
  std::sort(except.begin(), except.end());
  except_ = std::move(except);
  const std::size_t others = nodes_ - size_ - except_.size();
  if (others == 0) return;
  others_ = static_cast<std::uint32_t>(kinds_.size());
  kinds_.push_back({std::move(status), others});
  size_ += others;
}

std::uint32_t NodeStatuses::kind_of(std::size_t index) const {
  if (index >= nodes_) return kNone;
  const std::uint32_t own = own_kind_of(index);
  return own != kNone || std::binary_search(except_.begin(), except_.end(), index) ? own : others_;
}

const Status* NodeStatuses::find(std::size_t index) const {
  const std::uint32_t kind = kind_of(index);
  return kind == kNone ? nullptr : &kinds_[kind].status;
}

std::map<std::string, Status> NodeStatuses::by_name(const Snapshot& snapshot) const {
  std::map<std::string, Status> named;
  for (std::size_t index = 0; index < nodes_; ++index) {
    if (const Status* status = find(index)) named.emplace(snapshot.nodes()[index]->name(), *status);
  }
  return named;
}

}  // namespace berth
