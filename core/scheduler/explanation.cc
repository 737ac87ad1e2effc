#include "core/scheduler/explanation.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/api/pod.h"
#include "core/scheduler/named_node.h"

namespace berth {

namespace {

constexpr std::size_t kMaxText = 2048;  // of one message or reason

Json number(std::size_t value) { return static_cast<std::int64_t>(value); }

// An end is cut between characters of UTF-8.
std::string shortened(const std::string& text, std::size_t limit = kMaxText) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

Json texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& text : list) json.push_back(shortened(text));
  return json;
}

Json verdict_json(const Status& status) {
  Json json = Json::object();
  if (!status.plugin().empty()) json.set("plugin", status.plugin().get());
  json.set("code", to_string(status.code()));
  if (!status.reasons().empty()) json.set("reasons", texts(status.reasons()));
  return json;
}

// The results of all filters for all nodes, PreFilter's included.
class AllFilters {
 public:
  AllFilters(const Framework& framework, const Pod& pod, const Snapshot& snapshot)
      : framework_(framework), pod_(pod), before_(framework.exhaustive_run().pre_filter(state_, pod, snapshot)) {}

  // `first`: the cycle's own result for the node, success included.
  Json about(const NodeInfo& node, const Status& first) {
    Json list = Json::array();
    bool told = first.is_success();
    const auto tell = [&](const Status& status) {
      // The cycle may know better: it counts the pods nominated to the node.
      const bool known_better = status.plugin() == first.plugin() && !told;
      told = told || known_better;
      list.push_back(verdict_json(known_better ? first : status));
    };
    for (const ExhaustiveRun::Verdict& verdict : before_) {
      if (!verdict.status.is_success()) {
        tell(verdict.status);
      } else if (verdict.node_names && !verdict.node_names->contains(node.name())) {
        tell(Status::unresolvable("node(s) didn't satisfy plugin(s) [" + verdict.status.plugin() + "]")
                 .with_plugin(verdict.status.plugin()));
      }
    }
    for (const Status& status : framework_.exhaustive_run().filter(state_, pod_, node)) tell(status);
    return list;
  }

 private:
  const Framework& framework_;
  const Pod& pod_;
  CycleState state_;
  std::vector<ExhaustiveRun::Verdict> before_;
};

struct Group {
  Json told;  // what is the same for its nodes
  std::vector<std::string> names;
};

// What became of a node. `rejected`: null if it was not.
Json fate_of(const Status* rejected, bool feasible) {
  Json fate = Json::object();
  if (feasible) return fate.set("verdict", "fits");
  if (rejected == nullptr) return fate.set("verdict", "not looked at");
  fate = verdict_json(*rejected);
  return fate.set("verdict", "rejected");
}

std::set<std::string> feasible_of(const ScheduleResult& result) {
  std::set<std::string> names;
  for (const NodeScore& total : result.decision.totals) names.insert(total.node);
  if (!result.decision.node.empty()) names.insert(result.decision.node);
  return names;
}

// Nodes of one fate together, the largest group first; what is named in the options before all.
std::vector<Group> group_nodes(const Framework& framework, const Pod& pod, const Snapshot& snapshot,
                               const ScheduleResult& result, const ExplainOptions& options) {
  std::map<std::string, Group> by_fate;
  const std::set<std::string> feasible = feasible_of(result);
  std::optional<AllFilters> all;
  if (options.all_filters) all.emplace(framework, pod, snapshot);
  for (std::size_t index = 0; index < snapshot.nodes().size(); ++index) {
    const auto& node = snapshot.nodes()[index];
    const Status* rejected = result.diagnosis.node_statuses.find(index);
    Json fate = fate_of(rejected, feasible.contains(node->name()));
    if (all) fate.set("filters", all->about(*node, rejected == nullptr ? Status() : *rejected));
    Group& group = by_fate[fate.dump()];
    group.told = std::move(fate);
    group.names.push_back(node->name());
  }
  std::vector<Group> groups;
  for (auto& [text, group] : by_fate) {
    std::sort(group.names.begin(), group.names.end());
    groups.push_back(std::move(group));
  }
  const auto has_named = [&](const Group& group) {
    return std::binary_search(group.names.begin(), group.names.end(), options.node);
  };
  std::sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    if (has_named(a) != has_named(b)) return has_named(a);
    if (a.names.size() != b.names.size()) return a.names.size() > b.names.size();
    return a.names < b.names;
  });
  if (!groups.empty() && has_named(groups.front())) {
    std::vector<std::string>& names = groups.front().names;
    const auto named = std::lower_bound(names.begin(), names.end(), options.node);
    std::rotate(names.begin(), named, named + 1);
  }
  return groups;
}

