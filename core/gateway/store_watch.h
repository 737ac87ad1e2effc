// StoreWatch: begins a term at each start, and notices a store that is an older copy of itself (P11): by the mark that
// is kept outside of it, and by damage of its log that GatewayOptions::lost_commits tells of.
#pragma once

#include "core/placement/context.h"

namespace berth {

class StoreWatch {
 public:
  // The context outlives it; of GatewayOptions::marks it uses what there is.
  explicit StoreWatch(const PlacementContext& context) : context_(context), random_(context.options.identity_seed) {}

  // The identity is loaded, or new: a term of its own for this start, durable with the turn, and marked after it. What
  // an older copy knows is kept, but under a new store id and in adopt mode, so that what the lost future placed is
  // asked for.
  void begin();
  // What is known is not all that was placed: as of an older copy, it is kept under a new store id and a term above
  // this one. Adopt mode is the caller's.
  void disown(std::uint64_t above);
  // Marks how far the store has come, after this turn's commit; without effect when that is marked.
  void mark();
  // Called once a second: marks each new term, and how far the store has come once an hour, since that wears the flash.
  void tick();

 private:
  bool is_rolled_back() const;
  void begin_term(std::uint64_t above);

  const PlacementContext& context_;
  Random random_;
  std::optional<StoreMark> marked_;
  Millis marked_at_ = 0;
  Millis begun_at_ = 0;
};

}  // namespace berth
