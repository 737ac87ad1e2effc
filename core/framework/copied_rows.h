// How amounts of nodes at some indices become rows: for rows.cc and changed_rows.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/framework/rows.h"

namespace berth {

// Copies what the nodes at these indices have to rows from `first` on. Indices without a node are left out: nobody
// reads their rows.
inline void copy_rows(const NodeColumns::OfResource& from, std::span<const std::uint32_t> indices,
                      NodeColumns::OfResource& to, std::size_t first) {
  const std::size_t size = indices.size();
  // Never smaller: the next rows may be all nodes again, and to grow clears what is written right after.
  for (auto* each : {&to.allocatable, &to.requested, &to.requested_for_scoring, &to.reciprocal}) {
    if (each->size() < first + size) each->resize(first + size);
  }
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
