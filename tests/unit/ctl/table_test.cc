// The output of `berthctl get`: the columns of each kind, and their alignment.
#include "firmware-host/ctl/table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

std::string render(Kind kind, const std::vector<Json>& objects, const TableForm& form = {}) {
  TableWriter writer;
  std::vector<Cells> rows = {table_header(kind, form)};
  for (const Json& object : objects) rows.push_back(table_row(kind, object, form));
  for (const Cells& row : rows) writer.measure(row);
  std::string text;
  for (const Cells& row : rows) text += writer.line(row);
  return text;
}

const char* const kRunning = R"({"metadata":{"name":"web","namespace":"shop","uid":"u1"},
  "status":{"phase":"Running","nodeName":"edge-a","conditions":[{"type":"PodScheduled","status":"True"}],
  "containerStatuses":[{"name":"c","restartCount":2,"state":{"running":{}}}]}})";
const char* const kPending = R"({"metadata":{"name":"big","namespace":"shop"},
  "status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False"}],
  "message":"0/3 nodes are available"}})";

TEST(CtlTable, ShowsTheNodeOfARunningPodAndTheReasonOfAPendingOne) {
  EXPECT_EQ(render(Kind::pod, {parsed_json(kRunning), parsed_json(kPending)}),
            "NAME   READY   STATUS    NODE     MESSAGE\n"
            "web    0/1     Running   edge-a   -\n"
            "big    -       Pending   -        0/3 nodes are available\n");
}

TEST(CtlTable, ShowsWhatAnInitContainerWaitsForAndItsRestartsUntilAllHaveEnded) {
  const std::string waits = R"({"metadata":{"name":"web"},"status":{"phase":"Pending",
    "conditions":[{"type":"PodScheduled","status":"True"}],
    "initContainerStatuses":[{"name":"i","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}],
    "containerStatuses":[{"name":"c","restartCount":0,"state":{"waiting":{"reason":"PodInitializing"}}}]}})";
  const Cells row = table_row(Kind::pod, parsed_json(waits), {.wide = true});
  EXPECT_EQ(row.at(2), "Init:CrashLoopBackOff");
  EXPECT_EQ(row.at(4), "4");
}

TEST(CtlTable, CountsContainersThatAreReadyAndSidecarsAmongThem) {
  const auto ready = [](const std::string& spec, const std::string& status) {
    return table_row(Kind::pod,
                     parsed_json(R"({"metadata":{"name":"web"},"spec":)" + spec + R"(,"status":)" + status + "}"), {})
        .at(1);
  };
  const std::string two = R"({"containers":[{"name":"a"},{"name":"b"}]})";
  const std::string statuses = R"({"containerStatuses":[{"name":"a","ready":true,"state":{"running":{}}},
                                                        {"name":"b","ready":false,"state":{"running":{}}}]})";
  EXPECT_EQ(ready(two, "{}"), "0/2");
  EXPECT_EQ(ready(two, statuses), "1/2");
  EXPECT_EQ(ready("{}", statuses), "1/2") << "of a pod that is watched there is only the status";
  EXPECT_EQ(
      ready(R"({"containers":[{"name":"a"}],"initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always"}]})",
            R"({"initContainerStatuses":[{"name":"i","ready":true,"state":{"terminated":{}}},
                                               {"name":"s","ready":true,"state":{"running":{}}}],
                      "containerStatuses":[{"name":"a","ready":true,"state":{"terminated":{}}}]})"),
      "1/2");
}

TEST(CtlTable, PutsTheNamespaceFirstForAllNamespaces) {
  EXPECT_EQ(table_header(Kind::pod, {.with_namespace = true}).front(), "NAMESPACE");
  EXPECT_EQ(table_row(Kind::pod, parsed_json(kRunning), {.with_namespace = true}).front(), "shop");
  EXPECT_EQ(table_header(Kind::node, {.with_namespace = true}).front(), "NAME");
}

TEST(CtlTable, HasAsManyCellsAsColumnsInEveryForm) {
  for (const KindName& kind : kinds()) {
    for (const TableForm& form : {TableForm{}, TableForm{true, false, 0}, TableForm{true, true, 0}}) {
      EXPECT_EQ(table_header(kind.kind, form).size(), table_row(kind.kind, Json::object(), form).size());
    }
  }
}

