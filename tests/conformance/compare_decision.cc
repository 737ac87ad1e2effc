#include "tests/conformance/compare_decision.h"

#include <algorithm>
#include <set>

#include "core/api/pod.h"
#include "plugins/defaultpreemption.h"
#include "tests/conformance/verdict.h"

namespace berth {

namespace {

using Strings = std::vector<std::string>;

Strings sorted(Strings strings) {
  std::sort(strings.begin(), strings.end());
  return strings;
}

// The order of reasons does not matter.
std::string describe(const std::string& plugin, std::string_view code, Strings reasons) {
  return plugin + (plugin.empty() ? "" : " ") + std::string(code) + " " + show(sorted(std::move(reasons)));
}

std::string describe(const Status& status) {
  return describe(status.plugin(), to_string(status.code()), status.reasons());
}

std::string describe(const Json& json) {
  if (!json.is_object()) return "nothing";
  return describe(text(at(json, "plugin")), text(at(json, "code")), strings(at(json, "reasons")));
}

std::string outcome(const Attempt& got) {
  if (!got.gate.is_success()) return "Gated";
  const Status& status = got.result.status;
  if (status.is_rejected()) return "Unschedulable";
  if (!status.is_success()) return "Error";
  return got.reserve.is_success() ? "Scheduled" : "ReserveFailed";
}

Strings feasible_nodes(const ScheduleResult& result) {
  if (!result.status.is_success()) return {};
  if (result.decision.totals.empty()) return {result.decision.node};
  Strings nodes;
  for (const NodeScore& total : result.decision.totals) nodes.push_back(total.node);
  return sorted(std::move(nodes));
}

// The scores, ordered by node name.
Strings by_node(const std::vector<NodeScore>& scores) {
  std::map<std::string, std::int64_t> of_node;
  for (const NodeScore& score : scores) of_node[score.node] = score.score;
  Strings line;
  for (const auto& [node, score] : of_node) line.push_back(std::to_string(score));
  return line;
}

Strings numbers(const Json& json) {
  Strings line;
  for (const Json& each : list(json)) line.push_back(std::to_string(number(each)));
  return line;
}

Strings highest(const std::vector<NodeScore>& totals) {
  std::int64_t most = 0;
  Strings nodes;
  for (const NodeScore& total : totals) {
    if (total.score < most) continue;
    if (total.score > most) nodes.clear();
    most = total.score;
    nodes.push_back(total.node);
  }
  return sorted(std::move(nodes));
}

std::string nomination(const Json& json) { return json.is_string() ? "\"" + text(json) + "\"" : "unchanged"; }

class Comparison {
 public:
  Comparison(const Attempt& got, const Json& want) : got_(got), result_(got.result), want_(want) {}

  Strings run() {
    same("result", outcome(got_), text(at(want_, "result")));
    if (differs_) return std::move(differences_);
    same("nominatedNodeTried", got_.nominated_node, text(at(want_, "nominatedNodeTried")));
    if (!got_.gate.is_success()) {
      same("gated", describe(got_.gate), describe(at(want_, "gated")));
      return std::move(differences_);
    }
    if (result_.status.code() == Code::error) {
      same("error", result_.status.message(), text(at(want_, "error")));
      return std::move(differences_);
    }
    same("feasible", show(feasible_nodes(result_)), show(strings(at(want_, "feasible"))));
    rejections();
    scores();
    volumes();
    same("node", result_.status.is_success() ? result_.decision.node : "", text(at(want_, "node")));
    if (result_.status.is_rejected()) failure();
    return std::move(differences_);
  }

 private:
  void same(const std::string& field, const std::string& got, const std::string& want) {
    if (got == want) return;
    differs_ = true;
    differences_.push_back(field + ": got " + got + ", want " + want);
  }

  // Per node: the plugin with its code and reasons. Nodes excluded by PreFilter have no plugin.
  void rejections() {
    const std::map<std::string, Status>& statuses = got_.rejected;
    if (!result_.diagnosis.pre_filter_message.empty()) {
      const std::string all = statuses.empty() ? "nothing" : describe(statuses.begin()->second);
      same("infeasible", "nothing", at(want_, "infeasible").is_null() ? "nothing" : "something");
      return same("preFilter", all, describe(at(want_, "preFilter")));
    }
    same("preFilter", "nothing", describe(at(want_, "preFilter")));
    std::map<std::string, std::string> expected;
    for (const Json& group : list(at(want_, "infeasible"))) {
      for (const std::string& node : strings(at(group, "nodes"))) expected[node] = describe(group);
    }
    const Json& excluded = at(want_, "excluded");
    for (const std::string& node : strings(at(excluded, "nodes"))) expected[node] = describe(excluded);
    std::map<std::string, std::string> got;
    for (const auto& [node, status] : statuses) got[node] = describe(status);
    for (const auto& [node, rejection] : expected) {
      if (!got.contains(node)) same("infeasible " + node, "nothing", rejection);
    }
    for (const auto& [node, rejection] : got) {
      same("infeasible " + node, rejection, expected.contains(node) ? expected[node] : "nothing");
    }
  }

