// Decisions: schedules the pending pods of a case one after another and compares every answer.
#include <algorithm>
#include <set>

#include "core/random.h"
#include "core/scheduler/scheduling_cycle.h"
#include "plugins/registry.h"
#include "tests/conformance/cluster.h"
#include "tests/conformance/verdict.h"

namespace berth {

namespace {

using Strings = std::vector<std::string>;

std::string describe(const std::string& plugin, std::string_view code, Strings reasons) {
  std::sort(reasons.begin(), reasons.end());
  return plugin + " " + std::string(code) + " " + show(std::move(reasons));
}

std::string describe(const Status& status) {
  return describe(status.plugin(), to_string(status.code()), status.reasons());
}

std::string describe(const Json& json) {
  return describe(text(at(json, "plugin")), text(at(json, "code")), strings(at(json, "reasons")));
}

// Plugins of ours; what others decided cannot be replayed.
bool is_ours(const std::string& plugin) {
  static const Strings kOurs = in_tree_registry().names();
  return plugin.empty() || std::find(kOurs.begin(), kOurs.end(), plugin) != kOurs.end();
}

std::string beyond_us(const Json& record) {
  for (const Json& group : list(at(record, "infeasible"))) {
    if (!is_ours(text(at(group, "plugin")))) return text(at(group, "plugin"));
    for (const std::string& reason : strings(at(group, "reasons"))) {
      if (reason.find("enough free storage") != std::string::npos) return "storage capacity";
      if (reason.find("scheduler-enforced") != std::string::npos) return "addedAffinity";
    }
  }
  if (const std::string plugin = text(at(at(record, "preFilter"), "plugin")); !is_ours(plugin)) return plugin;
  if (at(record, "volumes").is_object()) {
    for (const auto& [node, volumes] : at(record, "volumes").as_object()) {
      if (!list(at(volumes, "provision")).empty()) return "dynamic provisioning";
    }
  }
  return {};
}

// What a whole case needs that is not here; empty: nothing.
std::string not_covered(const Json& test_case) {
  const Json& input = at(test_case, "input");
  for (const char* pods : {"pods", "pending"}) {
    for (const Json& pod : list(at(input, pods))) {
      if (at(at(pod, "status"), "nominatedNodeName").is_string()) return "nominated pods";
    }
  }
  for (const Json& record : list(at(test_case, "expect"))) {
    if (text(at(at(record, "preemption"), "code")) == "Success") return "preemption";
  }
  return {};
}

class Run {
 public:
  // False when the case cannot be played at all; verdict.difference says why.
  bool set_up(const Json& input, Verdict& verdict) {
    Profile profile = default_profile();
    for (const Json& config : list(at(input, "pluginConfig"))) {
      const std::string name = text(at(config, "name"));
      if (in_tree_registry().find(name) != nullptr) profile.args[name].value = at(config, "args");
    }
    Status loaded = cluster_.load(input);
    Result<std::unique_ptr<Framework>> made = Framework::make(in_tree_registry(), profile, cluster_);
    if (loaded.is_success() && !made) loaded = made.error();
    if (loaded.message().ends_with("takes none; remove them")) {
      verdict.left_out["plugin arguments"] = static_cast<int>(list(at(input, "pending")).size());
    } else if (!loaded.is_success()) {
      verdict.differences.push_back(loaded.message());
    }
    if (!loaded.is_success()) return false;
    framework_ = std::move(*made);
    return true;
  }

  void play(const Json::Array& expect, Verdict& verdict) {
    if (expect.size() != cluster_.pending().size()) {
      verdict.differences.push_back("a record for each pending pod is wanted");
      return;
    }
    for (std::size_t i = 0; i < expect.size() && verdict.differences.empty(); ++i) {
      const Pod& pod = *cluster_.pending()[i];
      std::string beyond = beyond_us(expect[i]);
      if (beyond.empty() && waits_for_provisioner(pod)) beyond = "dynamic provisioning";
      if (!beyond.empty()) {
        ++verdict.left_out[beyond];
        place(pod, expect[i]);
        continue;
      }
      attempt(pod, expect[i]);
      if (differences_.empty()) {
        ++verdict.same;
      } else {
        verdict.differences.push_back(text(at(expect[i], "pod")) + ": " + differences_);
      }
    }
  }

 private:
  void expect_same(const std::string& what, const std::string& got, const std::string& want) {
    if (got != want) differences_ += what + ": got " + got + ", want " + want + "; ";
  }

  void attempt(const Pod& pod, const Json& want) {
    expect_same("pod", pod.metadata.key(), text(at(want, "pod")));
    if (Status gate = framework_->run_pre_enqueue(pod); !gate.is_success()) {
      return expect_same("gated", describe(gate), describe(at(want, "gated")));
    }
    CycleState state;
    const Snapshot& snapshot = cluster_.take_snapshot();
    const ScheduleResult result = schedule_pod(*framework_, state, pod, snapshot, random_);
    if (result.status.code() == Code::error) return expect_same("result", result.status.message(), "no error");
    expect_same("result", result.status.is_success() ? "Scheduled" : "Unschedulable", text(at(want, "result")));
    compare_feasibility(result, snapshot, want);
    if (!result.status.is_success()) return compare_message(result.diagnosis, want);
    compare_scores(result.decision, want);
    compare_volumes(state, pod, want);
    place(pod, want);
  }

