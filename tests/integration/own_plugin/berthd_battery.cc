// A berthd with two out-of-tree plugins: Approval, and
// BatteryLevel: keeps pods off devices with a low battery and prefers full ones. The label example.com/battery is a
// device's charge in percent; a device without the label is on mains power.
// Points: Filter, Score. Cost: one label per node. Woken by: a node added or relabelled.
// Arguments: minPercent, 0 to 100, default 20.
#include <algorithm>
#include <charconv>

#include "approval.h"
#include "core/api/node.h"
#include "core/check.h"
#include "core/framework/framework.h"
#include "core/json/field_reader.h"
#include "firmware-host/gateway/app.h"
#include "plugins/registry.h"

namespace {

using namespace berth;

constexpr int kMains = 100;

// The charge in percent; a label that is not a number counts as empty.
int charge(const Node& node) {
  auto found = node.metadata.labels.find("example.com/battery");
  if (found == node.metadata.labels.end()) return kMains;
  int percent = 0;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), percent);
  return std::clamp(percent, 0, 100);
}

class BatteryLevel final : public FilterPlugin, public ScorePlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "BatteryLevel";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  explicit BatteryLevel(int min_percent) : min_percent_(min_percent) {}

  std::string_view name() const override { return kName; }
  // A label of the node, and nothing of the pod: answers are kept until the node changes, for all pods.
  Reads reads(const Pod&, Point) const override { return Reads::node; }
  bool tells_apart(const Pod&, const Pod&) const override { return false; }
  Json args() const override;
  std::vector<EventWithHint> events_to_register() const override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override;

 private:
  int min_percent_;
};

Result<std::unique_ptr<Plugin>> BatteryLevel::make(const Json& args, Handle&) {
  Findings findings(Findings::Unknown::refuse);
  const Json given = args.is_null() ? Json::object() : args;
  FieldReader reader(given, "args", findings);
  int min_percent = 20;
  reader.read_int32("minPercent", min_percent, 0, 100);
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return std::unique_ptr<Plugin>(std::make_unique<BatteryLevel>(min_percent));
}

Json BatteryLevel::args() const { return Json(Json::Object{{"minPercent", Json(min_percent_)}}); }

std::vector<EventWithHint> BatteryLevel::events_to_register() const {
  return {{{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, nullptr}};
}

Status BatteryLevel::filter(CycleState&, const Pod&, const NodeInfo& node) {
  const int percent = charge(*node.node);
  if (percent >= min_percent_) return {};
  return Status::unresolvable("battery at " + std::to_string(percent) + " %, minimum is " +
                              std::to_string(min_percent_) + " %");
}

Status BatteryLevel::score(CycleState&, const Pod&, const NodeInfo& node, std::int64_t& score) {
  score = charge(*node.node);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Registry registry = in_tree_registry();
  Registry own;
  CHECK(own.add(BatteryLevel::kName, BatteryLevel::make).is_success());
  CHECK(own.add(Approval::kName, Approval::make).is_success());
  CHECK(registry.merge(own).is_success());
  return run_gateway(argc, argv, registry);
}