// As many groups as fit, each with as many names as its share allows; at least one of each.
void tell_groups(const std::vector<Group>& groups, std::size_t bytes, Json& record) {
  Json list = Json::array();
  std::size_t used = 0;
  std::size_t shown = 0;
  for (; shown < groups.size(); ++shown) {
    used += groups[shown].told.dump().size() + 64;
    if (used > bytes / 2 && shown > 0) break;
  }
  const std::size_t share = shown == 0 ? 0 : bytes / 2 / shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const Group& group = groups[i];
    Json names = Json::array();
    std::size_t taken = 0;
    for (const std::string& name : group.names) {
      taken += name.size() + 3;
      if (taken > share && !names.is_null() && !names.as_array().empty()) break;
      names.push_back(name);
    }
    Json json = group.told;
    const std::size_t more = group.names.size() - names.as_array().size();
    json.set("count", number(group.names.size())).set("names", std::move(names));
    if (more > 0) json.set("more", number(more));
    list.push_back(std::move(json));
  }
  record.set("groups", std::move(list));
  if (shown == groups.size()) return;
  std::size_t nodes = 0;
  for (std::size_t i = shown; i < groups.size(); ++i) nodes += groups[i].names.size();
  record.set("moreGroups", number(groups.size() - shown)).set("moreGroupNodes", number(nodes));
}

Json chosen_json(const Pod& pod, const ScheduleResult& result, std::uint64_t seed) {
  const Decision& decision = result.decision;
  Json chosen = Json::object();
  if (!pod.node_name.empty()) return chosen.set("why", "node that spec.nodeName names");
  if (decision.totals.empty()) {
    const bool nominated = decision.node == pod.nominated_node_name && result.diagnosis.node_statuses.empty();
    return chosen.set("why", nominated ? "nominated node" : "only feasible node");
  }
  std::int64_t best = 0;
  for (const NodeScore& total : decision.totals) {
    if (total.node == decision.node) best = total.score;
  }
  const auto ties = std::count_if(decision.totals.begin(), decision.totals.end(),
                                  [best](const NodeScore& total) { return total.score == best; });
  chosen.set("why", ties == 1 ? "highest total" : "drawn among equals").set("total", best);
  chosen.set("ties", static_cast<std::int64_t>(ties));
  if (ties > 1) chosen.set("seed", std::to_string(seed));
  return chosen;
}

Json score_row(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
               const Decision& decision, std::size_t at) {
  const std::string& node = decision.totals[at].node;
  const std::map<std::string, std::int64_t> raw =
      framework.exhaustive_run().raw_scores(state, pod, *snapshot.find(node));
  Json row = Json::object();
  Json before = Json::array();
  Json normalized = Json::array();
  for (const Framework::PluginScores& plugin : decision.plugin_scores) {
    const auto found = raw.find(plugin.plugin);
    before.push_back(found == raw.end() ? Json() : Json(found->second));
    normalized.push_back(plugin.scores[at].score);
  }
  row.set("node", node).set("total", decision.totals[at].score);
  return row.set("normalized", std::move(normalized)).set("raw", std::move(before));
}

