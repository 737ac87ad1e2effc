#include "plugins/noderesources_fit.h"

#include <algorithm>
#include <limits>

#include "plugins/no_arguments.h"

namespace berth {

namespace {

constexpr std::string_view kScoreKey = "NodeResourcesFit/score";

struct Asked final : StateEntry {
  Resources amount;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Asked>(*this); }
};

std::vector<InsufficientResource> missing(const Resources& asked, const NodeInfo& node) {
  const auto pods = static_cast<std::int64_t>(node.pods.size() + node.charges.size());
  return fits_resources(asked, node.requested, pods, node.allocatable);
}

// What is left after this pod, in hundredths of the capacity; 0 when it takes more than is left.
std::int64_t free_share(std::int64_t used, std::int64_t asked, std::int64_t capacity) {
  constexpr std::int64_t kWhole = ScorePlugin::kMaxScore;
  if (capacity <= 0 || used > capacity || asked > capacity - used) return 0;
  const std::int64_t left = capacity - used - asked;
  if (left > std::numeric_limits<std::int64_t>::max() / kWhole) return left / (capacity / kWhole);
  return left * kWhole / capacity;
}

bool grew(const Resources& asked, const Resources& before, const Resources& after) {
  if (after.allowed_pods > before.allowed_pods) return true;
  if (asked.milli_cpu > 0 && after.milli_cpu > before.milli_cpu) return true;
  if (asked.memory > 0 && after.memory > before.memory) return true;
  if (asked.ephemeral_storage > 0 && after.ephemeral_storage > before.ephemeral_storage) return true;
  return std::any_of(asked.scalar.begin(), asked.scalar.end(), [&](const auto& entry) {
    auto amount = [&entry](const Resources& in) {
      auto found = in.scalar.find(entry.first);
      return found == in.scalar.end() ? 0 : found->second;
    };
    return entry.second > 0 && amount(after) > amount(before);
  });
}

// The node as it would be empty must fit the pod, and it must be new or have grown in what the pod asks for.
Hint after_node_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_node == nullptr) return Hint::queue;
  const Resources asked = pod_requests(pod);
  const Resources after = to_resources(objects.new_node->allocatable);
  if (!fits_resources(asked, {}, 0, after).empty()) return Hint::skip;
  if (objects.old_node == nullptr) return Hint::queue;
  return grew(asked, to_resources(objects.old_node->allocatable), after) ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeResourcesFit::make(const Json& args, Handle&) {
  return make_without_arguments<NodeResourcesFit>(args);
}

std::vector<EventWithHint> NodeResourcesFit::events_to_register() const {
  return {{{EventResource::assigned_pod, kDelete | kUpdatePodScaleDown, "AssignedPodDelete"}, nullptr},
          {{EventResource::node, kAdd | kUpdateNodeAllocatable, "NodeAddOrAllocatable"}, after_node_change}};
}

Status NodeResourcesFit::pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) {
  auto asked = std::make_unique<Asked>();
  asked->amount = pod_requests(pod);
  state.write(kName, std::move(asked));
  return {};
}

Status NodeResourcesFit::filter(CycleState& state, const Pod&, const NodeInfo& node) {
  const auto* asked = state.read<Asked>(kName);
  if (asked == nullptr) return Status::error("PreFilter did not run");
  const std::vector<InsufficientResource> lacking = missing(asked->amount, node);
  if (lacking.empty()) return {};
  std::vector<std::string> reasons;
  bool unresolvable = false;
  for (const InsufficientResource& each : lacking) {
    reasons.push_back(each.reason);
    unresolvable = unresolvable || each.unresolvable;
  }
  return {unresolvable ? Code::unresolvable : Code::unschedulable, std::move(reasons)};
}

Status NodeResourcesFit::pre_score(CycleState& state, const Pod& pod,
                                   const std::vector<std::shared_ptr<const NodeInfo>>&) {
  auto asked = std::make_unique<Asked>();
  asked->amount = container_requests_for_scoring(pod);
  state.write(kScoreKey, std::move(asked));
  return {};
}

Status NodeResourcesFit::score(CycleState& state, const Pod&, const NodeInfo& node, std::int64_t& score) {
  const auto* asked = state.read<Asked>(kScoreKey);
  if (asked == nullptr) return Status::error("PreScore did not run");
  const Resources& used = node.requested_for_scoring;
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  auto count = [&](std::int64_t taken, std::int64_t wanted, std::int64_t capacity) {
    if (capacity == 0) return;  // the node does not offer it: it does not count
    sum += free_share(taken, wanted, capacity);
    ++weights;
  };
  count(used.milli_cpu, asked->amount.milli_cpu, node.allocatable.milli_cpu);
  count(used.memory, asked->amount.memory, node.allocatable.memory);
  score = weights == 0 ? 0 : sum / weights;
  return {};
}

}  // namespace berth
