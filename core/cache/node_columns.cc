#include "core/cache/node_columns.h"

#include <algorithm>
#include <functional>

#include "core/api/node.h"
#include "core/prefetch.h"

namespace berth {

namespace {

std::int64_t column_amount(const Resources& resources, std::size_t resource) {
  if (resource == NodeColumns::milli_cpu) return resources.milli_cpu;
  return resource == NodeColumns::memory ? resources.memory : resources.ephemeral_storage;
}

std::size_t inexact_of(const NodeInfo& node, std::size_t resource) {
  const bool exact = NodeColumns::is_exact(column_amount(node.allocatable, resource)) &&
                     NodeColumns::is_exact(column_amount(node.requested, resource)) &&
                     NodeColumns::is_exact(column_amount(node.requested_for_scoring, resource));
  return exact ? 0 : 1;
}

std::size_t without_of(const NodeInfo& node, std::size_t resource) {
  return column_amount(node.allocatable, resource) == 0 ? 1 : 0;
}

}  // namespace

template <class Change>
void NodeColumns::change_each(const Change& change) {
  for (OfResource& each : resources_) {
    for (Amounts* column : {&each.allocatable, &each.requested, &each.requested_for_scoring, &each.reciprocal}) {
      change(*column);
    }
  }
  change(full_);
  change(tainted_.nodes);
  change(unschedulable_.nodes);
}

bool NodeColumns::build(const Nodes& nodes, std::size_t most) {
  if (size() == nodes.size()) return false;
  if (size() == 0) change_each([&nodes](auto& column) { column.reserve(nodes.size()); });
  const std::size_t begin = size();
  resize(begin + std::min(most, nodes.size() - begin));
  for (std::size_t index = begin; index < size(); ++index) {
    set_amounts(index, nullptr, *nodes[index]);
    mark(index, nodes[index]->node.get());
  }
  return true;
}

// `node`: null: there is none any more.
void NodeColumns::mark(std::size_t index, const Node* node) {
  const auto set = [index](Marks& marks, bool has) {
    marks.count += has ? 1u : 0u;
    marks.count -= marks.nodes[index];
    marks.nodes[index] = has ? 1 : 0;
  };
  set(tainted_, node != nullptr && !node->taints.empty());
  set(unschedulable_, node != nullptr && node->unschedulable);
}

void NodeColumns::resize(std::size_t nodes) {
  change_each([nodes](auto& column) { column.resize(nodes); });
  for (auto& [key, label] : labels_) {
    for (std::size_t index = nodes; index < label.numbers.size(); ++index) count(label, label.numbers[index], -1);
    label.numbers.resize(nodes, Label::kNone);
    label.built = std::min(label.built, nodes);
  }
}

void NodeColumns::add_last(const NodeInfo& node) {
  const std::size_t index = size();
  resize(index + 1);
  set_amounts(index, nullptr, node);
  mark(index, node.node.get());
  for (auto& [key, label] : labels_) {
    if (label.built != index) continue;
    set_label(label, key, index, *node.node);
    ++label.built;
  }
}

void NodeColumns::take_last(const NodeInfo& node) {
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    resources_[resource].inexact -= inexact_of(node, resource);
    resources_[resource].without -= without_of(node, resource);
  }
  mark(size() - 1, nullptr);
  resize(size() - 1);
}

// `before`: the node that was at this index; null: none.
void NodeColumns::set_amounts(std::size_t index, const NodeInfo* before, const NodeInfo& node) {
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    OfResource& column = resources_[resource];
    const RowAmounts amounts = amounts_of(node, resource);
    column.allocatable[index] = amounts.allocatable;
    column.requested[index] = amounts.requested;
    column.requested_for_scoring[index] = amounts.requested_for_scoring;
    column.reciprocal[index] = amounts.reciprocal;
    column.inexact += inexact_of(node, resource);
    column.without += without_of(node, resource);
    if (before == nullptr) continue;
    column.inexact -= inexact_of(*before, resource);
    column.without -= without_of(*before, resource);
  }
  full_[index] = is_full(node);
}

NodeColumns::RowAmounts NodeColumns::amounts_of(const NodeInfo& node, std::size_t resource) {
  const auto allocatable = static_cast<double>(column_amount(node.allocatable, resource));
  return {allocatable, static_cast<double>(column_amount(node.requested, resource)),
          static_cast<double>(column_amount(node.requested_for_scoring, resource)),
          allocatable == 0 ? 0 : 1 / allocatable};
}