TEST(CtlTable, MarksTheDefaultStorageClassAsKubectlDoes) {
  const auto storage_class = [](const std::string& name, const std::string& annotations) {
    return parsed_json(R"({"metadata":{"name":")" + name + R"(","annotations":)" + annotations +
                       R"(},"provisioner":"berth/local","volumeBindingMode":"WaitForFirstConsumer"})");
  };
  EXPECT_EQ(render(Kind::storage_class,
                   {storage_class("a", R"({"storageclass.kubernetes.io/is-default-class":"true"})"),
                    storage_class("b", R"({"storageclass.kubernetes.io/is-default-class":"false"})"),
                    storage_class("c", R"({"storageclass.beta.kubernetes.io/is-default-class":"true"})")}),
            "NAME          PROVISIONER   RECLAIM   BINDING\n"
            "a (default)   berth/local   -         WaitForFirstConsumer\n"
            "b             berth/local   -         WaitForFirstConsumer\n"
            "c (default)   berth/local   -         WaitForFirstConsumer\n");
}

TEST(CtlTable, ShowsDisruptionBudgetsAndCsiKinds) {
  EXPECT_EQ(
      render(
          Kind::pod_disruption_budget,
          {parsed_json(R"({"metadata":{"name":"web"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"a":"b"},
    "matchExpressions":[{"key":"c","operator":"Exists"}]}},"status":{"disruptionsAllowed":1}})")},
          {.wide = true}),
      "NAME   MINAVAILABLE   MAXUNAVAILABLE   ALLOWED   SELECTOR\n"
      "web    50%            -                1         a=b,+1\n");
  EXPECT_EQ(render(Kind::csi_node, {parsed_json(R"({"metadata":{"name":"n1"},"spec":{"drivers":[
    {"name":"d","allocatable":{"count":3}},{"name":"e"}]}})")}),
            "NAME   DRIVERS\n"
            "n1     d=3,e\n");
  EXPECT_EQ(render(Kind::service, {parsed_json(R"({"metadata":{"name":"s"},"spec":{"selector":{"app":"web"}}})")}),
            "NAME   SELECTOR\n"
            "s      app=web\n");
  EXPECT_EQ(render(Kind::csi_storage_capacity,
                   {parsed_json(R"({"metadata":{"name":"c"},"storageClassName":"fast","capacity":"1Gi"})")}),
            "NAME   STORAGECLASS   CAPACITY   MAXIMUM\n"
            "c      fast           1Gi        -\n");
}

TEST(CtlTable, ShowsConfigMapsAndSecretsAsKubectlDoes) {
  constexpr Millis kNow = 1'700'000'000'000;
  const Json map = parsed_json(R"({"metadata":{"name":"c","creationTimestamp":"2023-11-14T22:03:20Z"},
    "data":{"a":"1","b":"2"},"binaryData":{"z":"AA=="}})");
  EXPECT_EQ(table_header(Kind::config_map, {}), (Cells{"NAME", "DATA", "AGE"}));
  EXPECT_EQ(table_row(Kind::config_map, map, {.now = kNow}), (Cells{"c", "3", "10m"}));
  const Json secret = parsed_json(R"({"metadata":{"name":"s"},"type":"Opaque","data":{"pin":4}})");
  EXPECT_EQ(table_header(Kind::secret, {}), (Cells{"NAME", "TYPE", "DATA", "AGE"}));
  EXPECT_EQ(table_row(Kind::secret, secret, {.now = kNow}), (Cells{"s", "Opaque", "1", "<unknown>"}));
}

TEST(CtlTable, CountsRestartsWhenWide) {
  const TableForm wide{.wide = true};
  const Cells header = table_header(Kind::pod, wide);
  const Cells row = table_row(Kind::pod, parsed_json(kRunning), wide);
  const auto at = std::find(header.begin(), header.end(), "RESTARTS") - header.begin();
  ASSERT_LT(at, static_cast<std::ptrdiff_t>(row.size()));
  EXPECT_EQ(row[static_cast<std::size_t>(at)], "2");
}