  // True when a claim of the pod would be provisioned: there is no provisioner here.
  bool waits_for_provisioner(const Pod& pod) const {
    return std::any_of(pod.volumes.begin(), pod.volumes.end(), [&](const PodVolume& volume) {
      const auto claim = cluster_.claim(pod.metadata.namespace_ + "/" + volume.claim_name);
      if (claim == nullptr || !claim->volume_name.empty()) return false;
      const auto storage_class = cluster_.storage_class(claim->storage_class_name.value_or(""));
      return storage_class != nullptr && storage_class->wait_for_first_consumer &&
             storage_class->provisioner != StorageClass::kNoProvisioner;
    });
  }

  void compare_feasibility(const ScheduleResult& result, const Snapshot& snapshot, const Json& want) {
    const std::map<std::string, Status>& statuses = result.diagnosis.node_statuses;
    if (!result.diagnosis.pre_filter_message.empty()) {
      return expect_same("preFilter", describe(statuses.begin()->second), describe(at(want, "preFilter")));
    }
    Strings feasible;
    for (const auto& node : snapshot.nodes()) {
      if (!statuses.contains(node->name())) feasible.push_back(node->name());
    }
    std::sort(feasible.begin(), feasible.end());  // as recorded; the order of evaluation takes zones in turns
    expect_same("feasible", show(feasible), show(strings(at(want, "feasible"))));
    std::map<std::string, std::string> wanted;
    for (const Json& group : list(at(want, "infeasible"))) {
      for (const std::string& node : strings(at(group, "nodes"))) wanted[node] = describe(group);
    }
    for (const std::string& node : strings(at(at(want, "excluded"), "nodes"))) {
      wanted[node] = describe(at(want, "excluded"));
    }
    for (const auto& [node, status] : statuses) expect_same("node " + node, describe(status), wanted[node]);
    expect_same("infeasible", std::to_string(statuses.size()), std::to_string(wanted.size()));
  }

  // Ours knows of no preemption yet: upstream's text begins with it.
  void compare_message(const Diagnosis& diagnosis, const Json& want) {
    const std::string message = diagnosis.message();
    expect_same("message", message, text(at(want, "message")).substr(0, message.size()));
    const Strings plugins(diagnosis.unschedulable_plugins.begin(), diagnosis.unschedulable_plugins.end());
    Strings wanted = strings(at(want, "unschedulablePlugins"));
    std::sort(wanted.begin(), wanted.end());
    expect_same("unschedulablePlugins", show(plugins), show(wanted));
  }

  void compare_scores(const Decision& decision, const Json& want) {
    for (Framework::PluginScores mine : decision.plugin_scores) {
      std::sort(mine.scores.begin(), mine.scores.end(),
                [](const NodeScore& a, const NodeScore& b) { return a.node < b.node; });
      Strings got;
      for (const NodeScore& score : mine.scores) got.push_back(std::to_string(score.score));
      Strings wanted;
      for (const Json& score : list(at(at(want, "scores"), mine.plugin))) {
        wanted.push_back(std::to_string(score.as_int()));
      }
      expect_same("scores of " + mine.plugin, show(got), show(wanted));
    }
  }

  std::vector<VolumeGrant> new_grants(CycleState& state, const Pod& pod, const std::string& node) {
    BindRequest request;
    if (Status status = framework_->run_pre_bind(state, pod, node, request); !status.is_success()) {
      expect_same("PreBind", status.message(), "success");
    }
    std::erase_if(request.volumes, [this](const VolumeGrant& grant) { return !cluster_.is_unbound(grant.claim); });
    return request.volumes;
  }

  void compare_volumes(CycleState& state, const Pod& pod, const Json& want) {
    for (const std::string& node : strings(at(want, "feasible"))) {
      std::map<std::string, std::string> got;
      for (const VolumeGrant& grant : new_grants(state, pod, node)) got[grant.claim] = grant.volume;
      std::map<std::string, std::string> wanted;
      if (const Json& fixed = at(at(at(want, "volumes"), node), "static"); fixed.is_object()) {
        for (const auto& [claim, volume] : fixed.as_object()) wanted[claim] = text(volume);
      }
      auto flat = [](const std::map<std::string, std::string>& grants) {
        Strings parts;
        for (const auto& [claim, volume] : grants) parts.push_back(claim + "=" + volume);
        return show(std::move(parts));
      };
      expect_same("volumes on " + node, flat(got), flat(wanted));
    }
  }

  // What the record says happened, so that no tie can lead the run astray.
  void place(const Pod& pod, const Json& want) {
    const std::string node = text(at(want, "node"));
    if (node.empty()) return;
    std::vector<VolumeGrant> grants;
    if (const Json& fixed = at(at(at(want, "volumes"), node), "static"); fixed.is_object()) {
      for (const auto& [claim, volume] : fixed.as_object()) grants.push_back({claim, text(volume), {}});
    }
    cluster_.bind_volumes(grants);
    cluster_.cache().confirm(std::make_shared<Pod>(pod), node);
  }

  Cluster cluster_;
  std::unique_ptr<Framework> framework_;
  Random random_{1};
  std::string differences_;
};

}  // namespace

Verdict replay_decisions(const Json& test_case) {
  Verdict verdict;
  const Json::Array& expect = list(at(test_case, "expect"));
  if (const std::string beyond = not_covered(test_case); !beyond.empty()) {
    verdict.left_out[beyond] = static_cast<int>(expect.size());
    return verdict;
  }
  Run run;
  if (run.set_up(at(test_case, "input"), verdict)) run.play(expect, verdict);
  return verdict;
}

}  // namespace berth
