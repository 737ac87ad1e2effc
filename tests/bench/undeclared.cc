#include "tests/bench/undeclared.h"

#include <algorithm>
#include <functional>

#include "core/check.h"

namespace berth::bench {

namespace {

// In percent, as a device might say it of its battery.
std::int64_t charge_of(const NodeInfo& node) {
  return static_cast<std::int64_t>(std::hash<std::string_view>()(node.name()) % 101);
}

class ChargeScore : public ScorePlugin {
 public:
  std::string_view name() const override { return "Charge"; }
  Status score(CycleState&, const Pod&, const NodeInfo& node, std::int64_t& score) override {
    score = charge_of(node);
    return {};
  }
};

class NormalizedCharge final : public ChargeScore, public NormalizeScorePlugin {
 public:
  Status normalize(CycleState&, const Pod&, std::vector<NodeScore>& scores) override {
    std::int64_t most = 1;
    for (const NodeScore& each : scores) most = std::max(most, each.score);
    for (NodeScore& each : scores) each.score = each.score * kMaxScore / most;
    return {};
  }
};

class ChargeFilter final : public FilterPlugin {
 public:
  std::string_view name() const override { return "Charge"; }
  Status filter(CycleState&, const Pod&, const NodeInfo& node) override {
    return charge_of(node) < 2 ? Status::unschedulable("battery low") : Status();
  }
};

template <class P>
void add(Registry& registry, Profile& profile) {
  CHECK(registry
            .add("Charge", [](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<P>()); })
            .is_success());
  profile.enable("Charge");
}

}  // namespace

bool add_undeclared(const std::string& which, Registry& registry, Profile& profile) {
  if (which == "score") {
    add<ChargeScore>(registry, profile);
  } else if (which == "normalized") {
    add<NormalizedCharge>(registry, profile);
  } else if (which == "filter") {
    add<ChargeFilter>(registry, profile);
  }
  return which.empty() || registry.find("Charge") != nullptr;
}

}  // namespace berth::bench