std::uint8_t NodeColumns::is_full(const NodeInfo& node) {
  return node.pods_and_charges() + 1 > node.allocatable.allowed_pods ? 1 : 0;
}

// Of the same object. What did not change is not written: each column has another line of memory.
void NodeColumns::set_requested(std::size_t index, const NodeInfo& before, const NodeInfo& node) {
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    const std::int64_t requested = column_amount(node.requested, resource);
    const std::int64_t for_scoring = column_amount(node.requested_for_scoring, resource);
    const bool is_other = requested != column_amount(before.requested, resource);
    const bool is_other_score = for_scoring != column_amount(before.requested_for_scoring, resource);
    if (!is_other && !is_other_score) continue;
    OfResource& column = resources_[resource];
    if (is_other) column.requested[index] = static_cast<double>(requested);
    if (is_other_score) column.requested_for_scoring[index] = static_cast<double>(for_scoring);
    column.inexact += inexact_of(node, resource) - inexact_of(before, resource);
  }
  if (is_full(node) != is_full(before)) full_[index] = is_full(node);
}

void NodeColumns::prefetch(std::size_t index) const {
  for (const OfResource& column : {std::cref(resources_[milli_cpu]), std::cref(resources_[memory])}) {
    prefetch_line_to_write(&column.requested[index]);
    prefetch_line_to_write(&column.requested_for_scoring[index]);
  }
}

void NodeColumns::count(Label& label, std::uint32_t number, std::int32_t nodes) {
  if (number == Label::kNone) return;
  std::uint32_t& counted = label.nodes[number];
  const bool was_shared = counted > 1;
  counted += static_cast<std::uint32_t>(nodes);
  label.having += static_cast<std::size_t>(std::int64_t{nodes});
  label.shared += (counted > 1 ? 1u : 0u);
  label.shared -= (was_shared ? 1u : 0u);
}

void NodeColumns::set_label(Label& label, const std::string& key, std::size_t index, const Node& node) {
  count(label, label.numbers[index], -1);
  label.numbers[index] = Label::kNone;
  const auto found = node.metadata.labels.find(key);
  if (found == node.metadata.labels.end()) return;
  const auto [value, is_new] = label.values.try_emplace(found->second, static_cast<std::uint32_t>(label.values.size()));
  if (is_new) label.nodes.push_back(0);
  label.numbers[index] = value->second;
  count(label, value->second, 1);
}

void NodeColumns::set(std::size_t index, const NodeInfo& before, const NodeInfo& after) {
  if (before.node == after.node) return set_requested(index, before, after);
  set_amounts(index, &before, after);
  mark(index, after.node.get());
  for (auto& [key, label] : labels_) {
    if (index < label.built) set_label(label, key, index, *after.node);
  }
  // Values that no node has any more are dropped, with the column, when there are as many of them as nodes.
  std::erase_if(labels_, [this](const auto& entry) { return entry.second.values.size() > 2 * size(); });
}

std::size_t NodeColumns::kept_values() const {
  std::size_t values = 0;
  for (const auto& [key, label] : labels_) values += label.values.size();
  return values;
}

NodeColumns::Label& NodeColumns::begin_label(const std::string& key, std::size_t nodes) {
  if (const auto found = labels_.find(key); found != labels_.end()) return found->second;
  Label& label = labels_[key];
  static std::uint64_t last_id = 0;
  label.id = ++last_id;
  label.numbers.resize(nodes, Label::kNone);
  return label;
}

void NodeColumns::build(Label& label, const std::string& key, const Nodes& nodes, std::size_t end) {
  for (; label.built < end; ++label.built) set_label(label, key, label.built, *nodes[label.built]->node);
}

const NodeColumns::Label& NodeColumns::label(const std::string& key, const Nodes& nodes) {
  Label& label = begin_label(key, nodes.size());
  build(label, key, nodes, nodes.size());
  return label;
}

bool NodeColumns::build_label(const std::string& key, const Nodes& nodes, std::size_t most) {
  Label& label = begin_label(key, nodes.size());
  if (label.built == nodes.size()) return false;
  build(label, key, nodes, std::min(nodes.size(), label.built + most));
  return true;
}

}  // namespace berth
