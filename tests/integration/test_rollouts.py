"""Rollouts in waves with a real gateway and real devices (firmware-host/rollouts.md)."""

import json

import pytest
from manifests import workload
from waiting import wait_until

WAVES = [{"name": "canary", "selector": {"matchLabels": {"site": "lab"}}, "soakSeconds": 1}, {"name": "rest"}]


def plan(**changes):
    return {"waves": WAVES, "healthySeconds": 1, "progressDeadlineSeconds": 5, "maxRestarts": 0, **changes}


def planned(marks, version, script="exec sleep 1000", rollout_plan=None, readiness=None):
    """A DaemonSet with a plan, whose pods write to marks/NODE which version they are."""
    line = f"echo {version} >> {marks}/$NODE; {script}"
    made = workload("DaemonSet", "vision", version=version, command=("sh", "-c", line))
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    if readiness:
        container["readinessProbe"] = {"exec": {"command": list(readiness)}, "periodSeconds": 1, "failureThreshold": 1}
    made["metadata"]["annotations"] = {"berth/rollout-plan": json.dumps(rollout_plan or plan())}
    return made


def ran(marks, node):
    """The versions that the node has run, in the order of their first starts."""
    path = marks / node
    return list(dict.fromkeys(path.read_text(encoding="utf-8").split())) if path.exists() else []


def running(fleet):
    """The version of the pod that the gateway reports as running, by node."""
    items = json.loads(fleet.ctl("get", "pods", "-o", "json").stdout)["items"]
    return {pod["status"]["nodeName"]: pod["metadata"]["labels"]["version"] for pod in items
            if pod["status"]["phase"] == "Running" and not pod["status"].get("deleting")}


def status(fleet):
    return (fleet.get("daemonset", "vision") or {}).get("status", {})


def count(fleet, field):
    return status(fleet).get(field, 0)


def rollout(fleet):
    return status(fleet).get("rollout", {})


def event_reasons(fleet):
    items = json.loads(fleet.ctl("get", "events", "-o", "json").stdout)["items"]
    return [event["reason"] for event in items if event["involvedObject"]["name"] == "vision"]


def wait_everywhere(fleet, version, *nodes):
    wait_until(lambda: running(fleet) == dict.fromkeys(nodes, version), f"version {version} on {nodes}", 60)


def wait_for_phase(fleet, phase):
    return wait_until(lambda: rollout(fleet).get("phase") == phase and rollout(fleet), f"the rollout to be {phase}", 60)


@pytest.fixture
def marks(tmp_path):
    path = tmp_path / "marks"
    path.mkdir()
    return path


@pytest.fixture
def site(fleet, marks):
    """A gateway and three devices, one of them of the site where revisions are tried; all run version 1."""
    fleet.start("n2", "n3")
    fleet.start_agent("n1", labels={"site": "lab"})
    fleet.wait_node("n1")
    fleet.apply(planned(marks, "1"))
    wait_everywhere(fleet, "1", "n1", "n2", "n3")
    fleet.ctl("rollout", "status", "daemonset/vision", timeout_s=60)
    return fleet


@pytest.mark.parametrize("fault", [{"script": "exit 1"}, {"readiness": ("false",)}], ids=["exits", "unready"])
def test_a_revision_that_fails_on_the_canary_is_taken_back_and_reaches_no_other_node(site, marks, fault):
    site.apply(planned(marks, "2", **fault))
    assert wait_for_phase(site, "RolledBack")["failed"] == ["n1"]
    wait_everywhere(site, "1", "n1", "n2", "n3")
    assert [ran(marks, node) for node in ("n1", "n2", "n3")] == [["1", "2"], ["1"], ["1"]]
    shown = site.ctl("rollout", "status", "ds/vision", check=False, timeout_s=60)
    assert shown.returncode == 1
    assert "RolledBack: wave canary (1 of 2) failed on n1: back to revision" in shown.stderr
    assert {"RolloutStarted", "RolledBack"} <= set(event_reasons(site))


def test_a_rollout_survives_a_killed_gateway_and_is_paused_and_resumed(site, marks):
    allowed = marks / "allowed"
    site.apply(planned(marks, "2", readiness=("test", "-e", str(allowed)),
                       rollout_plan=plan(progressDeadlineSeconds=600)))
    wait_until(lambda: "1 updating" in rollout(site).get("message", ""), "the canary to run version 2")
    before = rollout(site)
    site.kill("berthd")
    site.restart("berthd")
    site.wait_gateway_ready()
    assert rollout(site) == before and before["waveName"] == "canary"
    assert site.ctl("rollout", "pause", "ds/vision").stdout == "daemonset/default/vision paused\n"
    allowed.touch()
    wait_until(lambda: count(site, "updatedNumberScheduled") == 1 and count(site, "numberReady") == 3,
               "the canary to be ready")
    assert {**wait_for_phase(site, "Paused"), "phase": "", "message": ""} == {**before, "phase": "", "message": ""}
    assert ran(marks, "n1") == ["1", "2"] and ran(marks, "n2") == ran(marks, "n3") == ["1"]
    assert site.ctl("rollout", "resume", "ds/vision").stdout == "daemonset/default/vision resumed\n"
    shown = site.ctl("rollout", "status", "ds/vision", timeout_s=60)
    assert shown.stdout.splitlines()[-1] == "daemonset/default/vision: Complete: all waves are done"
    assert running(site) == {"n1": "2", "n2": "2", "n3": "2"}
    assert {"RolloutPaused", "RolloutResumed", "RolloutSoaking", "RolloutComplete"} <= set(event_reasons(site))


def test_a_device_that_is_offline_is_passed_over_and_takes_only_the_newest_revision_when_it_is_back(site, marks):
    site.kill("n3")
    site.wait_node("n3", ready=False)
    for version in ("2", "3"):
        site.apply(planned(marks, version, rollout_plan=plan(offlineDeadlineSeconds=1)))
        site.ctl("rollout", "status", "ds/vision", timeout_s=60)
        assert wait_for_phase(site, "Complete")["message"] == "all waves are done"
        assert ran(marks, "n2")[-1] == version
    assert ran(marks, "n3") == ["1"]
    site.restart("n3")
    wait_everywhere(site, "3", "n1", "n2", "n3")
    assert ran(marks, "n3") == ["1", "3"]
