// How amounts of nodes at some indices become rows: for rows.cc and changed_rows.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/framework/rows.h"

namespace berth {

// Never smaller: the next rows may be all nodes again, and to grow clears what is written right after.
inline void grow(NodeColumns::OfResource& rows, std::size_t size) {
  for (auto* each : {&rows.allocatable, &rows.requested, &rows.requested_for_scoring, &rows.reciprocal}) {
    if (each->size() < size) each->resize(size);
  }
}

inline void copy_from_columns(const NodeColumns::OfResource& from, std::span<const std::uint32_t> indices,
                              NodeColumns::OfResource& to, std::size_t first) {
  const std::size_t size = indices.size();
  const std::size_t nodes = from.allocatable.size();
  const double* const from_allocatable = from.allocatable.data();
  const double* const from_requested = from.requested.data();
  const double* const from_for_scoring = from.requested_for_scoring.data();
  const double* const from_reciprocal = from.reciprocal.data();
  double* const allocatable = to.allocatable.data() + first;
  double* const requested = to.requested.data() + first;
  double* const for_scoring = to.requested_for_scoring.data() + first;
  double* const reciprocal = to.reciprocal.data() + first;
  for (std::size_t row = 0; row < size; ++row) {
    const std::size_t index = indices[row];
    if (index >= nodes) continue;
    allocatable[row] = from_allocatable[index];
    requested[row] = from_requested[index];
    for_scoring[row] = from_for_scoring[index];
    reciprocal[row] = from_reciprocal[index];
  }
}

inline void copy_from_nodes(const Snapshot& snapshot, NodeColumns::Resource resource,
                            std::span<const std::uint32_t> indices, NodeColumns::OfResource& to, std::size_t first) {
  for (std::size_t row = 0; row < indices.size(); ++row) {
    if (indices[row] >= snapshot.nodes().size()) continue;
    const NodeColumns::RowAmounts amounts = NodeColumns::amounts_of(*snapshot.nodes()[indices[row]], resource);
    to.allocatable[first + row] = amounts.allocatable;
    to.requested[first + row] = amounts.requested;
    to.requested_for_scoring[first + row] = amounts.requested_for_scoring;
    to.reciprocal[first + row] = amounts.reciprocal;
  }
}

// Copies what the nodes at these indices have to rows from `first` on. Indices without a node are left out: nobody
// reads their rows. Of a node or two that have just changed the state is at hand, and each column would be another line
// of memory.
inline void copy_rows(const Snapshot& snapshot, NodeColumns::Resource resource, std::span<const std::uint32_t> indices,
                      NodeColumns::OfResource& to, std::size_t first) {
  grow(to, first + indices.size());
  if (indices.size() <= 2) {
    copy_from_nodes(snapshot, resource, indices, to, first);
  } else {
    copy_from_columns(snapshot.columns().of(resource), indices, to, first);
  }
}

inline void copy_rows(const std::vector<std::uint8_t>& from, std::span<const std::uint32_t> indices,
                      std::vector<std::uint8_t>& to, std::size_t first) {
  const std::size_t size = indices.size();
  if (to.size() < first + size) to.resize(first + size);
  const std::uint8_t* const flags = from.data();
  std::uint8_t* const copied = to.data() + first;
  for (std::size_t row = 0, nodes = from.size(); row < size; ++row) {
    if (indices[row] < nodes) copied[row] = flags[indices[row]];
  }
}

inline Rows::OfResource rows_from(const NodeColumns::OfResource& rows, std::size_t first,
                                  const NodeColumns::OfResource& nodes) {
  return {rows.allocatable.data() + first,
          rows.requested.data() + first,
          rows.requested_for_scoring.data() + first,
          rows.reciprocal.data() + first,
          nodes.inexact,
          nodes.without};
}

}  // namespace berth