// The winner first, then by total and name.
Json scores_json(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                 const Decision& decision, std::size_t bytes) {
  Json plugins = Json::array();
  for (const Framework::PluginScores& plugin : decision.plugin_scores) {
    Json json = Json::object();
    plugins.push_back(json.set("name", plugin.plugin).set("weight", plugin.weight));
  }
  std::vector<std::size_t> order(decision.totals.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&decision](std::size_t a, std::size_t b) {
    const NodeScore& left = decision.totals[a];
    const NodeScore& right = decision.totals[b];
    if (left.score != right.score) return left.score > right.score;
    if ((left.node == decision.node) != (right.node == decision.node)) return left.node == decision.node;
    return left.node < right.node;
  });
  Json rows = Json::array();
  std::size_t used = 0;
  std::size_t shown = 0;
  for (; shown < order.size(); ++shown) {
    Json row = score_row(framework, state, pod, snapshot, decision, order[shown]);
    used += row.dump().size() + 1;
    if (used > bytes && shown > 0) break;
    rows.push_back(std::move(row));
  }
  Json scores = Json::object();
  scores.set("plugins", std::move(plugins)).set("rows", std::move(rows));
  if (shown < order.size()) scores.set("more", number(order.size() - shown));
  return scores;
}

// Null when no plugin reported anything.
Json preemption_json(const ScheduleResult& result) {
  constexpr std::size_t kMaxVictims = 50;
  Json json;
  const std::string& message = result.diagnosis.post_filter_message;
  if (!message.empty()) json.set("message", shortened(message));
  if (!result.nominated_node || result.nominated_node->empty()) return json;
  json.set("nominatedNode", *result.nominated_node);
  Json victims = Json::array();
  for (const auto& victim : result.victims) {
    if (victims.as_array().size() == kMaxVictims) break;
    Json one = Json::object();
    one.set("pod", victim->metadata.key()).set("priority", static_cast<std::int64_t>(victim->priority));
    victims.push_back(std::move(one));
  }
  if (result.victims.size() > kMaxVictims) json.set("more", number(result.victims.size() - kMaxVictims));
  return json.set("victims", std::move(victims));
}

// Puts the original back when the trial is over.
template <class T>
class PutBack {
 public:
  explicit PutBack(T& value) : value_(value), before_(value) {}
  ~PutBack() { value_ = std::move(before_); }
  PutBack(const PutBack&) = delete;
  PutBack& operator=(const PutBack&) = delete;

 private:
  T& value_;
  T before_;
};

struct ActionName {
  std::uint32_t bits;
  std::string_view name;  // as upstream prints it (framework/events.go)
};
constexpr ActionName kActionNames[] = {
    {kAdd, "Add"},
    {kDelete, "Delete"},
    {kUpdate, "Update"},  // before its parts, which it covers
    {kUpdateNodeAllocatable, "UpdateNodeAllocatable"},
    {kUpdateNodeLabel, "UpdateNodeLabel"},
    {kUpdateNodeTaint, "UpdateNodeTaint"},
    {kUpdateNodeCondition, "UpdateNodeCondition"},
    {kUpdateNodeAnnotation, "UpdateNodeAnnotation"},
    {kUpdateNodeDeclaredFeature, "UpdateNodeDeclaredFeature"},
    {kUpdatePodLabel, "UpdatePodLabel"},
    {kUpdatePodScaleDown, "UpdatePodScaleDown"},
    {kUpdatePodToleration, "UpdatePodToleration"},
    {kUpdatePodSchedulingGatesEliminated, "UpdatePodSchedulingGatesEliminated"},
    {kUpdatePodGeneratedResourceClaim, "UpdatePodGeneratedResourceClaim"},
};

Json action_names(std::uint32_t actions) {
  Json names = Json::array();
  for (const ActionName& action : kActionNames) {
    if ((actions & action.bits) != action.bits) continue;
    names.push_back(action.name);
    actions &= ~action.bits;
  }
  return names;
}

