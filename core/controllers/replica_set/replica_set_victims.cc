#include "core/controllers/replica_set/replica_set_victims.h"

#include <bit>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>

#include "core/stable_sort.h"

namespace berth {
namespace {

// An integer of 32 bits without a leading '+' or zeros; anything else counts as 0 (core/v1/helper,
// GetDeletionCostFromPodAnnotations).
std::int32_t deletion_cost(const ControlledPod& pod) {
  const Labels& annotations = pod.metadata.annotations.get();
  const auto found = annotations.find("controller.kubernetes.io/pod-deletion-cost");
  if (found == annotations.end()) return 0;
  const std::string_view text = found->second;
  if (text.starts_with('0')) return 0;  // zero, or invalid
  std::int32_t cost = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return error == std::errc{} && end == text.data() + text.size() ? cost : 0;
}

// -1 for a time that has not passed yet.
int power_of_two(Millis since, Millis now) {
  if (now <= since) return -1;
  return std::bit_width(static_cast<std::uint64_t>(now - since) * 1'000'000) - 1;
}

struct Candidate {
  ControlledPodPtr pod;
  std::int32_t cost;
  int related_on_node;
};

// Whether a goes before b as it has been in a state for the shorter time; times that are equal must not come here.
bool is_for_shorter(const OptionalTime& a, const OptionalTime& b, const Candidate& first, const Candidate& second,
                    Millis now) {
  if (!a || !b) return !a;
  const int difference = power_of_two(*a, now) - power_of_two(*b, now);
  return difference != 0 ? difference < 0 : first.pod->metadata.uid < second.pod->metadata.uid;
}

bool goes_before(const Candidate& first, const Candidate& second, Millis now) {
  const ControlledPod& a = *first.pod;
  const ControlledPod& b = *second.pod;
  if (a.node_name.empty() != b.node_name.empty()) return a.node_name.empty();
  if (deletion_rank(a.phase) != deletion_rank(b.phase)) return deletion_rank(a.phase) < deletion_rank(b.phase);
  if (a.ready != b.ready) return !a.ready;
  if (first.cost != second.cost) return first.cost < second.cost;
  if (first.related_on_node != second.related_on_node) return first.related_on_node > second.related_on_node;
  if (a.ready && a.ready_since != b.ready_since) {
    return is_for_shorter(a.ready_since, b.ready_since, first, second, now);
  }
  if (a.restarts != b.restarts) return a.restarts > b.restarts;
  if (a.sidecar_restarts != b.sidecar_restarts) return a.sidecar_restarts > b.sidecar_restarts;
  if (a.metadata.created == b.metadata.created) return false;
  return is_for_shorter(a.metadata.created, b.metadata.created, first, second, now);
}

}  // namespace

std::vector<ControlledPodPtr> victims(const std::vector<ControlledPodPtr>& pods,
                                      const std::vector<ControlledPodPtr>& related, std::size_t count, Millis now) {
  if (count >= pods.size()) return pods;
  std::map<std::string_view, int> on_node;
  for (const ControlledPodPtr& pod : related) {
    if (is_active(*pod)) ++on_node[pod->node_name];
  }
  std::vector<Candidate> candidates;
  candidates.reserve(pods.size());
  for (const ControlledPodPtr& pod : pods) {
    const auto found = on_node.find(pod->node_name);
    candidates.push_back({pod, deletion_cost(*pod), found == on_node.end() ? 0 : found->second});
  }
  stable_sort(candidates, [now](const Candidate& a, const Candidate& b) { return goes_before(a, b, now); });
  std::vector<ControlledPodPtr> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(candidates[i].pod);
  return chosen;
}

}  // namespace berth
