// The consequence of every status at every extension point for the pod: one case each, summarised in one line.
#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "core/scheduler/scheduler.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

constexpr const char* kPoints[] = {"PreEnqueue", "PreFilter", "Filter", "PostFilter", "PreScore", "Score",
                                   "Normalize",  "Reserve",   "Permit", "PreFlight",  "PreBind",  "Bind"};
constexpr Code kCodes[] = {Code::success, Code::error, Code::unschedulable, Code::unresolvable,
                           Code::wait,    Code::skip,  Code::pending};

using Row = std::map<Code, std::string>;

std::string error(const std::string& text) { return "error backoff, SchedulerError: " + text; }

// Every status but success is an error that names the point.
Row all_errors(const std::string& doing) {
  Row row{{Code::success, "bound"}};
  for (const Code code : {Code::error, Code::unschedulable, Code::unresolvable, Code::pending}) {
    row[code] = error(doing + ": why");
  }
  for (const Code code : {Code::wait, Code::skip}) {
    row[code] = error(doing + ": returned " + std::string(to_string(code)) + ", which is not valid here: why");
  }
  return row;
}

Row with(Row row, const Row& other) {
  for (const auto& [code, text] : other) row[code] = text;
  return row;
}

Row rejects(const std::string& message) {
  const std::string text = ", Unschedulable: " + message;
  return {{Code::unschedulable, "unschedulable (a)" + text},
          {Code::unresolvable, "unschedulable (a)" + text},
          {Code::pending, "unschedulable (a!)" + text}};
}

// The outcome for a pod when plugin "a" returns this status at this point, with reason "why"; "b" always succeeds. Two
// nodes.
// "(a)": the plugins whose events wake it; "(a!)": at once, without backoff.
const std::map<std::string, Row>& table() {
  // A rejection this late is retried after backoff only.
  const std::string late = "error backoff, Unschedulable: why";
  const Row rejects_late{{Code::unschedulable, late}, {Code::unresolvable, late}, {Code::pending, late}};
  const std::string unfit = "unschedulable (a), Unschedulable: 0/2 nodes are available: ";
  const std::string full = "unschedulable (b), Unschedulable: 0/2 nodes are available: 2 full.";
  const auto unsupported = [&](const char* code) {
    return error("PreBindPreFlight a returned \"" + std::string(code) +
                 "\", which is unsupported. It is supposed to return Success, Skip, or Error status");
  };
  static const std::map<std::string, Row> kTable{
      {"PreEnqueue",
       {{Code::success, "bound"},
        {Code::error, "gated (a)"},
        {Code::unschedulable, "gated (a)"},
        {Code::unresolvable, "gated (a)"},
        {Code::wait, "gated (a)"},
        {Code::skip, "gated (a)"},
        {Code::pending, "gated (a)"}}},
      {"PreFilter",
       with(all_errors("running PreFilter plugin \"a\""),
            {{Code::skip, "bound"}, {Code::unschedulable, unfit + "why."}, {Code::unresolvable, unfit + "why."}})},
      {"Filter", with(all_errors("running \"a\" filter plugin"), rejects("0/2 nodes are available: 2 why."))},
      // The pod stays rejected by b's Filter, whatever PostFilter returns.
      {"PostFilter",
       {{Code::success, full},
        {Code::error, full + " why"},
        {Code::unschedulable, full},
        {Code::unresolvable, full + " why"},
        {Code::wait, full + " running PostFilter plugin \"a\": returned Wait, which is not valid here: why"},
        {Code::skip, full + " running PostFilter plugin \"a\": returned Skip, which is not valid here: why"},
        {Code::pending, full}}},
      {"PreScore", with(all_errors("running PreScore plugin \"a\""), {{Code::skip, "bound"}})},
      {"Score", all_errors("running Score plugins: plugin \"a\" failed with")},
      {"Normalize", all_errors("running Normalize on Score plugins: plugin \"a\" failed with")},
      {"Reserve", with(all_errors("running Reserve plugin \"a\""), rejects("0/1 nodes are available: 1 why."))},
      {"Permit", with(with(all_errors("running Permit plugin \"a\""), rejects("0/1 nodes are available: 1 why.")),
                      {{Code::wait, "waits (a)"}})},
      {"PreFlight",
       {{Code::success, "bound"},
        {Code::error, error("running PreBindPreFlight \"a\": why")},
        {Code::unschedulable, unsupported("Unschedulable")},
        {Code::unresolvable, unsupported("UnschedulableAndUnresolvable")},
        {Code::wait, unsupported("Wait")},
        {Code::skip, "bound"},
        {Code::pending, unsupported("Pending")}}},
      {"PreBind", with(all_errors("running PreBind plugin \"a\""), rejects_late)},
      {"Bind", with(with(all_errors("running Bind plugin \"a\""), rejects_late), {{Code::skip, "bound"}})},
  };
  return kTable;
}

