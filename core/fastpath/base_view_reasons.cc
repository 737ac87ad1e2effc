// Why a base view rejects nodes.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/fastpath/base_view.h"

namespace berth {

namespace {

constexpr std::uint32_t kAccepted = static_cast<std::uint32_t>(-1);
constexpr std::uint32_t kEach = 0;

}  // namespace

const NodeStatuses* BaseView::rejected(const Snapshot& snapshot) {
  const std::size_t nodes = snapshot.nodes().size();
  if (tells_why_ && told_ == nodes) return &rejected_;
  if (tells_why_) {
    tells_why_ = tell_next(snapshot, nodes);
  } else {
    tells_why_ = true;
    rejected_.reset(nodes);
    told_ = nodes;
    tells_why_ = tell_why_of_all(snapshot);
  }
  return tells_why_ ? &rejected_ : nullptr;
}

// Tells why of so many nodes more.
bool BaseView::tell_next(const Snapshot& snapshot, std::size_t most) {
  if (!tells_why_) {
    tells_why_ = true;
    rejected_.reset(snapshot.nodes().size());
    told_ = 0;
  }
  return tell_why(common_.scratch.rows_from(told_, most, snapshot), snapshot);
}

Status BaseView::why_rejected(std::size_t index, const Snapshot& snapshot) {
  const NodeInfo& node = *snapshot.nodes()[index];
  for (const auto& entry : common_.framework.filters()) {
    if (!asked_.filter(entry)) continue;
    Status status = entry.plugin->filter(asked_.state, pod_, node);
    if (!status.is_success()) return std::move(status).with_plugin(entry.name);
  }
  return {};
}

// Numbers why nodes are rejected: nodes of one number have equal statuses, kEach has those that have to be asked for
// one by one, kAccepted those that no plugin rejects. False: the plugins cannot tell.
bool BaseView::number_reasons(const Rows& rows, const Snapshot& snapshot, std::vector<std::uint32_t>& reasons) {
  std::vector<std::uint8_t> of_plugin(rows.size());
  reasons.assign(rows.size(), kAccepted);
  std::uint32_t first = kEach + 1;
  for (const std::size_t place : asked_filters_) {
    const auto& entry = common_.framework.filters()[place];
    if (const ObjectAnswer* answer = object_filters_[place].answer.get(); answer != nullptr) {
      if (answer->uniform && answer->same == 0) continue;
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (reasons[row] == kAccepted && answer->at(rows[row]) != 0) reasons[row] = kEach;
      }
      continue;
    }
    const auto able = entry.batch_filter;
    if (able == nullptr || !able->number_reasons(asked_.state, snapshot, rows, of_plugin.data())) return false;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (reasons[row] == kAccepted && of_plugin[row] != 0) reasons[row] = first + of_plugin[row];
    }
    first += 1u + std::numeric_limits<std::uint8_t>::max();
  }
  return true;
}

// As tell_why(), for all nodes, none of which has a status. Most have one of few, each of which is asked for once.
bool BaseView::tell_why_of_all(const Snapshot& snapshot) {
  const Rows rows = Rows::all(snapshot);
  std::vector<std::uint32_t>& reasons = common_.scratch.groups;
  if (!number_reasons(rows, snapshot, reasons)) return tell_why(rows, snapshot);
  std::vector<Status> kept;
  std::vector<std::size_t> each;
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const std::uint32_t reason = reasons[index];
    if (reason == kAccepted) continue;
    if (reason == kEach) {
      each.push_back(index);
      continue;
    }
    if (reason >= kept.size()) kept.resize(reason + std::size_t{1});
    if (!kept[reason].is_success()) continue;
    kept[reason] = why_rejected(index, snapshot);
    if (!kept[reason].is_rejected()) return false;
  }
  std::vector<const Status*> statuses(kept.size());
  std::transform(kept.begin(), kept.end(), statuses.begin(),
                 [](const Status& status) { return status.is_success() ? nullptr : &status; });
  rejected_.set_groups(reasons, statuses);
  for (const std::size_t index : each) {
    Status status = why_rejected(index, snapshot);
    if (!status.is_rejected()) return false;
    rejected_.set(index, std::move(status));
  }
  return true;
}

// Keeps why nodes are rejected from now on, for these rows. False: a plugin failed.
bool BaseView::tell_why(const Rows& rows, const Snapshot& snapshot) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t index = rows[row];
    Status status;
    if (!ranks_.contains(static_cast<Ranks::Index>(index))) status = why_rejected(index, snapshot);
    if (status.code() == Code::error) return false;
    if (status.is_success()) {
      rejected_.clear(index);
    } else {
      rejected_.set(index, std::move(status));
    }
  }
  return true;
}

}  // namespace berth
