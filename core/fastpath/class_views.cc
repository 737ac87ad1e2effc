#include "core/fastpath/class_views.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"
#include "core/fastpath/pod_class.h"

namespace berth {

ClassViews::ClassOf ClassViews::class_of(const NodeQuery& query) {
  const auto& summing = query.framework.summing();
  const bool with_labels = std::any_of(summing.begin(), summing.end(), [&](const SummingPlugin* plugin) {
    return plugin->reads_labels(query.pod, query.snapshot);
  });
  return {query.framework, query.pod, with_labels, ClassView::equivalence_keys_of(query.framework, query.pod)};
}

bool ClassViews::is_first(const ClassOf& of_pod) {
  const auto& [framework, pod, with_labels, keys] = of_pod;
  for (const Seen& each : seen_) {
    if (each.framework == &framework && is_same_class(*each.pod, pod, with_labels)) return false;
  }
  for (const auto& view : views_) {
    if (view->is_of(framework, pod, keys, with_labels)) return false;
  }
  auto first = std::make_shared<Pod>(pod);
  first->shape = {};
  seen_.push_front({&framework, std::move(first)});
  if (seen_.size() > kSeen) seen_.pop_back();
  return true;
}

ClassView& ClassViews::view_of(const ClassOf& of_pod) {
  const auto& [framework, pod, with_labels, keys] = of_pod;
  auto found = views_.begin();
  while (found != views_.end() && !(*found)->is_of(framework, pod, keys, with_labels)) ++found;
  if (found == views_.end()) {
    if (views_.size() == kClasses) views_.pop_back();
    found = views_.insert(views_.end(), std::make_unique<ClassView>(framework, pod, keys));
  }
  std::rotate(views_.begin(), found, found + 1);
  return *views_.front();
}

Evaluation ClassViews::evaluate(const NodeQuery& query) {
  if (const std::string_view why = why_unsuited(query); !why.empty()) return Evaluation::decline(why);
  const ClassOf of_pod = class_of(query);
  // A view keeps track of what such a plugin reads, so that the next pod costs what changed. A scan would have to ask
  // the plugin for nodes one by one, and leave nothing to the next pod.
  const bool is_tracked =
      std::any_of(of_pod.keys.begin(), of_pod.keys.end(), [](const auto& key) { return key.second.has_value(); });
  if (is_first(of_pod) && first_ != nullptr && !is_tracked) {
    Evaluation evaluation = first_->evaluate(query);
    if (evaluation.outcome != Evaluation::Outcome::declined) return evaluation;
  }
  ClassView& view = view_of(of_pod);
  if (const std::string_view why = view.follow(query.snapshot, query.pod); !why.empty()) {
    return Evaluation::decline(why);
  }
  ClassView::Attempt attempt(view, undeclared_, query);
  return decide(attempt, query);
}

}  // namespace berth
