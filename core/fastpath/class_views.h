// ClassViews: decides for pods of classes that were seen before, by a view of each of the classes used last.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "core/fastpath/class_view.h"
#include "core/scheduler/node_evaluator.h"

namespace berth {

// Of one scheduler: the same snapshot always. A class gets a view when the second pod of it comes soon enough: many
// never see one.
class ClassViews final : public NodeEvaluator {
 public:
  static constexpr std::size_t kClasses = 8;
  static constexpr std::size_t kSeen = 16;
  // `first`: who is asked about the first pod of a class; where it declines, or is null, the class gets its view at
  // once.
  explicit ClassViews(std::unique_ptr<NodeEvaluator> first) : first_(std::move(first)) {}
  Evaluation evaluate(const NodeQuery& query) override;

 private:
  // A pod, and what besides it tells its class.
  struct ClassOf {
    const Framework& framework;
    const Pod& pod;
    bool with_labels = false;  // somebody reads them
    ClassView::EquivalenceKeys keys;
  };
  static ClassOf class_of(const NodeQuery& query);
  // True when no other pod of the class was asked about lately.
  bool is_first(const ClassOf& of_pod);
  ClassView& view_of(const ClassOf& of_pod);

  struct Seen {
    const Framework* framework = nullptr;
    std::shared_ptr<const Pod> pod;  // without its manifest
  };
  std::unique_ptr<NodeEvaluator> first_;
  std::vector<std::unique_ptr<ClassView>> views_;  // the one used last in front
  std::deque<Seen> seen_;                          // the last in front
};

}  // namespace berth
