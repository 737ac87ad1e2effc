#include "core/cache/pod_kinds.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "core/api/pod.h"
#include "core/cache/node_info.h"

namespace berth {

namespace {

bool is_same_kind(const Pod& a, const Pod& b) {
  return a.metadata.deleting == b.metadata.deleting && a.metadata.namespace_ == b.metadata.namespace_ &&
         a.metadata.labels == b.metadata.labels && a.affinity->pod_affinity == b.affinity->pod_affinity &&
         a.affinity->pod_anti_affinity == b.affinity->pod_anti_affinity;
}

// Of what most kinds differ in.
std::size_t hash_of(const Pod& pod) {
  const std::hash<std::string_view> hash;
  std::uint64_t sum = hash(pod.metadata.namespace_) + (pod.metadata.deleting ? 1 : 0);
  const auto add = [&](std::string_view text) { sum = (sum ^ hash(text)) * 0x9E3779B97F4A7C15u; };
  for (const auto& [key, value] : pod.metadata.labels) {
    add(key);
    add(value);
  }
  for (const PodAffinity* each : {&pod.affinity->pod_affinity, &pod.affinity->pod_anti_affinity}) {
    for (const PodAffinityTerm& term : each->required) add(term.topology_key);
    for (const WeightedPodAffinityTerm& term : each->preferred) add(term.term.topology_key);
  }
  return static_cast<std::size_t>(sum);
}

}  // namespace

std::optional<LabelBits> PodKinds::terms_of(const Pod& pod) {
  std::optional<LabelBits> bits;
  const auto add = [&bits](const PodAffinityTerm& term) {
    if (!term.label_selector) return;  // selects no pod
    const LabelBits asked = LabelBits::asked_by(*term.label_selector);
    bits = bits ? bits->common_with(asked) : asked;
  };
  for (const PodAffinity* each : {&pod.affinity->pod_affinity, &pod.affinity->pod_anti_affinity}) {
    for (const PodAffinityTerm& term : each->required) add(term);
    for (const WeightedPodAffinityTerm& term : each->preferred) add(term.term);
  }
  return bits;
}

void PagedCounts::add(std::size_t index, std::int64_t delta) {
  if (index / kPage >= pages_.size()) pages_.resize(index / kPage + 1);
  Page& page = pages_[index / kPage];
  if (page.counts.empty()) page.counts.resize(kPage);
  std::uint16_t& count = page.counts[index % kPage];
  page.used -= count != 0 ? 1u : 0u;
  count = static_cast<std::uint16_t>(count + delta);
  page.used += count != 0 ? 1u : 0u;
  if (page.used == 0) page.counts = {};
}

PodKinds::Number PodKinds::kind_of(const PodPtr& pod) {
  const std::size_t hash = hash_of(*pod);
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto found =
      std::find_if(first, last, [&](const auto& each) { return is_same_kind(*kinds_[each.second].pod, *pod); });
  if (found != last) return found->second;
  if (free_.empty()) {
    free_.push_back(static_cast<Number>(kinds_.size()));
    kinds_.emplace_back();
  }
  const Number number = free_.back();
  free_.pop_back();
  by_hash_.emplace(hash, number);
  kinds_[number].pod = pod;
  kinds_[number].serial = serial_ = serial_ % kLastSerial + 1;
  kinds_[number].labels = LabelBits::of(pod->metadata.labels);
  kinds_[number].terms = terms_of(*pod);
  return number;
}

void PodKinds::add(std::size_t index, const PodPtr& pod, std::int32_t pods, Changes& changes) {
  const Number number = kind_of(pod);
  Kind& kind = kinds_[number];
  kind.pods += pods;
  kind.on_nodes.add(index, pods);
  const auto known =
      std::find_if(changes.begin(), changes.end(), [number](const Change& each) { return each.kind == number; });
  if (known != changes.end()) {
    known->pods += pods;
  } else {
    changes.push_back({number, kind.serial, pods, static_cast<std::uint32_t>(index), kind.pod});
  }
}

// What most changes are, one pod more or less, is found from the ends of both lists.
PodKinds::Changes PodKinds::change(std::size_t index, const NodeInfo* before, const NodeInfo* after) {
  static const PodList kNone;
  const auto& old_pods = before == nullptr ? kNone : before->pods;
  const auto& new_pods = after == nullptr ? kNone : after->pods;
  const auto shared = static_cast<std::ptrdiff_t>(old_pods.shared_with(new_pods));
  const auto [first_old, first_new] =
      std::mismatch(old_pods.begin() + shared, old_pods.end(), new_pods.begin() + shared, new_pods.end());
  auto last_old = old_pods.end();
  auto last_new = new_pods.end();
  while (last_old != first_old && last_new != first_new && *(last_old - 1) == *(last_new - 1)) {
    --last_old;
    --last_new;
  }
  Changes changes;
  for (auto pod = first_new; pod != last_new; ++pod) add(index, *pod, 1, changes);
  for (auto pod = first_old; pod != last_old; ++pod) add(index, *pod, -1, changes);
  std::erase_if(changes, [](const Change& each) { return each.pods == 0; });
  for (const Change& each : changes) {
    if (kinds_[each.kind].pods > 0) continue;
    const auto [first, last] = by_hash_.equal_range(hash_of(*kinds_[each.kind].pod));
    by_hash_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == each.kind; }));
    kinds_[each.kind].pod = nullptr;
    free_.push_back(each.kind);
  }
  return changes;
}

}  // namespace berth
