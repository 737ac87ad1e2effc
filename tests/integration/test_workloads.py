"""Workloads with a real gateway and real devices: from `berthctl apply` to processes that run, are rolled and end."""

import json

import pytest
from manifests import workload
from waiting import wait_until


def running(fleet, app):
    """The pods of the workload that the gateway reports as running, by name, each with its version."""
    items = json.loads(fleet.ctl("get", "pods", "-o", "json").stdout)["items"]
    return {pod["metadata"]["name"]: pod["metadata"]["labels"].get("version") for pod in items
            if pod["metadata"]["labels"].get("app") == app and pod["status"]["phase"] == "Running"
            and not pod["status"].get("deleting")}


def status(fleet, kind, name):
    return (fleet.get(kind, name) or {}).get("status", {})


def wait_rolled(fleet, kind, name, version, replicas):
    def is_rolled():
        return sorted(running(fleet, name).values()) == [version] * replicas
    wait_until(is_rolled, f"{kind} {name} to run {replicas} pods of version {version}", 60)


def test_a_deployment_is_run_rolled_scaled_and_deleted(fleet):
    fleet.start("n1", "n2")
    fleet.apply(workload("Deployment", "web", replicas=3, version="1"))
    wait_rolled(fleet, "deployment", "web", "1", 3)
    wait_until(lambda: status(fleet, "deployment", "web").get("readyReplicas") == 3, "three ready replicas")
    header, row = fleet.ctl("get", "deploy", "web").stdout.splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "3/3", "3", "3"]
    fleet.apply(workload("Deployment", "web", replicas=3, version="2"))
    wait_rolled(fleet, "deployment", "web", "2", 3)
    fleet.apply(workload("Deployment", "web", replicas=1, version="2"))
    wait_rolled(fleet, "deployment", "web", "2", 1)
    described = fleet.ctl("describe", "deployment", "web").stdout
    assert "ScalingReplicaSet" in described and "Available" in described
    fleet.ctl("delete", "deployment", "web")
    wait_until(lambda: not running(fleet, "web") and fleet.get("deployment", "web") is None, "the deployment to be gone")


def test_a_gateway_that_is_killed_in_a_rollout_goes_on_with_it(fleet):
    fleet.start("n1", "n2")
    fleet.apply(workload("Deployment", "web", replicas=4, version="1"))
    wait_rolled(fleet, "deployment", "web", "1", 4)
    fleet.apply(workload("Deployment", "web", replicas=4, version="2"))
    wait_until(lambda: "2" in running(fleet, "web").values(), "the first pod of the new version")
    fleet.kill("berthd")
    fleet.restart("berthd")
    fleet.wait_gateway_ready()
    wait_rolled(fleet, "deployment", "web", "2", 4)
    pods = [line for line in fleet.ctl("get", "pods").stdout.splitlines()[1:] if "Terminating" not in line]
    assert len(pods) == 4, pods


@pytest.mark.parametrize("policy", ["foreground", "background"])
def test_a_deleted_workload_takes_its_pods_along(fleet, policy):
    fleet.start("n1")
    fleet.apply(workload("ReplicaSet", "web", replicas=2, version="1"))
    wait_rolled(fleet, "rs", "web", "1", 2)
    fleet.ctl("delete", "rs", "web", f"--cascade={policy}")
    wait_until(lambda: fleet.ctl("get", "pods").stdout.count("web-") == 0, "the pods to be gone")
    assert fleet.get("rs", "web") is None


def test_a_job_completes_and_its_pod_stays(fleet):
    fleet.start("n1")
    job = workload("Job", "sum", command=("true",))
    fleet.apply(job)
    wait_until(lambda: status(fleet, "job", "sum").get("succeeded") == 1, "the job to complete")
    wait_until(lambda: fleet.ctl("get", "job", "sum").stdout.splitlines()[1].split()[1:3] == ["Complete", "1/1"],
               "the job to be shown as complete")
    assert "Succeeded" in fleet.ctl("get", "pods").stdout
    fleet.ctl("delete", "job", "sum")
    wait_until(lambda: "sum-" not in fleet.ctl("get", "pods").stdout, "the pod of the job to be gone")


def test_a_daemon_set_follows_the_nodes_and_a_stateful_set_keeps_its_names(fleet):
    fleet.start("n1")
    fleet.apply(workload("DaemonSet", "agent", version="1"), workload("StatefulSet", "db", replicas=2, version="1"))
    wait_rolled(fleet, "ds", "agent", "1", 1)
    wait_until(lambda: sorted(running(fleet, "db")) == ["db-0", "db-1"], "the pods of the stateful set")
    fleet.start_agent("n2")
    wait_rolled(fleet, "ds", "agent", "1", 2)


@pytest.mark.parametrize("end", ["returns", "is forgotten"])
def test_a_pod_of_a_stateful_set_does_not_run_twice_when_its_node_is_lost(fleet, tmp_path, end):
    fleet.start("n1")
    starts = tmp_path / "starts"
    db = workload("StatefulSet", "db", replicas=1, command=("sh", "-c", f"echo $NODE >> {starts}; exec sleep 1000"))
    container = db["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    fleet.apply(db)
    fleet.wait_running("db-0", node="n1")
    fleet.kill("n1")
    fleet.wait_node("n1", ready=False)
    fleet.start_agent("n2")
    fleet.wait_node("n2")
    fleet.ctl("delete", "pod", "db-0")
    fleet.apply(workload("Deployment", "later", replicas=1))
    wait_rolled(fleet, "deployment", "later", "1", 1)  # the gateway goes on, on the other node
    assert starts.read_text(encoding="utf-8").split() == ["n1"]
    if end == "returns":
        fleet.ctl("cordon", "n2")
        fleet.restart("n1")
    else:
        fleet.ctl("forget", "node", "n1")
    node = "n1" if end == "returns" else "n2"
    wait_until(lambda: starts.read_text(encoding="utf-8").split() == ["n1", node], f"db-0 to start again on {node}", 60)
    wait_until(lambda: status(fleet, "statefulset", "db").get("readyReplicas") == 1, "the pod to be ready")
