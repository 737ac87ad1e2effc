"""The Fleet helper's view of topics and stores, with a plain client and database instead of the programs."""

import json
import sqlite3
import stat

import pytest
from fleet import Fleet
from manifests import claim, pod, toleration, with_claim
from stores import Database


@pytest.fixture
def node(fleet, connect):
    """report(node, pod, phase) publishes a pod's status as an agent does; an empty phase clears it."""
    client = connect(fleet.port, "nodes")

    def report(name, pod_name, phase):
        payload = {"uid": "u1", "phase": phase} if phase else ""
        client.publish(fleet.topic(f"nodes/{name}/pods/default/{pod_name}"), payload, retain=True)

    return report


def test_a_pod_runs_on_the_one_node_that_reports_it(fleet, node):
    node("n1", "web", "Pending")
    node("n2", "web", "Running")
    assert fleet.wait_running("web") == "n2"
    assert fleet.pod_on("web", "n1")["phase"] == "Pending"


def test_a_pod_reported_by_two_nodes_does_not_count_as_running(fleet, node):
    node("n1", "web", "Running")
    node("n2", "web", "Running")
    with pytest.raises(AssertionError, match="web running"):
        fleet.wait_running("web", timeout_s=0.2)
    node("n1", "web", "")
    assert fleet.wait_running("web", node="n2") == "n2"


def test_waits_for_the_status_published_by_the_gateway(fleet, connect):
    client = connect(fleet.port, "gateway")
    client.publish(fleet.topic("status/pods/default/web"), {"phase": "Pending"}, retain=True)
    client.publish(fleet.topic("status/pods/default/web"), {"phase": "Succeeded", "node": "n1"}, retain=True)
    assert fleet.wait_phase("web", "Succeeded")["node"] == "n1"


def test_berthctl_gets_the_manifests_and_its_failure_is_reported(tmp_path, monkeypatch):
    tool = tmp_path / "bin" / "berthctl"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "$@"\nfor last; do :; done\ncat "$last"\nexit ${REFUSE:-0}\n', encoding="utf-8")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BERTH_BUILD", str(tmp_path))
    fleet = Fleet(tmp_path, 1, name="plant")
    arguments, first, divider, second = fleet.apply(pod("a"), with_claim(pod("b"), "c")).stdout.splitlines()
    assert arguments.startswith("--broker 127.0.0.1:1 --fleet plant --gateway gw apply -f ")
    assert divider == "---" and json.loads(first) == pod("a")
    assert json.loads(second)["spec"]["volumes"] == [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]
    monkeypatch.setenv("REFUSE", "2")
    with pytest.raises(AssertionError, match="exited with 2"):
        fleet.apply(claim("x"))


def test_a_missing_program_is_reported_with_the_command_that_builds_it(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTH_BUILD", str(tmp_path))
    with pytest.raises(AssertionError, match="cmake --build"):
        Fleet(tmp_path, 1).start_gateway()


def test_a_store_is_read_while_its_program_holds_it_exclusively(tmp_path):
    path = tmp_path / "gateway.db"
    owner = sqlite3.connect(path, isolation_level=None)
    owner.executescript("pragma journal_mode = wal; pragma locking_mode = exclusive; create table t (x);")
    owner.execute("insert into t values (1)")
    with Database(path) as store:
        assert store.tables() == ["t"] and [row["x"] for row in store.rows("select x from t")] == [1]
    owner.execute("insert into t values (2)")
    with Database(path) as store:
        assert len(store.rows("select x from t where x > ?", 0)) == 2


def test_tolerations_have_the_matching_operator():
    assert toleration("a")["operator"] == "Exists" and toleration("a", "b")["operator"] == "Equal"
