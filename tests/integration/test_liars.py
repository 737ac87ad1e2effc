"""Devices that lie about themselves harm nobody but themselves."""

import contextlib
import os
import re
from pathlib import Path

import pytest
from device import FakeDevice
from hostile import Flood
from manifests import pod
from waiting import wait_until


@contextlib.contextmanager
def liar(fleet, rules=None, **facts):
    device = FakeDevice(fleet, fleet.port, "liar", rules, **facts)
    try:
        yield device
    finally:
        device.close()


def condition(fleet, node, kind):
    """The message of the node's condition, or None."""
    shown = fleet.get("node", node) or {"status": {"conditions": []}}
    return next((c.get("message") for c in shown["status"]["conditions"] if c["type"] == kind), None)


def test_a_device_that_claims_anothers_host_name_gets_no_pod_of_that_host(fleet):
    fleet.start("n1")
    with liar(fleet, labels={"kubernetes.io/hostname": "n1"}, allocatable={"cpu": "64", "memory": "64Gi", "pods": "100"}) as device:
        wait_until(lambda: condition(fleet, "liar", "LabelsIgnored"), "the condition of the liar")
        assert "kubernetes.io/hostname=n1" in condition(fleet, "liar", "LabelsIgnored")
        for name in ("a", "b", "c"):
            fleet.apply(pod(name, nodeSelector={"kubernetes.io/hostname": "n1"}))
            fleet.wait_running(name, node="n1")
        assert not [r for r in device.asked if r["type"] == "PreBind"]
        assert "liar: the device says kubernetes.io/hostname=n1" in fleet.ctl("explain", "pod", "a").stdout


def test_a_device_that_offers_more_than_the_limits_gets_no_pod(fleet):
    fleet.start("n1")
    with liar(fleet, allocatable={"cpu": "100000", "memory": "64Gi", "pods": "100"}) as device:
        wait_until(lambda: condition(fleet, "liar", "Quarantined"), "the quarantine")
        for name in ("a", "b", "c"):
            fleet.apply(pod(name))
            fleet.wait_running(name, node="n1")
        assert not [r for r in device.asked if r["type"] == "PreBind"]
        device.publish_state(allocatable={"cpu": "2", "memory": "512Mi", "pods": "20"})
        wait_until(lambda: not condition(fleet, "liar", "Quarantined"), "the end of the quarantine")


@pytest.mark.parametrize("answer", [None, {"type": "Rejected", "reason": "I do not like it"}], ids=["silent", "rejects"])
def test_a_device_that_draws_every_pod_and_takes_none_is_passed_over(fleet, tmp_path, answer):
    config = tmp_path / "berthd.yaml"
    config.write_text("promise_limit_seconds: 2\nnode_limits: {cpu: 200000}\n", encoding="utf-8")
    fleet.start_gateway(extra=["--config", config])
    fleet.start_agent("n1")
    fleet.wait_node("n1")
    with liar(fleet, {"PreBind": lambda request: answer}, allocatable={"cpu": "100000", "memory": "64Gi", "pods": "100"}) as device:
        fleet.wait_node("liar")
        names = [f"web-{number}" for number in range(5)]
        fleet.apply(*(pod(name) for name in names))
        device.wait_asked("PreBind")
        for name in names:
            fleet.wait_running(name, node="n1")
        fleet.apply(pod("after"))
        fleet.wait_running("after", node="n1")


def test_a_device_that_lists_slots_nobody_gave_under_ever_new_incarnations_fills_no_store(fleet, tmp_path):
    config = tmp_path / "berthd.yaml"
    config.write_text("node_limits: {slots: 100, incarnations_per_hour: 8}\n", encoding="utf-8")
    fleet.start_gateway(extra=["--config", config]).wait_output("in step with the broker")
    fleet.start_agent("n1")
    fleet.wait_node("n1")
    with contextlib.closing(Flood(fleet, fleet.port, "liar")):
        wait_until(lambda: condition(fleet, "liar", "Quarantined"), "the quarantine")
        fleet.ctl("adopt", "done")  # the first lie may have told a new gateway that another one was lost
        fleet.apply(pod("web"))
        fleet.wait_running("web", node="n1")
        with fleet.store("berthd") as store:
            assert 0 < len(store.records("release")) <= 100
    fleet.ctl("forget", "node", "liar")
    with fleet.store("berthd") as store:
        assert not store.records("release")


def broker_memory(fleet, figure="VmRSS"):
    """Resident memory of the embedded broker, in bytes. VmHWM: the most it has been."""
    status = Path(f"/proc/{fleet.broker_pid()}/status").read_text(encoding="utf-8")
    return int(re.search(figure + r":\s+(\d+) kB", status).group(1)) << 10


def test_a_device_that_leaves_statuses_behind_fills_no_broker(embedded):
    """3,000 of 60 kB each: the broker has them back in a while, its memory too, and the other device works on."""
    limit = 512 << 20
    with embedded.config.open("a", encoding="utf-8") as config:
        config.write(f"embedded_broker: {{memory_limit_bytes: {limit}}}\n")
    embedded.start("n1", "n2")
    start = broker_memory(embedded)
    liar = embedded.client("n2", client_id="x")  # ends the session of the agent of n2: it is this device that lies
    embedded.kill("n2")
    junk = os.urandom(60_000)
    for number in range(3000):
        liar.paho.publish(embedded.topic(f"nodes/n2/pods/junk/x{number}"), junk, 1, retain=True)
    wait_until(lambda: "status_bytes" in (condition(embedded, "n2", "Quarantined") or ""), "the quarantine of n2", 240)
    embedded.apply(pod("web"))
    embedded.wait_running("web", node="n1")
    wait_until(lambda: len(liar.acked) >= 3000, "the end of the flood", 240)
    flooded = broker_memory(embedded, "VmHWM")  # how much of the flood is there at once depends on who is faster
    assert start * 4 < flooded < limit * 1.5
    wait_until(lambda: broker_memory(embedded) < start + (flooded - start) / 3, "the broker's memory to be given back", 240)
    liar.close()


HUGE_TERM = 2 ** 62 - 10


def obeys(term):
    return {"List": lambda request: {"type": "Superseded", "term": str(term), "storeId": "lie"}}


def test_a_device_that_obeys_a_huge_term_stops_no_other_and_a_lost_store_recovers(fleet):
    fleet.start("n1")
    with liar(fleet, obeys(HUGE_TERM), allocatable={"cpu": "0", "memory": "1Mi", "pods": "0"}) as device:
        device.client.wait(lambda: any(int(r["term"]) > HUGE_TERM for r in device.asked), "the term of this node alone")
        fleet.apply(pod("before"))
        fleet.wait_running("before", node="n1")
        assert "older copy" not in fleet.ctl("status").stdout

        fleet.kill("berthd")
        for path in fleet.state_dir("berthd").glob("gateway.db*"):
            path.unlink()
        berthd = fleet.restart("berthd")
        wait_until(lambda: berthd.output().count("in step with the broker") == 2, "the second start")
        fleet.ctl("forget", "node", "liar")
        fleet.apply(pod("after"))
        fleet.wait_running("after", node="n1")
        assert fleet.nodes_running("before") == ["n1"]


def test_a_term_that_cannot_be_exceeded_quarantines_the_device_that_names_it(fleet):
    fleet.start("n1")
    with liar(fleet, obeys(2 ** 62)):
        wait_until(lambda: condition(fleet, "liar", "Quarantined"), "the quarantine")
        assert "wipe the state of its agent" in condition(fleet, "liar", "Quarantined")
        fleet.apply(pod("web"))
        fleet.wait_running("web", node="n1")
