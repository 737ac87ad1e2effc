#include "core/framework/missing_declarations.h"

#include <map>
#include <string_view>

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

namespace {

class Missing {
 public:
  template <class T>
  void check(const std::vector<Framework::Named<T>>& list, Point point, std::string_view name, std::string_view cost,
             std::string_view cost_if_normalizing = {}) {
    for (const auto& entry : list) {
      const Reads reads = entry.plugin->reads(ordinary_, point);
      if (is_declared(reads, entry.summing != nullptr, entry.tracking != nullptr)) continue;
      MissingDeclaration& missing = by_plugin_[entry.name];
      const bool is_first = missing.points.empty();
      const bool normalizes = entry.normalizing != nullptr && !cost_if_normalizing.empty();
      missing.plugin = entry.name;
      missing.points.append(is_first ? "" : ", ").append(name);
      missing.cost.append(is_first ? "" : "; ")
          .append(name)
          .append(" ")
          .append(normalizes ? cost_if_normalizing : cost);
    }
  }
  std::vector<MissingDeclaration> take() {
    std::vector<MissingDeclaration> all;
    for (auto& [plugin, missing] : by_plugin_) all.push_back(std::move(missing));
    return all;
  }

 private:
  const Pod ordinary_;
  std::map<std::string, MissingDeclaration> by_plugin_;
};

}  // namespace

std::vector<MissingDeclaration> missing_declarations(const Framework& framework) {
  Missing missing;
  missing.check(framework.pre_filters(), Point::pre_filter, "PreFilter", "runs for every pod");
  missing.check(framework.filters(), Point::filter, "Filter",
                "runs for every pod, on nodes by descending score until the best one is certain");
  missing.check(framework.pre_scores(), Point::pre_score, "PreScore", "runs for every pod, over all feasible nodes");
  missing.check(framework.scores(), Point::score, "Score",
                "runs for every pod, on each feasible node that its weight could still make the best",
                "runs for every pod, on every feasible node, as it normalizes its scores");
  return missing.take();
}

}  // namespace berth
