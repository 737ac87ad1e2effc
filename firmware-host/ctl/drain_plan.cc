#include "firmware-host/ctl/drain_plan.h"

#include <array>
#include <string_view>

#include "core/api/names.h"
#include "firmware-host/ctl/fields.h"

namespace berth {
namespace {

// What one filter says of a pod, in kubectl's words; pods of which the same is said are told together.
struct Verdict {
  enum class What { evict, warn_and_evict, warn_and_keep, refuse };
  What what = What::evict;
  std::string_view text;
};
using What = Verdict::What;

std::string controller_kind_of(const Json& pod) {
  for (const Json& owner : list_field(pod, {"metadata", "ownerReferences"})) {
    if (true_field(owner, {"controller"})) return text_field(owner, {"kind"});
  }
  return {};
}

bool has_empty_dir(const Json& pod) {
  for (const Json& volume : list_field(pod, {"spec", "volumes"})) {
    if (field(volume, {"emptyDir"}) != nullptr) return true;
  }
  return false;
}

Verdict verdict_on(const Json& pod, const DrainOptions& options) {
  const std::string phase = text_field(pod, {"status", "phase"});
  if (phase == "Orphan") return {What::warn_and_keep, "ignoring orphans (berthctl adopt or delete them)"};
  if (phase == "Succeeded" || phase == "Failed") return {};
  const std::string controller = controller_kind_of(pod);
  if (controller == "DaemonSet") {
    if (options.ignores_daemon_sets) return {What::warn_and_keep, "ignoring DaemonSet-managed Pods"};
    return {What::refuse, "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"};
  }
  if (has_empty_dir(pod) && !options.deletes_empty_dirs) {
    return {What::refuse, "cannot delete Pods with local storage (use --delete-emptydir-data to override)"};
  }
  if (!controller.empty()) return {};
  if (options.forces) return {What::warn_and_evict, "deleting Pods that declare no controller"};
  return {What::refuse, "cannot delete Pods that declare no controller (use --force to override)"};
}

// "<text>: default/a, default/b", by text, in the order in which each came first.
class Said {
 public:
  void add(std::string_view text, const std::string& pod) {
    for (auto& [known, pods] : lines_) {
      if (known != text) continue;
      pods += ", " + pod;
      return;
    }
    lines_.emplace_back(text, pod);
  }
  std::string joined(std::string_view separator) const {
    std::string all;
    for (const auto& [text, pods] : lines_) {
      if (!all.empty()) all += separator;
      all.append(text).append(": ").append(pods);
    }
    return all;
  }

 private:
  std::vector<std::pair<std::string_view, std::string>> lines_;
};

}  // namespace

DrainPlan plan_drain(const std::vector<Json>& pods, const std::string& node, const DrainOptions& options) {
  DrainPlan plan;
  Said errors, warnings;
  for (const Json& pod : pods) {
    if (text_field(pod, {"status", "nodeName"}) != node) continue;
    DrainedPod drained{text_field(pod, {"metadata", "namespace"}), text_field(pod, {"metadata", "name"}),
                       text_field(pod, {"metadata", "uid"})};
    const std::string key = drained.name_space + "/" + drained.name;
    const Verdict verdict = verdict_on(pod, options);
    if (verdict.what == What::refuse) {
      errors.add(verdict.text, key);
    } else if (verdict.what != What::evict) {
      warnings.add(verdict.text, key);
    }
    if (verdict.what == What::evict || verdict.what == What::warn_and_evict) plan.pods.push_back(std::move(drained));
  }
  plan.error = errors.joined(", ");
  plan.warning = warnings.joined("; ");
  return plan;
}

}  // namespace berth
