"""Pods that wait on a Permit plugin, as an operator sees, allows and rejects them."""

import json

import pytest
from manifests import pod
from test_configuration import OwnFleet, write
from waiting import wait_until


@pytest.fixture
def fleet(tmp_path, broker):
    running = OwnFleet(tmp_path, broker.port)
    config = write(tmp_path, "profiles:\n- plugins: {permit: {enabled: [{name: Approval}]}}\n")
    running.start_gateway(extra=["--scheduler-config", config])
    running.start_agent("porch")
    running.wait_node("porch")
    yield running
    running.stop()


def held(name):
    manifest = pod(name)
    manifest["metadata"].setdefault("labels", {})["example.com/approval"] = "required"
    return manifest


def wait_held(fleet, name):
    fleet.apply(held(name))
    fleet.wait_pending(name, "waiting on permit of Approval for node porch")


def test_a_pod_runs_once_the_operator_allows_it(fleet):
    fleet.apply(pod("free"))
    fleet.wait_running("free")
    wait_held(fleet, "guarded")
    lines = fleet.ctl("waiting").stdout.splitlines()
    assert lines[0].split() == ["NAMESPACE", "NAME", "NODE", "PLUGIN", "REMAINING"]
    assert lines[1].split()[:4] == ["default", "guarded", "porch", "Approval"]
    assert fleet.nodes_running("guarded") == []
    assert fleet.ctl("allow", "pod", "guarded").stdout == "pod/default/guarded allowed\n"
    fleet.wait_running("guarded", node="porch")
    assert "no pods wait on permit" in fleet.ctl("waiting", "-A").stderr


def test_a_rejected_pod_is_requeued_with_the_operators_reason(fleet):
    wait_held(fleet, "guarded")
    fleet.ctl("reject", "pod/guarded", "--reason", "not while it rains")
    fleet.wait_pending("guarded", "0/1 nodes are available: 1 not while it rains.")
    assert json.loads(fleet.ctl("waiting", "-o", "json").stdout) == {"items": []}


def test_a_pod_that_does_not_wait_can_be_neither_allowed_nor_rejected(fleet):
    for verb in ("allow", "reject"):
        done = fleet.ctl(verb, "pod", "nobody", check=False)
        assert (done.returncode, done.stderr) == (1, 'berthctl: Pod "default/nobody" not found\n')
    wait_held(fleet, "guarded")
    done = fleet.ctl("allow", "pod", "guarded", "--plugin", "Other", check=False)
    assert done.returncode == 1
    assert 'plugin: Pod "default/guarded" does not wait for "Other"; it waits for Approval' in done.stderr


def test_a_pod_that_waited_waits_again_after_the_gateway_was_killed(fleet):
    wait_held(fleet, "guarded")
    fleet.kill("berthd")
    fleet.restart("berthd")
    wait_until(lambda: "guarded" in fleet.ctl("waiting", check=False).stdout, "the pod waiting again")
    fleet.ctl("allow", "pod", "guarded")
    fleet.wait_running("guarded")
