#include "core/fastpath/fleet_scan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "core/api/pod.h"

namespace berth {

namespace {

// Updates results with `ask_one` for nodes that changed, or with `ask_all`. False: the plugin failed.
template <class Kept, class AskOne, class AskAll>
bool follow(Kept& kept, const Snapshot& snapshot, AskOne ask_one, AskAll ask_all) {
  const auto& changes = snapshot.changes();
  const std::int64_t behind = snapshot.changes_made() - kept.changes_made;
  bool holds = kept.values.size() == snapshot.nodes().size() && behind <= static_cast<std::int64_t>(changes.size());
  holds = holds && std::all_of(changes.end() - behind, changes.end(), [&](const Snapshot::Change& change) {
            if (change.kind != Snapshot::Change::Kind::replaced) return false;
            if (!ask_one(change.index, kept.values[change.index])) return false;
            kept.uniform = kept.uniform && kept.values.size() > 1 &&
                           kept.values[change.index] == kept.values[change.index == 0 ? 1 : 0];
            return true;
          });
  if (!holds) {
    kept.values.assign(snapshot.nodes().size(), {});
    if (!ask_all(kept.values)) {
      kept.values.clear();
      return false;
    }
    kept.uniform = std::equal(kept.values.begin() + 1, kept.values.end(), kept.values.begin());
  }
  kept.changes_made = snapshot.changes_made();
  return true;
}

// One call for each node. False: the plugin failed.
template <class Value, class AskOne>
bool ask_each(std::vector<Value>& values, AskOne ask_one) {
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (!ask_one(index, values[index])) return false;
  }
  return true;
}

}  // namespace

template <class Value>
typename NodeAnswers<Value>::Kept& NodeAnswers<Value>::of(const Plugin& plugin, const std::shared_ptr<const Pod>& pod) {
  auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return !plugin.tells_apart(*each->pod, *pod); });
  if (found == kept_.end()) {
    if (kept_.size() < kKept) kept_.push_back(std::make_unique<Kept>());
    found = kept_.end() - 1;
    (*found)->pod = pod;
    (*found)->changes_made = -1;
    (*found)->values.clear();
  }
  std::rotate(kept_.begin(), found, found + 1);
  return *kept_.front();
}

FleetScan::FleetScan(const Framework& framework)
    : framework_(framework), filtered_(framework.filters().size()), scored_(framework.scores().size()) {
  std::int64_t weights = 0;
  for (const auto& entry : framework.scores()) weights += entry.weight;
  totals_fit_ = weights <= std::numeric_limits<std::int32_t>::max() / ScorePlugin::kMaxScore;
}

const FleetScan::FilterAnswers::Kept* FleetScan::ask_filter(std::size_t plugin, const NodeQuery& query,
                                                            const std::shared_ptr<const Pod>& kept_pod) {
  const auto& entry = framework_.filters()[plugin];
  auto& kept = filtered_[plugin].of(*entry.plugin, kept_pod);
  const auto ask_one = [&](std::size_t index, std::uint8_t& rejects) {
    entry.count();
    const Status status = entry.plugin->filter(query.state, query.pod, *query.snapshot.nodes()[index]);
    rejects = status.is_success() ? 0 : 1;
    return status.is_success() || status.is_rejected();
  };
  const auto ask_all = [&](std::vector<std::uint8_t>& rejects) {
    if (entry.batch_filter == nullptr ||
        !entry.batch_filter->filter_all(query.state, query.pod, query.snapshot, rejects)) {
      return ask_each(rejects, ask_one);
    }
    entry.count(rejects.size());
    return true;
  };
  return follow(kept, query.snapshot, ask_one, ask_all) ? &kept : nullptr;
}

const FleetScan::ScoreAnswers::Kept* FleetScan::ask_score(std::size_t plugin, const NodeQuery& query,
                                                          const std::shared_ptr<const Pod>& kept_pod) {
  const auto& entry = framework_.scores()[plugin];
  auto& kept = scored_[plugin].of(*entry.plugin, kept_pod);
  const auto ask_one = [&](std::size_t index, std::int32_t& score) {
    entry.count();
    std::int64_t whole = 0;
    const Status status = entry.plugin->score(query.state, query.pod, *query.snapshot.nodes()[index], whole);
    score = static_cast<std::int32_t>(whole);
    return status.is_success() && std::in_range<std::int32_t>(whole);
  };
  const auto ask_all = [&](std::vector<std::int32_t>& scores) {
    if (entry.batch_score == nullptr || !entry.batch_score->score_all(query.state, query.pod, query.snapshot, scores)) {
      return ask_each(scores, ask_one);
    }
    entry.count(scores.size());
    return true;
  };
  return follow(kept, query.snapshot, ask_one, ask_all) ? &kept : nullptr;
}

Evaluation FleetScans::evaluate(const NodeQuery& query) {
  if (const std::string_view why = why_unsuited(query); !why.empty()) return Evaluation::decline(why);
  FleetScan& scan = scans_.try_emplace(&query.framework, query.framework).first->second;
  auto pod = std::make_shared<Pod>(query.pod);
  pod->shape = {};
  FleetScan::Attempt attempt(scan, query, std::move(pod));
  return decide(attempt, query);
}

}  // namespace berth
