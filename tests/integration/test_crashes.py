"""Programs are killed in each phase of the handshake, stores wiped, brokers lost. Afterwards every pod runs exactly
once, no volume is bound twice, and nothing is left behind."""

import os
import random
import signal
from pathlib import Path

import pytest
from invariants import assert_one_place, sleepers, wait_each_runs_once, workloads
from manifests import LOCAL_CLASS, claim, counted_pod, pod, starts, with_claim
from mqtt_proxy import message
from waiting import wait_until

REQUESTS = ("PreBind", "Bind", "Release")
PHASES = ("PreBind", "PreBound", "Bind", "Bound", "Release", "Released")


def in_transit(kind, side="device"):
    """Selects the messages of a kind between the broker and the devices, or between the broker and the gateway."""
    towards_device = kind in REQUESTS
    return message("down" if towards_device == (side == "device") else "up", type=kind)


def node_of(packet):
    levels = packet.topic.split("/")
    return levels[levels.index("nodes") + 1] if "nodes" in levels else levels[-1]


def comm(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


class Crash:
    """Two pods with one claim each, two nodes with one volume each; the proxy holds the first message of a given kind."""

    def __init__(self, fleet, proxy, folder):
        self.fleet, self.proxy, self.folder = fleet, proxy, folder
        self.side = "device"  # the side of the broker on which the proxy is
        self.held = None

    def start(self):
        self.fleet.start_gateway(port=self.proxy.port if self.side == "gateway" else None)
        for node in ("n1", "n2"):
            self.fleet.start_agent(node, port=self.proxy.port if self.side == "device" else None,
                                   volumes=[f"data={self.folder / node}:1Gi"])
        for node in ("n1", "n2"):
            self.fleet.wait_node(node)

    def pods(self):
        return [with_claim(counted_pod(f"web-{n}", self.folder), f"disk-{n}") for n in (1, 2)]

    def reach(self, kind):
        """Runs until a message of this kind is held; returns the node that it is for or from."""
        self.start()
        objects = [LOCAL_CLASS, claim("disk-1"), claim("disk-2"), *self.pods()]
        if kind in ("Release", "Released"):
            self.fleet.apply(*objects)
            wait_each_runs_once(self.fleet, "web-1", "web-2")
            self.held = self.proxy.hold(in_transit(kind, self.side), limit=1)
            self.fleet.delete("pod", "web-1")
        else:
            self.held = self.proxy.hold(in_transit(kind, self.side), limit=1)
            self.fleet.apply(*objects)
        return node_of(self.held.wait()[0])

    def pids_on(self, node):
        """Pids of the pods' processes on the node."""
        return {w.pid for w in workloads(self.fleet.name) if w.node == node and comm(w.pid) == "sleep"}

    def resolve(self, fate):
        if fate == "late":
            self.held.release()
        else:
            self.held.end()

    def check(self, kind):
        if kind in ("Release", "Released"):
            self.fleet.wait_gone("web-1")
            nodes = wait_each_runs_once(self.fleet, "web-2")
            assert starts("web-1", self.folder) == 1
            self.fleet.apply(self.pods()[0])  # its resources are free again
            expected = 2
        else:
            nodes, expected = {}, 1
        after = wait_each_runs_once(self.fleet, "web-1", "web-2")
        assert sorted(after.values()) == ["n1", "n2"] and nodes.items() <= after.items()
        assert (starts("web-1", self.folder), starts("web-2", self.folder)) == (expected, 1)


@pytest.fixture
def crash(fleet, proxy, tmp_path):
    return Crash(fleet, proxy, tmp_path)


@pytest.mark.parametrize("fate", ["late", "lost"])
@pytest.mark.parametrize("kind", PHASES)
def test_berthd_killed_with_a_message_in_transit_places_every_pod_once(crash, kind, fate):
    crash.reach(kind)
    crash.fleet.kill("berthd")
    crash.resolve(fate)
    crash.fleet.restart("berthd")
    crash.check(kind)


@pytest.mark.parametrize("kind", PHASES)
def test_berthd_killed_before_its_request_reaches_the_broker_or_before_it_gets_the_answer_places_every_pod_once(crash, kind):
    """The message is held between broker and gateway, and is the first to arrive on the next berthd's connection."""
    crash.side = "gateway"
    crash.reach(kind)
    crash.fleet.kill("berthd")
    crash.resolve("late")
    crash.fleet.restart("berthd")
    crash.check(kind)


@pytest.mark.parametrize("kind", PHASES)
def test_berthd_restarted_before_a_message_arrives_places_every_pod_once(crash, kind):
    crash.reach(kind)
    seen = crash.proxy.count(in_transit(kind))
    crash.fleet.kill("berthd")
    crash.fleet.restart("berthd")
    crash.proxy.wait_seen(message("down", type="List"), 1)
    if kind in REQUESTS:
        crash.proxy.wait_seen(in_transit(kind), seen + 1)  # the resent one overtakes the held one
    crash.resolve("late")
    crash.check(kind)


@pytest.mark.parametrize("fate", ["late", "lost"])
@pytest.mark.parametrize("kind", PHASES)
def test_an_agent_killed_with_a_message_in_transit_runs_every_pod_once(crash, kind, fate):
    node = crash.reach(kind)
    if (kind, fate) == ("Bound", "late"):  # so that there is a process to survive
        wait_until(lambda: crash.pids_on(node), "the pod's process")
    before = crash.pids_on(node)
    crash.fleet.kill(node)
    crash.resolve(fate)
    crash.fleet.restart(node)
    crash.check(kind)
    if kind != "Release":
        assert before <= crash.pids_on(node)


@pytest.mark.parametrize("kind", PHASES)
def test_berthd_and_both_agents_killed_together_run_every_pod_once(crash, kind):
    crash.reach(kind)
    for name in ("n1", "berthd", "n2"):
        crash.fleet.kill(name)
    crash.resolve("late")
    for name in ("n2", "n1", "berthd"):
        crash.fleet.restart(name)
    crash.check(kind)


def test_an_agent_whose_store_is_wiped_stops_its_workload_and_the_pod_starts_once_more(fleet, tmp_path):
    fleet.start("n1")
    fleet.apply(counted_pod("web", tmp_path))
    fleet.wait_running("web")
    wait_each_runs_once(fleet, "web")
    old = {w.pid for w in workloads(fleet.name)}
    fleet.kill("n1")
    assert {w.pid for w in workloads(fleet.name)} >= old  # it outlives its agent
    for file in fleet.state_dir("n1").glob("agent.db*"):
        file.unlink()
    fleet.restart("n1")
    wait_until(lambda: starts("web", tmp_path) == 2, "the second start")
    assert not {w.pid for w in workloads(fleet.name)} & old
    wait_each_runs_once(fleet, "web")


def test_a_gateway_whose_store_is_wiped_recovers_what_runs(fleet, tmp_path):
    fleet.start("n1", "n2")
    fleet.apply(*(counted_pod(f"web-{n}", tmp_path) for n in range(4)))
    names = [f"web-{n}" for n in range(4)]
    before = wait_each_runs_once(fleet, *names)
    fleet.kill("berthd")
    for file in fleet.state_dir("berthd").glob("gateway.db*"):
        file.unlink()
    fleet.restart("berthd")
    assert wait_each_runs_once(fleet, *names) == before
    assert [starts(name, tmp_path) for name in names] == [1] * 4


def test_a_gateway_whose_store_is_wiped_places_nothing_until_every_known_node_has_answered(fleet, tmp_path):
    config = tmp_path / "berthd.yaml"
    config.write_text("known_nodes: [n1, n2]\n", encoding="utf-8")
    fleet.start_gateway(extra=["--config", config])
    for node in ("n1", "n2"):
        fleet.start_agent(node)
        fleet.wait_node(node)
    names = [f"web-{n}" for n in range(4)]
    fleet.apply(*(counted_pod(name, tmp_path) for name in names))
    before = wait_each_runs_once(fleet, *names)
    assert set(before.values()) == {"n1", "n2"}
    fleet.kill("berthd")
    fleet.kill("n2")  # its pods keep running
    for file in fleet.state_dir("berthd").glob("gateway.db*"):
        file.unlink()
    fleet.restart("berthd")
    wait_until(lambda: "must list what they run" in (text := fleet.ctl("status").stdout) and "n1" not in text.split(
        "placed:")[-1], "all nodes but n2 to answer")
    fleet.apply(counted_pod("late", tmp_path))
    fleet.wait_pending("late", "n2")
    fleet.restart("n2")
    after = wait_each_runs_once(fleet, *names, "late")
    assert before.items() <= after.items()
    assert [starts(name, tmp_path) for name in (*names, "late")] == [1] * 5


def test_a_broker_that_comes_back_empty_is_filled_again_and_no_pod_starts_twice(fleet, broker, tmp_path):
    fleet.start("n1", "n2", volumes=[f"data={tmp_path / 'data'}:1Gi"])
    fleet.apply(LOCAL_CLASS, claim("disk"), with_claim(counted_pod("web-1", tmp_path), "disk"),
                counted_pod("web-2", tmp_path), pod("huge", memory="64Gi"))
    before = wait_each_runs_once(fleet, "web-1", "web-2")
    broker.kill()
    broker.start()
    fleet.forget_seen()
    fleet.wait_node("n1")
    fleet.wait_node("n2")
    fleet.wait_pending("huge", "memory")  # the status topics are published again
    fleet.observer.wait_latest(fleet.topic("desired/pods/default/huge"), lambda o: o != "")  # and so is the mirror
    fleet.apply(counted_pod("web-3", tmp_path))
    fleet.wait_running("web-3")
    after = wait_each_runs_once(fleet, "web-1", "web-2", "web-3")
    assert before.items() <= after.items()
    assert [starts(f"web-{n}", tmp_path) for n in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.parametrize("kind", PHASES)
def test_a_broker_lost_during_the_handshake_loses_no_pod(crash, broker, kind):
    crash.reach(kind)
    broker.kill()
    crash.resolve("lost")
    broker.start()
    crash.fleet.forget_seen()
    crash.check(kind)


def test_the_embedded_broker_killed_comes_back_empty_and_no_pod_starts_twice(embedded, tmp_path):
    embedded.start("n1", "n2")
    embedded.apply(counted_pod("web-1", tmp_path), counted_pod("web-2", tmp_path))
    before = wait_each_runs_once(embedded, "web-1", "web-2")
    old = embedded.broker_pid()
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: embedded.broker_pid() not in (None, old), "the next broker process")
    embedded.forget_seen()
    embedded.wait_node("n1")
    embedded.apply(counted_pod("web-3", tmp_path))
    after = wait_each_runs_once(embedded, "web-1", "web-2", "web-3")
    assert before.items() <= after.items()
    assert [starts(f"web-{n}", tmp_path) for n in (1, 2, 3)] == [1, 1, 1]


def test_berthd_killed_with_its_embedded_broker_starts_both_again(embedded, tmp_path):
    embedded.start("n1")
    embedded.apply(counted_pod("web", tmp_path))
    wait_each_runs_once(embedded, "web")
    embedded.kill("berthd")
    embedded.restart("berthd")
    embedded.wait_broker()
    embedded.forget_seen()
    embedded.wait_node("n1")
    wait_each_runs_once(embedded, "web")
    assert starts("web", tmp_path) == 1


def test_messages_delivered_twice_and_late_change_nothing(crash):
    """Every request and answer of the handshake arrives three times."""
    duplicates = crash.proxy.duplicate(message(payload=lambda m: m.get("type") in PHASES), copies=2)
    crash.start()
    crash.fleet.apply(LOCAL_CLASS, claim("disk-1"), claim("disk-2"), *crash.pods())
    wait_each_runs_once(crash.fleet, "web-1", "web-2")
    assert len(duplicates.touched) >= 8
    crash.fleet.delete("pod", "web-1")
    crash.fleet.wait_gone("web-1")
    assert_one_place(crash.fleet.name)
    wait_each_runs_once(crash.fleet, "web-2")
    assert [starts(f"web-{n}", crash.folder) for n in (1, 2)] == [1, 1]
    wait_until(lambda: len(sleepers(crash.fleet.name)) == 1, "a single process")


def test_a_pod_deleted_while_its_node_cannot_answer_is_removed_once_it_answers(crash):
    crash.start()
    crash.fleet.apply(counted_pod("web-1", crash.folder))
    node = crash.fleet.wait_running("web-1")
    wait_each_runs_once(crash.fleet, "web-1")
    client = f"berth-{crash.fleet.name}-{node}"
    assert client in crash.proxy.clients()
    crash.proxy.partition(client, "up")
    crash.fleet.delete("pod", "web-1")
    wait_until(lambda: not crash.pids_on(node), "the pod's process to exit")
    assert crash.fleet.get("pod", "web-1")["status"]["deleting"] is True  # not confirmed yet
    crash.proxy.heal()
    crash.fleet.wait_gone("web-1")
    wait_each_runs_once(crash.fleet)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_storm_of_crashes_leaves_every_pod_running_once(fleet, proxy, broker, tmp_path, seed):
    """Kills, cut connections, an emptied broker, lost and duplicated messages, while pods are applied and deleted."""
    chance = random.Random(seed)
    nodes = ["n1", "n2", "n3"]
    fleet.start(*nodes, port=proxy.port)
    lost = proxy.drop(message(payload=lambda m: m.get("type") in PHASES and chance.random() < 0.2), limit=40)
    repeated = proxy.duplicate(message(payload=lambda m: m.get("type") in PHASES and chance.random() < 0.3), limit=60)
    expected = set()
    for number in range(12):
        name = f"web-{number}"
        expected.add(name)
        fleet.apply(counted_pod(name, tmp_path))
        if chance.random() < 0.4:
            gone = chance.choice(sorted(expected))
            fleet.delete("pod", gone)
            expected.remove(gone)
        victim = chance.choice(["berthd", *nodes, "broker", "link"])
        if victim == "broker":
            broker.kill()
            broker.start()
        elif victim == "link":
            proxy.cut()
        else:
            fleet.kill(victim)
            fleet.restart(victim)
    lost.end()
    repeated.end()
    wait_each_runs_once(fleet, *expected, timeout_s=60)
    for number in range(12):
        name = f"web-{number}"
        assert starts(name, tmp_path) == 1 if name in expected else starts(name, tmp_path) <= 1


def test_a_forgotten_node_loses_its_pods_and_comes_back_empty(fleet, tmp_path):
    fleet.start_gateway()
    fleet.start_agent("n1")
    fleet.wait_node("n1")
    fleet.apply(counted_pod("web", tmp_path))
    fleet.wait_running("web", node="n1")
    fleet.kill("n1")  # the workload keeps running, as on an unreachable device
    fleet.wait_node("n1", ready=False)
    fleet.start_agent("n2")
    fleet.wait_node("n2")
    done = fleet.ctl("forget", "node", "n1")
    assert "forgotten" in done.stdout
    # n1's last status stays retained at the broker: only n1 may clear it.
    fleet.observer.wait(lambda: "n2" in fleet.nodes_running("web"), "web running on n2")
    assert fleet.get("node", "n1") is None
    fleet.kill("berthd")
    fleet.restart("berthd")
    fleet.wait_node("n2")
    assert fleet.get("node", "n1") is None, "its retained messages brought the node back"
    fleet.restart("n1")
    fleet.wait_node("n1")
    wait_each_runs_once(fleet, "web")
    assert fleet.ctl("forget", "node", "nobody", check=False).returncode == 1
