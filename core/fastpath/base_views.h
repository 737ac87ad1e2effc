// BaseViews: the base views of one framework. A class finds one that it can share with others here, for as long as any
// class uses it.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "core/fastpath/base_view.h"

namespace berth {

class BaseViews {
 public:
  // `bytes`: of all base views is added to it. What is given outlives this and the views.
  BaseViews(const Framework& framework, ViewScratch& scratch, std::size_t& bytes)
      : answers_(framework), common_{framework, answers_, scratch, changed_, bytes} {}
  BaseViews(const BaseViews&) = delete;
  BaseViews& operator=(const BaseViews&) = delete;

  // For the class of a pod, after its domains have been looked up; its own where it cannot share one.
  std::shared_ptr<BaseView> find_or_make(const BaseView::Of& of, const Snapshot& snapshot);

 private:
  ObjectAnswers answers_;
  ChangedRows changed_;
  BaseView::Common common_;
  std::unordered_multimap<std::size_t, std::weak_ptr<BaseView>> shared_;  // by hash
  std::size_t most_ = 64;                                                 // then those that nobody uses are dropped
};

}  // namespace berth
