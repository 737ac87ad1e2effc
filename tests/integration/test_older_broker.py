"""A broker with persistence comes back with what it retained some time ago: orders that were replaced or carried out since
are no orders."""

import shutil

import pytest
from broker import Broker
from invariants import wait_each_runs_once
from manifests import counted_pod, starts
from waiting import wait_until


@pytest.fixture
def broker(tmp_path, leaves_no_process):
    running = Broker(tmp_path / "broker", persistent=True).start()
    yield running
    running.stop()


def ordered(name, marks, version):
    """With the members in the order that berthd stores them in, the broker goes on retaining the operator's message."""
    manifest = counted_pod(name, marks, labels={"version": version})
    manifest["metadata"]["uid"] = f"uid-of-{name}"
    return manifest


def test_what_was_deleted_or_updated_does_not_come_back_with_an_older_retained_set(fleet, broker, tmp_path):
    fleet.start("n1")
    names = ["gone-1", "gone-2", "changed-1", "changed-2"]
    for name in names:
        fleet.observer.publish(f"{fleet.root}/desired/pods/default/{name}", ordered(name, tmp_path, "1"), retain=True)
    wait_each_runs_once(fleet, *names)
    broker.save()
    copy = tmp_path / "copy.db"
    shutil.copy(broker.saved, copy)

    fleet.delete("pod", "gone-1")
    fleet.observer.publish(f"{fleet.root}/desired/pods/default/gone-2", {"deleted": True}, retain=True)
    fleet.apply(ordered("changed-1", tmp_path, "2"))
    fleet.observer.publish(f"{fleet.root}/desired/pods/default/changed-2", ordered("changed-2", tmp_path, "2"),
                           retain=True)
    wait_each_runs_once(fleet, "changed-1", "changed-2")
    wait_until(lambda: fleet.get("pod", "changed-2")["metadata"]["labels"]["version"] == "2", "the update")

    broker.kill()
    shutil.copy(copy, broker.saved)
    gateway = fleet.programs["berthd"]
    connected = gateway.output().count("in step with the broker")
    broker.start()
    wait_until(lambda: gateway.output().count("in step with the broker") > connected, "the gateway to read all orders")
    assert [name for name in names if fleet.get("pod", name)] == ["changed-1", "changed-2"]
    for name in ("changed-1", "changed-2"):
        assert fleet.get("pod", name)["metadata"]["labels"]["version"] == "2", name
    assert {name: starts(name, tmp_path) for name in names} == {name: 1 for name in names}

    fleet.observer.publish(f"{fleet.root}/desired/pods/default/gone-1", ordered("gone-1", tmp_path, "1"), retain=True)
    wait_each_runs_once(fleet, "gone-1", "changed-1", "changed-2")
    assert starts("gone-1", tmp_path) == 2, "the same text, published again, is an order"
