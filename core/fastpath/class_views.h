// ClassViews: decides for pods of classes that were seen before, with a view for each of the classes used last.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "core/fastpath/class_view.h"
#include "core/scheduler/node_evaluator.h"

namespace berth {

// For one scheduler, whose snapshot is always the same object. A class gets a view with its second pod, as many classes
// have only one.
class ClassViews final : public NodeEvaluator {
 public:
  static constexpr std::size_t kClasses = 8;
  static constexpr std::size_t kSeen = 16;
  // `first`: decides for the first pod of a class; when it declines, or is null, the class gets its view at once.
  explicit ClassViews(std::unique_ptr<NodeEvaluator> first) : first_(std::move(first)) {}
  Evaluation evaluate(const NodeQuery& query) override;

 private:
  // A pod, and what else its class depends on.
  struct ClassOf {
    const Framework& framework;
    const Pod& pod;
    bool with_labels = false;  // a plugin reads them
    ClassView::EquivalenceKeys keys;
  };
  static ClassOf class_of(const NodeQuery& query);
  // True when the class is not among those seen last.
  bool is_first(const ClassOf& of_pod);
  ClassView& view_of(const ClassOf& of_pod);

  struct Seen {
    const Framework* framework = nullptr;
    std::shared_ptr<const Pod> pod;  // without its manifest
  };
  std::unique_ptr<NodeEvaluator> first_;
  std::vector<std::unique_ptr<ClassView>> views_;  // the one used last first
  std::deque<Seen> seen_;                          // the last first
  Undeclared undeclared_;
};

}  // namespace berth
