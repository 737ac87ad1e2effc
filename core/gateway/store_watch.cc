#include "core/gateway/store_watch.h"

#include <algorithm>

namespace berth {

namespace {

constexpr Millis kMarkMs = 3'600'000;
constexpr Millis kNewMs = 3'600'000;

}  // namespace

bool StoreWatch::is_rolled_back() const {
  if (!context_.options.lost_commits.empty()) return true;
  if (!marked_) return false;
  const Identity& identity = *context_.identity;
  if (marked_->store_id != identity.id.store_id) return true;
  // The store may be ahead of its mark, which follows it.
  return !identity.terms.may_contain(marked_->term, identity.id.term) ||
         marked_->position > context_.store.next_position();
}

void StoreWatch::begin() {
  begun_at_ = context_.clock.now();
  if (context_.options.marks != nullptr) marked_ = context_.options.marks->read();
  Identity& identity = context_.identity.edit();
  const std::uint64_t above = identity.id.term;
  context_.nodes.take_fixed_terms(above);
  if (identity.id.store_id.empty()) {  // the first boot of this store
    identity.id.store_id = random_.hex_id();
    identity.adopting = identity.statuses_unread = true;
    identity.is_new = context_.options.first_boot == FirstBoot::is_new && !marked_;
  } else if (is_rolled_back()) {
    const StoreMark marked = marked_.value_or(StoreMark{});
    context_.log.write(Level::error,
                       "the store is an older copy of itself; pods are placed when all nodes have reported",
                       {{"store", identity.id.store_id},
                        {"term", std::to_string(identity.id.term)},
                        {"markedStore", marked.store_id},
                        {"markedTerm", std::to_string(marked.term)},
                        {"lostCommits", context_.options.lost_commits}});
    identity.adopting = identity.statuses_unread = identity.rolled_back = true;
    return disown(std::max(above, marked.term));
  }
  begin_term(above);
}

void StoreWatch::disown(std::uint64_t above) {
  Identity& identity = context_.identity.edit();
  context_.mirror.note_lost_store(identity.id.store_id);
  identity.note_former(identity.id.store_id);
  identity.id.store_id = random_.hex_id();
  identity.terms.clear();
  identity.is_new = identity.led = false;
  begin_term(above);
}

void StoreWatch::begin_term(std::uint64_t above) {
  Identity& identity = context_.identity.edit();
  identity.id.term = above + 1 + random_.below(TermHistory::kSpread);
  identity.terms.begin(identity.id.term, context_.store.next_position());
  mark();
}

void StoreWatch::tick() {
  // P15: the devices of a lost machine have all come back by then. Later one that makes up slots stops nobody.
  if (context_.identity->is_new && context_.clock.now() - begun_at_ >= kNewMs) context_.identity.edit().is_new = false;
  const bool is_due = context_.clock.now() - marked_at_ >= kMarkMs;
  if (is_due || !marked_ || marked_->term != context_.identity->id.term) mark();
}

void StoreWatch::mark() {
  if (context_.options.marks == nullptr) return;
  marked_at_ = context_.clock.now();
  // As it is now, since what other effects of this turn stage may be lost with the power.
  const StoreMark now{context_.identity->id.store_id, context_.identity->id.term, context_.store.next_position()};
  context_.turn.after_commit([this, now] {
    if (marked_ == now) return;
    if (context_.options.marks->write(now)) marked_ = now;
  });
}

}  // namespace berth
