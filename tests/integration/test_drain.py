"""berthctl cordon, uncordon and drain, with budgets, a real gateway and real devices."""

import json

from manifests import pod, workload
from waiting import wait_until


def budget(name, **spec):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, **spec}}


def pods_on(fleet, node):
    """The names of the pods on the node."""
    items = json.loads(fleet.ctl("get", "pods", "-o", "json").stdout)["items"]
    return {item["metadata"]["name"] for item in items if item["status"].get("nodeName") == node}


def wait_ready(fleet, kind, name, field, count):
    wait_until(lambda: (fleet.get(kind, name) or {}).get("status", {}).get(field) == count,
               f"{count} ready pods of {name}", 60)


def test_a_cordoned_node_gets_no_pod_until_it_is_uncordoned(fleet):
    fleet.start("n1")
    assert fleet.ctl("cordon", "n1").stdout == "node/n1 cordoned\n"
    assert fleet.ctl("cordon", "node/n1").stdout == "node/n1 already cordoned\n"
    fleet.apply(pod("own"))
    fleet.wait_pending("own", "unschedulable")
    assert fleet.ctl("uncordon", "n1").stdout == "node/n1 uncordoned\n"
    fleet.wait_running("own", node="n1")
    refused = fleet.ctl("cordon", "nobody", check=False)
    assert refused.returncode == 1 and 'Node "nobody" not found' in refused.stderr


def test_a_drain_moves_pods_as_fast_as_their_budget_allows(fleet):
    fleet.start("n1")
    fleet.apply(workload("Deployment", "web", replicas=3), budget("web", minAvailable=2))
    wait_ready(fleet, "deployment", "web", "readyReplicas", 3)
    fleet.start_agent("n2")
    fleet.wait_node("n2")
    done = fleet.ctl("drain", "n1", timeout_s=90)
    assert done.stdout.splitlines()[0] == "node/n1 cordoned"
    assert done.stdout.splitlines()[-1] == "node/n1 drained"
    assert done.stdout.count(" evicted\n") == 3
    assert "Cannot evict pod as it would violate the pod's disruption budget." in done.stderr
    assert "The disruption budget web needs 2 healthy pods and has 2 currently" in done.stderr
    assert pods_on(fleet, "n1") == set()
    wait_ready(fleet, "deployment", "web", "readyReplicas", 3)
    assert len(pods_on(fleet, "n2")) == 3


def test_a_drain_that_a_budget_never_allows_ends_at_its_timeout(fleet):
    fleet.start("n1")
    fleet.apply(workload("Deployment", "web", replicas=1), budget("web", maxUnavailable=0))
    wait_ready(fleet, "deployment", "web", "readyReplicas", 1)
    (name,) = pods_on(fleet, "n1")
    done = fleet.ctl("drain", "n1", "--timeout", "1s", check=False, timeout_s=60)
    assert done.returncode == 1
    assert f"default/{name}: not evicted" in done.stderr
    assert pods_on(fleet, "n1") == {name}


def test_a_drain_asks_before_it_deletes_what_nobody_makes_again_and_leaves_daemon_sets_alone(fleet):
    fleet.start("n1")
    fleet.apply(workload("DaemonSet", "agent"), pod("own"))
    wait_ready(fleet, "daemonset", "agent", "numberReady", 1)
    fleet.wait_running("own")
    refused = fleet.ctl("drain", "n1", check=False)
    assert refused.returncode == 1
    assert 'unable to drain node "n1" due to error: ' in refused.stderr
    assert "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): default/agent-" in refused.stderr
    assert "cannot delete Pods that declare no controller (use --force to override): default/own" in refused.stderr
    fleet.wait_running("own")
    done = fleet.ctl("drain", "n1", "--ignore-daemonsets", "--force", timeout_s=60)
    assert "ignoring DaemonSet-managed Pods: default/agent-" in done.stderr
    assert "deleting Pods that declare no controller: default/own" in done.stderr
    assert done.stdout.splitlines() == ["node/n1 already cordoned", "evicting pod default/own", "pod/own evicted",
                                        "node/n1 drained"]
    (kept,) = pods_on(fleet, "n1")
    assert kept.startswith("agent-")
