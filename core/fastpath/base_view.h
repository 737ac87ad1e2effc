// BaseView: the fleet as plugins see it that look at one node at a time, for pods that they do not tell apart. Such
// pods are of many classes: what a class asks of other pods, and its labels, namespace and owner, are of no concern
// here. So each node that changed is judged once for all of them.
//
// A class whose SummingPlugins know nodes by traits of their own, or whose Filter depends on the pod's volumes, has a
// base view for itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/fastpath/asked_plugins.h"
#include "core/fastpath/class_sums.h"
#include "core/fastpath/counted_bytes.h"
#include "core/fastpath/object_answers.h"
#include "core/fastpath/ranks.h"
#include "core/fastpath/undeclared.h"
#include "core/fastpath/view_scratch.h"
#include "core/framework/changed_rows.h"
#include "core/framework/framework.h"
#include "core/framework/node_statuses.h"

namespace berth {

class BaseView {
 public:
  // What base views of one framework have in common; all of it outlives them.
  struct Common {
    const Framework& framework;
    ObjectAnswers& answers;
    ViewScratch& scratch;
    ChangedRows& changed;  // of the snapshot that all of them follow
    std::size_t& bytes;    // of memory, about, of all of them
  };
  // What the class of pods is, or one of those that share the view.
  struct Of {
    const Pod& pod;
    PluginBits tracked;  // TrackingPlugins that have a key for the pod
    UndeclaredPlugins undeclared;
    const Domains& domains;  // which nodes in different ones are in different groups
    const ClassSums* sums;   // of the one class, whose nodes have traits; null: shared
  };
  BaseView(const Common& common, const Of& of, bool with_images);

  // True when a class that asks for a shared view with these may share this one.
  bool serves(const Pod& pod, const Domains& domains, bool with_images) const;
  // Whether nodes had images when the view was made: plugins may tell more pods apart while nodes have any.
  bool with_images() const { return with_images_; }

  // Updates the view; `pod` is one of those that it is for. Not empty: why the plain path has to decide for it.
  std::string_view follow(const Snapshot& snapshot, const Pod& pod);
  // Does a part of that, for so many nodes at most. False: nothing was left to do that takes long.
  bool prepare(const Snapshot& snapshot, const Pod& pod, std::size_t most);
  // True when it would not do anything.
  bool is_prepared(const Snapshot& snapshot) const;
  // How often PreFilter and PreScore of declared plugins that do not sum have run; state() has what they wrote.
  std::int64_t begun() const { return begun_; }
  CycleState& state() { return asked_.state; }

  // The nodes that these plugins accept.
  Ranks& ranks() { return ranks_; }
  const Ranks& ranks() const { return ranks_; }
  // What the own scores of a group's nodes are, besides their ranks.
  std::int64_t beyond_ranks(Ranks::Number group) const;
  // What a Score plugin with normalize() says of the group's nodes: `place` in Framework::scores().
  std::int64_t raw_score(Ranks::Number group, std::size_t place) const;
  // Why the other nodes are rejected, which is kept from the first call on. Null: a plugin failed.
  const NodeStatuses* rejected(const Snapshot& snapshot);

 private:
  // A plugin that reads nodes' objects alone, and what it says.
  struct OfObjects {
    std::shared_ptr<ObjectAnswer> answer;  // null: does not take part, or reads more
    bool was_uniform = false;              // when the view was begun
    std::int32_t was_same = 0;
    std::size_t in_key = 0;  // the place of its scores in groups' keys
  };
  bool fail(std::string_view why) {
    why_not_begun_ = why;
    return false;
  }
  void follow_some(const Snapshot& snapshot, const Pod& pod, std::size_t most);
  bool holds(const Snapshot& snapshot) const;
  bool note_tracked_changes(const Snapshot& snapshot);
  bool begin(const Snapshot& snapshot);
  bool ask_class(const Snapshot& snapshot);
  bool take_object_answers(const Snapshot& snapshot);
  bool follow_object_answers(const Snapshot& snapshot);
  bool note_shape();
  bool catch_up(const Snapshot& snapshot);
  bool judge_changed(const Snapshot& snapshot);
  bool begin_judging(const Snapshot& snapshot);
  bool judge_next(const Snapshot& snapshot, std::size_t most);
  bool judge(const Rows& rows, const Snapshot& snapshot);
  bool filter_rows(const Rows& rows, const Snapshot& snapshot);
  bool score_rows(const Rows& rows, const Snapshot& snapshot);
  bool ask_scores(std::size_t place, const Rows& rows, const Snapshot& snapshot, std::vector<std::int32_t>& scores);
  bool place_rows(const Rows& rows, const Snapshot& snapshot);
  bool has_traits(std::size_t index) const { return sums_ != nullptr && sums_->touched().contains(index); }
  Ranks::Number group_of(std::size_t row, std::size_t index, const Snapshot& snapshot);
  bool group_all(const Snapshot& snapshot);
  bool number_groups(std::size_t count, const Snapshot& snapshot);
  // The status of the first plugin that rejects the node; success when none does.
  Status why_rejected(std::size_t index, const Snapshot& snapshot);
  bool tell_why(const Rows& rows, const Snapshot& snapshot);
  bool tell_next(const Snapshot& snapshot, std::size_t most);
  bool tell_why_of_all(const Snapshot& snapshot);
  bool number_reasons(const Rows& rows, const Snapshot& snapshot, std::vector<std::uint32_t>& reasons);

  const Common common_;
  Pod pod_;  // one of those that the view is for
  const PluginBits tracked_;
  const ClassSums* const sums_;
  const bool with_images_;
  bool is_begun_ = false;
  std::int64_t begun_ = 0;
  std::string_view why_not_begun_;
  AskedPlugins asked_;
  Domains domains_;
  std::vector<OfObjects> object_filters_, object_scores_;  // by place in the framework's list
  std::vector<std::size_t> asked_filters_;                 // places of those that are asked, in it
  std::int64_t most_own_ = 0;                              // the highest sum of own scores
  std::size_t normalizing_ = 0;                            // plugins whose scores are in the groups' keys
  bool one_group_ = false;                                 // all nodes have the same traits
  bool groups_by_object_ = false;  // the group of a node without pods that count follows from its object
  Ranks ranks_;
  std::size_t judged_ = 0;   // nodes before this index have been, in this view
  bool asks_nodes_ = false;  // a plugin has no batch for such pods, so that to judge all nodes takes long
  bool tells_why_ = false;
  std::size_t told_ = 0;   // while tells_why_: of nodes before this index
  NodeStatuses rejected_;  // while tells_why_: the nodes that are not ranked
  // Of the snapshot's logs, what the view has followed.
  std::int64_t changes_made_ = 0;
  std::int64_t object_changes_made_ = 0;
  CountedBytes counted_;
};

}  // namespace berth