std::string_view place_name(Queue::Where where, bool error_backoff) {
  switch (where) {
    case Queue::Where::none: break;
    case Queue::Where::gated: return "gated";
    case Queue::Where::active: return "active";
    case Queue::Where::backoff: return error_backoff ? "error backoff" : "backoff";
    case Queue::Where::unschedulable: return "unschedulable";
    case Queue::Where::in_flight: return "in flight";
  }
  return "none";
}

}  // namespace

Explanation explain_cycle(const Framework& framework, const Pod& pod, const Snapshot& snapshot, NodeSearch& search,
                          const ExplainOptions& options) {
  CycleState state;
  Explanation told{find_node(framework, state, pod, snapshot, search), Json::object()};
  const ScheduleResult& result = told.result;
  const Diagnosis& diagnosis = result.diagnosis;
  Json& record = told.record;
  const bool fits = result.status.is_success();
  record.set("fits", fits);
  if (fits) {
    record.set("node", result.decision.node);
  } else {
    record.set("message", shortened(result.status.message(), 3 * kMaxText));
  }
  if (result.status.code() == Code::error) record.set("error", true);
  record.set("nodes", number(diagnosis.nodes_total)).set("evaluated", number(result.decision.evaluated));
  record.set("feasible", number(result.decision.feasible));
  tell_groups(group_nodes(framework, pod, snapshot, result, options), options.bytes / 2, record);
  if (fits) {
    record.set("chosen", chosen_json(pod, result, options.seed));
    if (!result.decision.totals.empty()) {
      record.set("scores", scores_json(framework, state, pod, snapshot, result.decision, options.bytes / 2));
    }
  }
  if (Json preemption = preemption_json(result); !preemption.is_null()) record.set("preemption", std::move(preemption));
  return told;
}

Explanation explain_on(const TrialGround& ground, const Framework& framework, const Pod& pod,
                       const std::string& excluded_uid, const ExplainOptions& options) {
  const PutBack keep_random(ground.random);
  const PutBack keep_snapshot(ground.snapshot);
  const PutBack keep_start(ground.search.next_start);
  if (ground.cache.node_of(excluded_uid)) {
    Cache without = ground.cache;
    without.remove(excluded_uid);
    ground.snapshot = Snapshot();
    without.update_snapshot(ground.snapshot);
  } else {
    ground.cache.update_snapshot(ground.snapshot);
  }
  return explain_cycle(framework, pod, ground.snapshot, ground.search, options);
}

Json wakers_of(const Framework& framework, const std::set<std::string>& plugins) {
  Json list = Json::array();
  for (const std::string& plugin : plugins) {
    for (const EventWithHint& registered : framework.events_of(plugin)) {
      Json json = Json::object();
      json.set("plugin", plugin).set("resource", to_string(registered.event.resource));
      list.push_back(json.set("actions", action_names(registered.event.actions)));
    }
  }
  return list;
}

Json queue_place(const Queue& queue, const Framework* framework, const std::string& uid, Millis now) {
  Json json = Json::object();
  json.set("place", place_name(queue.where(uid), queue.is_error_backoff(uid)));
  const QueuedPod* queued = queue.find(uid);
  if (queued == nullptr) return json;
  json.set("attempts", queued->attempts);
  if (const auto due = queue.due(uid)) json.set("dueInMs", std::max<Millis>(0, *due - now));
  if (!queued->gating_plugin.empty()) json.set("gatedBy", queued->gating_plugin);
  if (queued->unschedulable_plugins.empty()) return json;
  const std::set<std::string>& plugins = queued->unschedulable_plugins;
  json.set("plugins", texts({plugins.begin(), plugins.end()}));
  if (framework != nullptr) json.set("wokenBy", wakers_of(*framework, plugins));
  return json;
}

}  // namespace berth