// One pod and two nodes.
class StatusTable : public ::testing::TestWithParam<std::tuple<const char*, Code>>, protected SchedulerHost {
 protected:
  PodPtr find_unplaced(const Pod&) const override { return pod; }
  void record_event(const Pod&, const SchedulingEvent& event) override { events.emplace_back(event.reason); }
  std::optional<PodCondition> condition_of(const Pod&) const override { return condition; }
  void patch_status(const Pod&, const StatusPatch& patch) override {
    if (patch.condition) condition = patch.condition;
  }
  Status evict(const Pod&, const Pod&) override { return {}; }

  void run() {
    ASSERT_TRUE(scheduler.add_profile(scripted.registry, scripted.profile).is_success());
    for (const char* node : {"n1", "n2"}) scheduler.cache().set_node(share(make_node(node)));
    scheduler.handlers().pod_added(pod);
    attempt = scheduler.schedule_one();
    if (attempt.binding == nullptr || attempt.binding->waits) return;
    BindingCycle& cycle = *attempt.binding;
    scheduler.leave_queue(cycle);
    PlacementRequest request;
    Status status = scheduler.pre_bind(cycle, request);
    if (status.is_success()) status = scheduler.bind(cycle);
    if (!status.is_success()) return scheduler.fail_binding(cycle, status);
    scheduler.finish_binding(cycle);
    scheduler.post_bind(cycle);
  }

  // In the format of the table.
  std::string outcome() const {
    if (const WaitingPod* waiting = scheduler.waiting_pods().find(pod->uid())) {
      return "waits (" + waiting->plugins.begin()->first + ")";
    }
    if (events == std::vector<std::string>{"Scheduled"}) return "bound";
    const QueuedPod* queued = scheduler.queue().find(pod->uid());
    if (queued == nullptr) return "lost";
    std::string text;
    switch (scheduler.queue().where(pod->uid())) {
      case Queue::Where::gated:
        return "gated (" + queued->gating_plugin + ")" + (events.empty() ? "" : " with an event");
      case Queue::Where::unschedulable: text = "unschedulable"; break;
      case Queue::Where::backoff:
        text = scheduler.queue().is_error_backoff(pod->uid()) ? "error backoff" : "backoff";
        break;
      default: return "elsewhere";
    }
    for (const std::string& plugin : queued->unschedulable_plugins) {
      text += " (" + plugin + (queued->pending_plugins.contains(plugin) ? "!" : "") + ")";
    }
    return text + ", " + (condition ? condition->reason + ": " + condition->message : "no condition");
  }

  PodPtr pod = share(make_pod("p"));
  FakeClock clock;
  FakeVolumes volumes;
  ScriptedFramework scripted;
  Scheduler scheduler{clock, volumes, *this, {{}, 1, {}, nullptr}};
  Scheduler::Attempt attempt;  // declared after the scheduler: its destructor unreserves there
  std::vector<std::string> events;
  std::optional<PodCondition> condition;
};

TEST_P(StatusTable, HasThisOutcomeForThePod) {
  const auto& [point, code] = GetParam();
  if (code != Code::success) scripted.scripts["a"].answers[point] = Status(code, "why");
  if (std::string_view(point) == "PostFilter") scripted.scripts["b"].answers["Filter"] = Status::unschedulable("full");
  run();
  EXPECT_EQ(outcome(), table().at(point).at(code));
  const bool placed = outcome() == "bound" || outcome() == "waits (a)";
  EXPECT_EQ(scheduler.cache().pod_count(), placed ? 1u : 0u) << "a failed attempt occupies no node";
}

INSTANTIATE_TEST_SUITE_P(PointsAndCodes, StatusTable,
                         ::testing::Combine(::testing::ValuesIn(kPoints), ::testing::ValuesIn(kCodes)),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param)) +
                                  std::string(to_string(std::get<1>(param.param)));
                         });

class StatusTableRules : public StatusTable {};

TEST_F(StatusTableRules, ReportNothingWhenEveryBindPluginSkips) {
  for (const char* plugin : {"a", "b"}) scripted.scripts[plugin].answers["Bind"] = Status::skip();
  run();
  EXPECT_EQ(outcome(), "error backoff, no condition");
  EXPECT_TRUE(events.empty());
}

TEST_F(StatusTableRules, LeaveNoPodWaitingWhenPreFlightFails) {
  scripted.scripts["a"].answers["Permit"] = Status(Code::wait, "why");
  scripted.scripts["b"].answers["PreFlight"] = Status::error("why");
  run();
  EXPECT_TRUE(scheduler.waiting_pods().all().empty());
}

TEST_F(StatusTableRules, ReportAnUnchangedConditionOnce) {
  scripted.scripts["a"].answers["Reserve"] = Status::unschedulable("why");
  run();
  condition->message += " (kept)";
  scripted.scripts["a"].answers["Reserve"] = Status::unschedulable("why");
  scheduler.queue().activate({pod->uid()});
  static_cast<void>(scheduler.schedule_one().popped);
  EXPECT_EQ(condition->message, "0/1 nodes are available: 1 why.") << "a changed message is reported again";
  EXPECT_EQ(events.size(), 2u);
}

TEST_F(StatusTableRules, CutALongNoteButNotTheCondition) {
  scripted.scripts["a"].answers["Reserve"] = Status::error(std::string(2000, 'x'));
  run();
  EXPECT_GT(condition->message.size(), 2000u);
}

}  // namespace
}  // namespace berth
