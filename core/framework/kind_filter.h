// KindFilter: which kinds of pods can count for a class, by the bits of their labels alone. Most workloads of a fleet
// have nothing to do with one another; only about the few that pass is SummingPlugin::counts_pod() asked.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/api/label_bits.h"
#include "core/cache/pod_kinds.h"

namespace berth {

class KindFilter {
 public:
  void let_all_pass() { all_ = true; }
  // Pods whose labels the selector matches.
  void let_selected_pass(const LabelSelector& selector) { asked_.push_back(LabelBits::asked_by(selector)); }
  // Pods with a term of affinity or anti-affinity whose selector matches these labels.
  void let_selecting_pass(const std::map<std::string, std::string>& labels) { own_ = LabelBits::of(labels); }

  bool passes(const PodKinds::Kind& kind) const { return passes(kind.labels, kind.terms); }
  bool passes(const LabelBits& labels, const std::optional<LabelBits>& terms) const {
    if (all_ || (own_ && terms && own_->has_all(*terms))) return true;
    return std::any_of(asked_.begin(), asked_.end(),
                       [&labels](const LabelBits& asked) { return labels.has_all(asked); });
  }

 private:
  bool all_ = false;
  std::vector<LabelBits> asked_;
  std::optional<LabelBits> own_;
};

}  // namespace berth
