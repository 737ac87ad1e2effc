// TermHistory: which epochs this store may have given. Each start of the gateway is a new term, so an epoch of a term
// belongs to the positions of the journal between that term's start and the next one's. What lies outside was given by
// another store, or by a later state of this one that was lost since: the store is a copy of the past (P11). For an
// agent's store, each start of the agent is a term (N8).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/handshake/epoch.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

enum class EpochOrigin {
  ours,
  foreign,  // of another store, or of a term that is no longer in the history
  unknown,  // of a term that this store has had, or could have, but not given by the store as it is
};

class TermHistory {
 public:
  static constexpr std::size_t kMaxTerms = 32;  // the oldest are dropped
  // Terms rise by a random number below this, so that those of two copies of one store differ.
  static constexpr std::uint64_t kSpread = 1 << 16;

  // The term begins at this position of the journal; it is above all earlier ones.
  void begin(std::uint64_t term, std::uint64_t position);
  // Epochs given so far are no longer known as ours.
  void clear() { starts_.clear(); }
  // Another state of the store has had this term: from now on it is contained, with no epoch given in it. It is not
  // contained already, and not before the first term. `next_position`: of the journal, now.
  void note_lost(std::uint64_t term, std::uint64_t next_position);
  bool contains(std::uint64_t term) const;
  std::uint64_t last() const { return starts_.empty() ? 0 : starts_.back().term; }
  // The same where the history tells; before its first term, or in an empty one, any term up to `last` may have been:
  // an earlier program kept none.
  bool may_contain(std::uint64_t term, std::uint64_t last) const;
  // `next_position`: of the journal, now.
  EpochOrigin origin_of(const Epoch& epoch, std::uint64_t next_position) const;

  Json to_json() const;
  // An error says what cannot be read.
  static Result<TermHistory> parse(const Json& json);
  bool operator==(const TermHistory&) const = default;

 private:
  std::vector<Epoch> starts_;  // of terms: the counter is the position; ascending
};

}  // namespace berth