  // A plugin skipped by PreScore scores 0.
  void scores() {
    const Decision& decision = result_.decision;
    const Strings zeros(decision.totals.size(), "0");
    std::map<std::string, Strings> got;
    for (const Framework::PluginScores& mine : decision.plugin_scores) got[mine.plugin] = by_node(mine.scores);
    std::map<std::string, Strings> expected;
    if (const Json& scores = at(want_, "scores"); scores.is_object()) {
      for (const auto& [plugin, line] : scores.as_object()) expected[plugin] = numbers(line);
    }
    std::set<std::string> plugins;
    for (const auto& [plugin, line] : got) plugins.insert(plugin);
    for (const auto& [plugin, line] : expected) plugins.insert(plugin);
    auto line_of = [&zeros](const std::map<std::string, Strings>& lines, const std::string& plugin) {
      const auto found = lines.find(plugin);
      return show(found == lines.end() ? zeros : found->second);
    };
    for (const std::string& plugin : plugins) same("scores " + plugin, line_of(got, plugin), line_of(expected, plugin));
    same("total", show(by_node(decision.totals)), show(numbers(at(want_, "total"))));
    same("best", show(highest(decision.totals)), show(strings(at(want_, "best"))));
  }

  void volumes() {
    std::map<std::string, VolumeChoice> expected;
    if (const Json& volumes = at(want_, "volumes"); volumes.is_object()) {
      for (const auto& [node, choice] : volumes.as_object()) {
        VolumeChoice& on_node = expected[node];
        on_node.provisioned = strings(at(choice, "provision"));
        if (!at(choice, "static").is_object()) continue;
        for (const auto& [claim, volume] : at(choice, "static").as_object()) on_node.bound[claim] = text(volume);
      }
    }
    std::set<std::string> nodes;
    for (const auto& [node, choice] : got_.volumes) nodes.insert(node);
    for (const auto& [node, choice] : expected) nodes.insert(node);
    auto line_of = [](const std::map<std::string, VolumeChoice>& choices, const std::string& node) {
      const auto found = choices.find(node);
      if (found == choices.end()) return std::string("nothing");
      Strings parts;
      for (const auto& [claim, volume] : found->second.bound) parts.push_back(claim + "=" + volume);
      for (const std::string& claim : sorted(found->second.provisioned)) parts.push_back("provision " + claim);
      return show(parts);
    };
    for (const std::string& node : nodes) same("volumes " + node, line_of(got_.volumes, node), line_of(expected, node));
  }

  void failure() {
    const std::set<std::string>& plugins = result_.diagnosis.unschedulable_plugins;
    same("unschedulablePlugins", show({plugins.begin(), plugins.end()}),
         show(sorted(strings(at(want_, "unschedulablePlugins")))));
    same("message", result_.diagnosis.message(), text(at(want_, "message")));
    const Json& want = at(want_, "preemption");
    const std::string node = result_.nominated_node.value_or("");
    same("preemption.code", std::string(to_string(node.empty() ? Code::unschedulable : Code::success)),
         text(at(want, "code")));
    same("preemption.message", result_.diagnosis.post_filter_message, text(at(want, "message")));
    same("preemption.nominatedNode", nomination(result_.nominated_node ? Json(node) : Json()),
         nomination(at(want, "nominatedNode")));
    same("preemption.victims", show(keys(result_.victims)), show(strings(at(want, "victims"))));
    candidates(want);
  }

  static Strings keys(const preemption::Pods& pods) {
    Strings keys;
    for (const auto& pod : pods) keys.push_back(pod->metadata.key());
    return keys;
  }

  void candidates(const Json& want) {
    const PreemptionRecord none;
    const auto* found = got_.state.read<PreemptionRecord>();
    const PreemptionRecord& record = found == nullptr ? none : *found;
    Strings got;
    for (const auto* each : record.candidates()) {
      const preemption::Candidate& candidate = each->candidate;
      got.push_back(candidate.node + " " + show(keys(candidate.victims)) + " " +
                    std::to_string(candidate.pdb_violations));
    }
    got = sorted(std::move(got));
    Strings expected;
    if (const Json& candidates = at(want, "candidates"); candidates.is_object()) {
      for (const auto& [node, candidate] : candidates.as_object()) {
        expected.push_back(node + " " + show(strings(at(candidate, "victims"))) + " " +
                           std::to_string(number(at(candidate, "pdbViolations"))));
      }
    }
    same("preemption.candidates", show(got), show(sorted(expected)));
    const Strings ties = found == nullptr ? Strings{} : record.ties();
    same("preemption.ties", show(ties.size() > 1 ? ties : Strings{}), show(strings(at(want, "ties"))));
  }

  const Attempt& got_;
  const ScheduleResult& result_;
  const Json& want_;
  bool differs_ = false;
  Strings differences_;
};

}  // namespace

std::vector<std::string> compare_decision(const Attempt& got, const Json& want) { return Comparison(got, want).run(); }

}  // namespace berth
