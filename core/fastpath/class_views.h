// ClassViews: decides for every pod by the view of its class. Views are found by a hash of the class, and kept within a
// bound of memory: a class that is asked for more often keeps its view, and classes that come by in turn, more of them
// than fit, do not drive each other out. A class that was asked for once keeps its view until some others have come, as
// a pod that is pinned to its device by a label has a class of its own: its memory is for the next one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/fastpath/class_view.h"
#include "core/scheduler/node_evaluator.h"

namespace berth {

// How often classes were asked for lately, about: a count-min sketch whose counts are halved now and then.
class ClassCounts {
 public:
  // Counts one more, and returns the count.
  std::uint8_t add(std::size_t hash);
  std::uint8_t of(std::size_t hash) const;

 private:
  static constexpr std::size_t kRows = 3;
  static constexpr unsigned kBits = 13;
  static constexpr std::size_t kWidth = std::size_t{1} << kBits;
  static std::size_t place(std::size_t hash, std::size_t row);
  std::array<std::array<std::uint8_t, kWidth>, kRows> counts_{};
  std::size_t added_ = 0;
};

// For one scheduler, whose snapshot is always the same object.
class ClassViews final : public NodeEvaluator {
 public:
  static constexpr std::size_t kNewcomers = 1024;  // views of classes that were asked for once
  // Memory of all views, about; at least one is kept.
  explicit ClassViews(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  Evaluation evaluate(const NodeQuery& query) override;
  bool prepare(const NodeQuery& query, std::size_t most) override;
  std::size_t kept_bytes() const override { return bytes_ + base_bytes_; }
  void keep_at_most(std::size_t bytes) override;

  std::size_t size() const { return views_.size(); }
  std::uint64_t begun() const { return begun_; }  // views that were made

 private:
  // A pod, and what else its class depends on.
  struct ClassOf {
    const Framework& framework;
    const Pod& pod;
    bool with_labels = false;  // a plugin reads them
    ClassView::EquivalenceKeys keys;
    bool is_of(const ClassView& view) const { return view.is_of(framework, pod, keys, with_labels); }
    std::size_t hash() const;
  };
  struct Kept {
    std::size_t hash = 0;
    std::size_t bytes = 0;
    std::size_t place = 0;  // in views_
    std::unique_ptr<ClassView> view;
  };
  static ClassOf class_of(const NodeQuery& query);
  Kept& find_or_make(const ClassOf& of_pod, bool counts);  // whether as one more time that the class is asked for
  Kept& make(const ClassOf& of_pod, std::size_t hash);
  void keep_few_newcomers();
  void keep_within_bounds(const Kept* needed);  // which stays; null: none
  void note_bytes(Kept& kept);
  void drop(std::size_t place);

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;       // of views, without their base views
  std::size_t base_bytes_ = 0;  // of those
  std::uint64_t begun_ = 0;
  ViewScratch scratch_;
  Undeclared undeclared_;
  std::map<const Framework*, BaseViews> bases_;
  std::vector<std::unique_ptr<Kept>> views_;
  std::unordered_multimap<std::size_t, Kept*> by_hash_;
  std::deque<Kept*> newcomers_;  // classes that had been asked for once when they came here; the eldest first
  ClassCounts counts_;
  Kept* last_ = nullptr;      // that which served last; pods of one class mostly come one after another
  bool takes_turns_ = false;  // the last pod's class was not that of the one before it: the next is compared by hash
  std::size_t hand_ = 0;      // where the search for a view to drop goes on
};

}  // namespace berth
