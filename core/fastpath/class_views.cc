#include "core/fastpath/class_views.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "core/api/pod.h"
#include "core/fastpath/pod_class.h"

namespace berth {

std::size_t ClassCounts::place(std::size_t hash, std::size_t row) {
  // Other bits for each row, well mixed (SplitMix64's output function): what meets in one row is apart in the others.
  std::uint64_t mixed = hash;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  mixed ^= mixed >> 31;
  static_assert(kRows * kBits <= 64);
  return static_cast<std::size_t>(mixed >> (row * kBits)) % kWidth;
}

std::uint8_t ClassCounts::of(std::size_t hash) const {
  std::uint8_t least = 255;
  for (std::size_t row = 0; row < kRows; ++row) least = std::min(least, counts_[row][place(hash, row)]);
  return least;
}

std::uint8_t ClassCounts::add(std::size_t hash) {
  constexpr std::size_t kHalvedAfter = 8 * kWidth;
  for (std::size_t row = 0; row < kRows; ++row) {
    std::uint8_t& count = counts_[row][place(hash, row)];
    if (count < 255) ++count;
  }
  if (++added_ == kHalvedAfter) {
    added_ = 0;
    for (auto& row : counts_) {
      for (std::uint8_t& count : row) count /= 2;
    }
  }
  return of(hash);
}

std::size_t ClassViews::ClassOf::hash() const {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15u;  // of the golden ratio
  std::uint64_t sum = hash_of_class(pod, with_labels);
  for (const auto& [plugin, key] : keys) {
    if (key) sum = (sum ^ std::hash<std::string>()(*key)) * kMix;
  }
  return static_cast<std::size_t>(sum);
}

ClassViews::ClassOf ClassViews::class_of(const NodeQuery& query) {
  const auto& summing = query.framework.summing();
  const bool with_labels = std::any_of(summing.begin(), summing.end(), [&](const SummingPlugin* plugin) {
    return plugin->reads_labels(query.pod, query.snapshot);
  });
  return {query.framework, query.pod, with_labels, ClassView::equivalence_keys_of(query.framework, query.pod)};
}

ClassViews::Kept& ClassViews::find_or_make(const ClassOf& of_pod, bool counts) {
  if (!takes_turns_ && last_ != nullptr && of_pod.is_of(*last_->view)) {
    if (counts) counts_.add(last_->hash);
    return *last_;
  }
  const std::size_t hash = of_pod.hash();
  if (counts) counts_.add(hash);
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto found = std::find_if(first, last, [&](const auto& each) { return of_pod.is_of(*each.second->view); });
  Kept* const kept = found == last ? &make(of_pod, hash) : found->second;
  takes_turns_ = std::exchange(last_, kept) != kept;
  return *kept;
}

ClassViews::Kept& ClassViews::make(const ClassOf& of_pod, std::size_t hash) {
  BaseViews& bases = bases_.try_emplace(&of_pod.framework, of_pod.framework, scratch_, base_bytes_).first->second;
  auto kept = std::make_unique<Kept>();
  kept->hash = hash;
  kept->place = views_.size();
  kept->view = std::make_unique<ClassView>(of_pod.framework, of_pod.pod, of_pod.keys, bases, scratch_);
  by_hash_.emplace(hash, kept.get());
  if (counts_.of(hash) <= 1) newcomers_.push_back(kept.get());
  views_.push_back(std::move(kept));
  ++begun_;
  return *views_.back();
}

void ClassViews::drop(std::size_t place) {
  if (last_ == views_[place].get()) last_ = nullptr;
  const auto [first, last] = by_hash_.equal_range(views_[place]->hash);
  by_hash_.erase(std::find_if(first, last, [&](const auto& each) { return each.second == views_[place].get(); }));
  std::erase(newcomers_, views_[place].get());
  bytes_ -= views_[place]->bytes;
  std::swap(views_[place], views_.back());
  views_[place]->place = place;
  views_.pop_back();
}

void ClassViews::keep_few_newcomers() {
  while (newcomers_.size() > kNewcomers) {
    const Kept& eldest = *newcomers_.front();
    if (counts_.of(eldest.hash) > 1) {
      newcomers_.pop_front();
    } else {
      drop(eldest.place);
    }
  }
}

// Drops views: of a few that come next, and the newest, that which is asked for most seldom. Classes that come by in
// turn have the same counts; then the newest goes, and the others still serve when their turn comes (TinyLFU; Einziger,
// Friedman, Manes, ACM TOS 13 (4), 2017).
void ClassViews::keep_within_bounds(const Kept* needed) {
  constexpr std::size_t kSample = 8;
  while (kept_bytes() > most_bytes_ && views_.size() > 1) {
    std::size_t worst = views_.size() - 1;
    if (views_[worst].get() == needed) --worst;
    for (std::size_t i = 0; i < std::min(kSample, views_.size()); ++i) {
      hand_ = (hand_ + 1) % views_.size();
      if (views_[hand_].get() == needed) continue;
      const std::uint8_t count = counts_.of(views_[hand_]->hash);
      const std::uint8_t least = counts_.of(views_[worst]->hash);
      if (count < least) worst = hand_;
    }
    drop(worst);
  }
}

void ClassViews::keep_at_most(std::size_t bytes) {
  most_bytes_ = bytes;
  keep_within_bounds(nullptr);
}

void ClassViews::note_bytes(Kept& kept) {
  bytes_ -= std::exchange(kept.bytes, kept.view->bytes());
  bytes_ += kept.bytes;
}

bool ClassViews::prepare(const NodeQuery& query, std::size_t most) {
  if (!why_unsuited(query).empty()) return false;
  keep_few_newcomers();
  Kept& kept = find_or_make(class_of(query), false);
  keep_within_bounds(&kept);
  if (kept.view->is_prepared(query.snapshot)) return false;
  const bool more = kept.view->prepare(query.snapshot, query.pod, most);
  note_bytes(kept);
  return more;
}

Evaluation ClassViews::evaluate(const NodeQuery& query) {
  if (const std::string_view why = why_unsuited(query); !why.empty()) return Evaluation::decline(why);
  keep_few_newcomers();  // not when a view was made: a rejection refers to it until the next pod
  const ClassOf of_pod = class_of(query);
  Kept* const kept = &find_or_make(of_pod, true);
  keep_within_bounds(kept);
  if (const std::string_view why = kept->view->follow(query.snapshot, query.pod); !why.empty()) {
    if (views_.back().get() == kept) drop(views_.size() - 1);  // most often it was just made, and could not begin
    return Evaluation::decline(why);
  }
  ClassView::Attempt attempt(*kept->view, undeclared_, query);
  Evaluation evaluation = decide(attempt, query);
  note_bytes(*kept);
  return evaluation;
}

}  // namespace berth