TEST(CtlTable, ShowsScheduledUntilTheContainersRun) {
  EXPECT_EQ(pod_status(parsed_json(
                R"({"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}]}})")),
            "Scheduled");
  EXPECT_EQ(pod_status(parsed_json(kPending)), "Pending");
  EXPECT_EQ(pod_status(Json::object()), "Pending");
}

TEST(CtlTable, ShowsWhyAContainerDoesNotRun) {
  const Json pod = parsed_json(R"({"status":{"phase":"Running","containerStatuses":[{"name":"a","state":{"running":{}}},
    {"name":"b","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}}}]}})");
  EXPECT_EQ(pod_status(pod), "CrashLoopBackOff");
  EXPECT_EQ(table_row(Kind::pod, pod, {}).back(), "back-off 10s");
}

TEST(CtlTable, ShowsThatAVolumeOrClaimIsBeingDeleted) {
  const Json leaving = parsed_json(R"({"metadata":{"name":"c"},"status":{"phase":"Bound","deleting":true}})");
  EXPECT_EQ(table_row(Kind::persistent_volume_claim, leaving, {}).at(1), "Terminating");
  const Cells header = table_header(Kind::persistent_volume, {});
  const auto column = std::find(header.begin(), header.end(), "STATUS") - header.begin();
  EXPECT_EQ(table_row(Kind::persistent_volume, leaving, {}).at(static_cast<std::size_t>(column)), "Terminating");
}

TEST(CtlTable, ShowsTerminatingBeforeAnythingElse) {
  EXPECT_EQ(pod_status(parsed_json(R"({"status":{"phase":"Running","deleting":true}})")), "Terminating");
}

TEST(CtlTable, ShowsReadinessTaintsAndCapacityOfANode) {
  const Json node = parsed_json(R"({"metadata":{"name":"edge-c"},
    "spec":{"unschedulable":true,"taints":[{"key":"dedicated","value":"lab","effect":"NoSchedule"},
                                           {"key":"slow","effect":"PreferNoSchedule"}]},
    "status":{"allocatable":{"cpu":"1","memory":"536870912"},"conditions":[{"type":"Ready","status":"True"}]}})");
  EXPECT_EQ(render(Kind::node, {node}),
            "NAME     STATUS                     TAINTS                                           CPU   MEMORY\n"
            "edge-c   Ready,SchedulingDisabled   dedicated=lab:NoSchedule,slow:PreferNoSchedule   1     512Mi\n");
}

TEST(CtlTable, ShowsTheContainerRuntimeOfANodeWhenWide) {
  const TableForm wide{.wide = true};
  const Cells header = table_header(Kind::node, wide);
  const Cells row =
      table_row(Kind::node, parsed_json(R"({"status":{"nodeInfo":{"containerRuntimeVersion":"crun://1.8.1"}}})"), wide);
  const auto at = std::find(header.begin(), header.end(), "CONTAINER-RUNTIME") - header.begin();
  ASSERT_LT(at, static_cast<std::ptrdiff_t>(row.size()));
  EXPECT_EQ(row[static_cast<std::size_t>(at)], "crun://1.8.1");
}

TEST(CtlTable, ShowsMemoryInTheLargestWholeUnit) {
  for (const auto& [text, want] : {std::pair{"2147483648", "2Gi"}, std::pair{"1025", "1025"},
                                   std::pair{"3145728", "3Mi"}, std::pair{"1536Mi", "1536Mi"}, std::pair{"0", "0"}}) {
    Json node = parsed_json(R"({"status":{"allocatable":{}}})");
    node.find("status")->find("allocatable")->set("memory", text);
    EXPECT_EQ(table_row(Kind::node, node, {}).back(), want);
  }
}

TEST(CtlTable, ShowsTheClaimOfAVolume) {
  const Json volume = parsed_json(R"({"metadata":{"name":"edge-a-data"},"spec":{"capacity":{"storage":"1Gi"},
    "storageClassName":"local","local":{"path":"/srv/data"},"claimRef":{"namespace":"default","name":"readings"}},
    "status":{"phase":"Bound"}})");
  EXPECT_EQ(table_row(Kind::persistent_volume, volume, {}),
            (Cells{"edge-a-data", "1Gi", "Bound", "default/readings", "local", "/srv/data"}));
}

