#include "plugins/noderesources_fit.h"

#include <algorithm>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/vectorized.h"

namespace berth {

namespace {

// Every strategy assumes default requests for containers without any; balanced allocation counts actual requests only.
constexpr bool kWithDefaults = true;

struct Asked final : StateEntry {
  Resources amount;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Asked>(*this); }
};

struct AskedForFit final : StateEntry {
  std::vector<std::int64_t> by_resource;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<AskedForFit>(*this); }
};

// An amount too large to be exact as a double exceeds what any node has left.
BERTH_VECTORIZED void reject_short(double asked, const double* allocatable, const double* requested, std::size_t rows,
                                   std::uint8_t* rejects) {
  for (std::size_t row = 0; row < rows; ++row) {  // without branches, to be vectorised
    const std::uint8_t is_short = asked > allocatable[row] - requested[row] ? 1 : 0;
    rejects[row] |= is_short;
  }
}

BERTH_VECTORIZED void reject_full(const std::uint8_t* full, std::size_t rows, std::uint8_t* rejects) {
  for (std::size_t row = 0; row < rows; ++row) rejects[row] |= full[row];
}

// The bits by which filter() keeps its statuses.
BERTH_VECTORIZED void number_short(double asked, std::uint8_t bit, const double* allocatable, const double* requested,
                                   std::size_t rows, std::uint8_t* reasons) {
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint8_t is_short = asked > allocatable[row] - requested[row] ? bit : 0;
    const std::uint8_t is_unresolvable = asked > allocatable[row] ? 1 : 0;
    reasons[row] = static_cast<std::uint8_t>(reasons[row] | is_short | is_unresolvable);
  }
}

std::array<std::int64_t, NodeColumns::kResources> column_amounts(const Resources& asked) {
  return {asked.milli_cpu, asked.memory, asked.ephemeral_storage};
}

// Whether the columns tell all that such a pod is judged by.
bool has_exact_columns(const Resources& asked, const Snapshot& snapshot) {
  if (!asked.scalar.empty()) return false;
  const auto amounts = column_amounts(asked);
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] > 0 && snapshot.columns().of(static_cast<NodeColumns::Resource>(i)).inexact != 0) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeResourcesFit::make(const Json& args, Handle&) {
  Result<FitArguments> arguments = read_fit_arguments(args);
  if (!arguments) return arguments.error();
  return std::unique_ptr<Plugin>(std::make_unique<NodeResourcesFit>(std::move(*arguments)));
}

bool NodeResourcesFit::is_ignored(const std::string& resource) const {
  const std::size_t slash = resource.find('/');
  const bool extended = slash != std::string::npos && resource.find("kubernetes.io/") == std::string::npos;
  return extended && (arguments_.ignored_resources.contains(resource) ||
                      arguments_.ignored_resource_groups.contains(resource.substr(0, slash)));
}

Status NodeResourcesFit::pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) {
  auto asked = std::make_unique<Asked>();
  asked->amount = pod_requests(pod);
  std::erase_if(asked->amount.scalar.edit(), [this](const auto& entry) { return is_ignored(entry.first); });
  state.write(std::move(asked));
  return {};
}

Status NodeResourcesFit::filter(CycleState& state, const Pod&, const NodeInfo& node) {
  return filter_amounts(state, node, node.requested, node.pods_and_charges());
}

Status NodeResourcesFit::filter_amounts(const CycleState& state, const NodeInfo& node, const Resources& requested,
                                        std::int64_t pods) {
  const auto* asked = state.read<Asked>();
  if (asked == nullptr) return Status::error("PreFilter did not run");
  fits_resources(asked->amount, requested, pods, node.allocatable, missing_);
  if (missing_.empty()) return {};
  const auto is_unresolvable = [](const InsufficientResource& each) { return each.unresolvable; };
  const bool unresolvable = std::any_of(missing_.begin(), missing_.end(), is_unresolvable);
  std::size_t kinds = unresolvable ? 1 : 0;
  for (const InsufficientResource& each : missing_) {
    if (each.kind == InsufficientResource::Kind::extended) return rejection(unresolvable);
    kinds |= std::size_t{2} << static_cast<unsigned>(each.kind);
  }
  Status& known = rejections_[kinds];
  if (known.is_success()) known = rejection(unresolvable);
  return known;
}

Status NodeResourcesFit::rejection(bool unresolvable) const {
  Status::Reasons reasons;
  for (const InsufficientResource& each : missing_) reasons.push_back(each.reason());
  return {unresolvable ? Code::unresolvable : Code::unschedulable, std::move(reasons)};
}

bool NodeResourcesFit::filter_rows(CycleState& state, const Pod&, const Snapshot& snapshot, const Rows& rows,
                                   std::uint8_t* rejects) {
  const auto* asked = state.read<Asked>();
  if (asked == nullptr || !has_exact_columns(asked->amount, snapshot)) return false;
  const auto amounts = column_amounts(asked->amount);
  reject_full(rows.full(), rows.size(), rejects);
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] <= 0) continue;
    const Rows::OfResource of = rows.of(static_cast<NodeColumns::Resource>(i));
    reject_short(static_cast<double>(amounts[i]), of.allocatable, of.requested, rows.size(), rejects);
  }
  return true;
}

bool NodeResourcesFit::number_reasons(const CycleState& state, const Snapshot& snapshot, const Rows& rows,
                                      std::uint8_t* reasons) {
  const auto* asked = state.read<Asked>();
  if (asked == nullptr || !has_exact_columns(asked->amount, snapshot)) return false;
  const auto amounts = column_amounts(asked->amount);
  const std::uint8_t* const full = rows.full();
  std::transform(full, full + rows.size(), reasons, [](std::uint8_t is_full) { return is_full != 0 ? 2 : 0; });
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] <= 0) continue;
    const Rows::OfResource of = rows.of(static_cast<NodeColumns::Resource>(i));
    const auto bit = static_cast<std::uint8_t>(4u << i);
    number_short(static_cast<double>(amounts[i]), bit, of.allocatable, of.requested, rows.size(), reasons);
  }
  return true;
}

Status NodeResourcesFit::pre_score(CycleState& state, const Pod& pod,
                                   const std::vector<std::shared_ptr<const NodeInfo>>&) {
  auto asked = std::make_unique<AskedForFit>();
  asked->by_resource = requests_by_resource(pod, arguments_.strategy.resources, kWithDefaults);
  state.write(std::move(asked));
  return {};
}

Status NodeResourcesFit::score(CycleState& state, const Pod&, const NodeInfo& node, std::int64_t& score) {
  const auto* asked = state.read<AskedForFit>();
  if (asked == nullptr) return Status::error("PreScore did not run");
  score = score_of(arguments_.strategy, node, asked->by_resource, kWithDefaults);
  return {};
}

bool NodeResourcesFit::score_rows(CycleState& state, const Pod&, const Snapshot&, const Rows& rows,
                                  std::int32_t* scores) {
  const auto* asked = state.read<AskedForFit>();
  if (asked == nullptr) return false;
  const FillColumns columns(rows, arguments_.strategy.resources, asked->by_resource, kWithDefaults);
  if (!columns.are_exact()) return false;
  berth::score_rows(arguments_.strategy, columns, scores);
  return true;
}

}  // namespace berth