TEST(CtlTable, ReplacesControlCharactersFromTheNetwork) {
  TableWriter writer;
  EXPECT_EQ(writer.line({"a\x1b[31m", "b\n", "c\xc2\x9b"}), "a?[31m   b?   c?\n");
}

TEST(CtlTable, CountsCharactersNotBytes) {
  TableWriter writer;
  writer.measure({"żółw", "x"});
  EXPECT_EQ(writer.line({"ab", "x"}), "ab     x\n");
}

TEST(CtlTable, ReadsFieldsOfTheWrongTypeAsEmpty) {
  const Json odd =
      parsed_json(R"({"metadata":7,"spec":[],"status":{"conditions":{},"containerStatuses":"x","phase":{}}})");
  for (const KindName& kind : kinds()) {
    for (const std::string& cell : table_row(kind.kind, odd, {.wide = true})) {
      EXPECT_TRUE(cell == "-" || cell == "0" || cell == "NotReady" || cell == "Pending" || cell == "Available" ||
                  cell == "<unknown>" || cell == "1" || cell == "0/1" || cell == "<none>" || cell == "False" ||
                  cell == "Running")
          << cell;
    }
  }
}

TEST(CtlTable, ShowsWorkloadsAsKubectlDoes) {
  const Json deployment = parsed_json(R"({"metadata":{"name":"web","creationTimestamp":"2025-05-01T00:00:00Z"},
    "spec":{"replicas":3},"status":{"readyReplicas":2,"updatedReplicas":1,"availableReplicas":2,"replicas":3}})");
  const TableForm form{.now = 1'746'057'600'000 + 300'000};
  EXPECT_EQ(render(Kind::deployment, {deployment}, form),
            "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\n"
            "web    2/3     1            2           5m\n");
  EXPECT_EQ(render(Kind::replica_set, {deployment}, form),
            "NAME   DESIRED   CURRENT   READY   AGE\n"
            "web    3         3         2       5m\n");
  EXPECT_EQ(table_row(Kind::deployment, parsed_json(R"({"metadata":{"name":"new"},"spec":{}})"), form),
            (Cells{"new", "0/1", "0", "0", "<unknown>"}));
  const Json job = parsed_json(R"({"metadata":{"name":"j","creationTimestamp":"2025-05-01T00:00:00Z"},
    "spec":{"completions":3},"status":{"succeeded":2,"startTime":"2025-05-01T00:00:00Z"}})");
  EXPECT_EQ(render(Kind::job, {job}, form),
            "NAME   STATUS    COMPLETIONS   DURATION   AGE\n"
            "j      Running   2/3           5m         5m\n");
  const Json cron_job = parsed_json(R"({"metadata":{"name":"c","creationTimestamp":"2025-05-01T00:00:00Z"},
    "spec":{"schedule":"@hourly"},"status":{"active":[{}],"lastScheduleTime":"2025-05-01T00:04:00Z"}})");
  EXPECT_EQ(render(Kind::cron_job, {cron_job}, form),
            "NAME   SCHEDULE   TIMEZONE   SUSPEND   ACTIVE   LAST SCHEDULE   AGE\n"
            "c      @hourly    <none>     False     1        60s             5m\n");
  const Json daemon_set = parsed_json(R"({"metadata":{"name":"d"},"spec":{},"status":{"desiredNumberScheduled":2}})");
  EXPECT_EQ(table_row(Kind::daemon_set, daemon_set, form),
            (Cells{"d", "2", "0", "0", "0", "0", "<none>", "<unknown>"}));
  EXPECT_EQ(table_header(Kind::daemon_set, {}),
            (Cells{"NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE"}));
  EXPECT_EQ(table_row(Kind::stateful_set, deployment, form), (Cells{"web", "2/3", "5m"}));
}

}  // namespace
}  // namespace berth
