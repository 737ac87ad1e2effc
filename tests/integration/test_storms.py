"""Random kill -9 of gateway, agents and broker under load, over a network that loses, duplicates and delays messages and
partitions one way. After each burst of faults, the stores, volumes and processes are checked: every pod that should exist
runs exactly once, and nothing else does.

BERTH_STORM_SEEDS (number of seeds, default 4) and BERTH_STORM_KILLS (kills per seed, default 60) make it longer.
"""

import collections
import os
import random
import threading

import pytest
from invariants import wait_each_runs_once
from manifests import LOCAL_CLASS, claim, counted_pod, starts, with_claim
from mqtt_proxy import message

NODES = ("n1", "n2", "n3")
KINDS = ("PreBind", "PreBound", "Bind", "Bound", "Release", "Released", "Rejected", "Stale", "List", "Slots")
SEEDS = range(1, int(os.environ.get("BERTH_STORM_SEEDS", "4")) + 1)
KILLS = int(os.environ.get("BERTH_STORM_KILLS", "60"))
KILLS_PER_BURST = 15
PODS = 12  # at most, at the same time


class Operator(threading.Thread):
    """Applies and deletes pods, with and without claims, regardless of what happens to the programs; until end()."""

    def __init__(self, fleet, folder, seed):
        super().__init__(name="operator")
        self.fleet, self.folder, self.chance = fleet, folder, random.Random(seed)
        self.expected, self.all, self.number = set(), set(), 0
        self.ending = threading.Event()
        self.error = None

    def run(self):
        try:
            while not self.ending.is_set():
                self.do_one()
        except AssertionError as error:
            self.error = error

    def do_one(self):
        if self.expected and (len(self.expected) >= PODS or self.chance.random() < 0.4):
            name = self.chance.choice(sorted(self.expected))
            self.retry("delete", "pod", name, until=("deleted", "not found"))
            self.expected.remove(name)
            return
        self.number += 1
        name = f"web-{self.number}"
        pod = counted_pod(name, self.folder)
        objects = [pod] if self.chance.random() < 0.6 else [claim(f"disk-{self.number}", "1Mi"),
                                                            with_claim(pod, f"disk-{self.number}")]
        self.all.add(name)
        while self.fleet.apply(*objects, check=False, arguments=["--timeout", "2"]).returncode != 0:
            assert not self.fleet.stuck.is_set(), "the gateway refuses new pods"
        self.expected.add(name)

    def retry(self, *arguments, until):
        """Repeats the command until it succeeds, or reports one of `until`: the first answer may have been lost in a kill."""
        while True:
            done = self.fleet.ctl(*arguments, "--timeout", "2", check=False)
            if done.returncode == 0 or any(text in done.stderr for text in until):
                return

    def end(self):
        self.ending.set()
        self.join(120)
        assert not self.is_alive(), "the operator's last request was not answered"
        if self.error:
            raise self.error


class Storm:
    def __init__(self, fleet, proxy, broker, seed):
        self.fleet, self.proxy, self.broker = fleet, proxy, broker
        self.chance = random.Random(seed)
        self.counts = collections.Counter()
        self.rules, self.passed = [], 0

    def passes_(self, packet):
        self.passed += packet.kind == "PUBLISH" and packet.messages[0].get("type") in KINDS
        return False

    def start_faults(self):
        """Makes the network unreliable from now on."""
        exchange = message(payload=lambda m: m.get("type") in KINDS)

        def some(percent):
            return lambda packet: exchange(packet) and self.chance.random() * 100 < percent

        self.rules = [self.proxy.hold(self.passes_), self.proxy.drop(some(8)), self.proxy.duplicate(some(8)),
                      self.proxy.delay(some(10), 0.2)]

    def stop_faults(self):
        for rule in self.rules:
            rule.release() if rule.action_ == "hold" else rule.end()
            self.counts[rule.action_] += len(rule.touched)
        self.rules = []
        self.proxy.heal()

    def wait_for_traffic(self):
        """Waits for some messages of the handshake, so that a fault hits it in progress; gives up if there are none."""
        goal = self.passed + self.chance.randrange(1, 12)
        try:
            self.proxy.wait_until(lambda: self.passed >= goal, "traffic", 1)
        except AssertionError:
            self.counts["quiet"] += 1

    def inject_fault(self):
        """Injects one fault; returns whether it killed a process."""
        self.wait_for_traffic()
        victim = self.chance.choices(["berthd", "agent", "broker", "link", "partition"], [5, 6, 1, 1, 2])[0]
        self.counts[victim] += 1
        if victim == "link":
            self.proxy.cut()
        elif victim == "partition":
            self.proxy.heal()
            self.proxy.partition(self.chance.choice(self.proxy.clients() or [None]), self.chance.choice(["up", "down"]))
        elif victim == "broker":
            self.broker.kill()
            self.broker.start()
        else:
            name = "berthd" if victim == "berthd" else self.chance.choice(NODES)
            self.fleet.kill(name)
            self.fleet.restart(name)
        return victim in ("berthd", "agent", "broker")


    def burst(self, operator, kills):
        """Faults until so many processes were killed, while the operator works; returns how many were."""
        killed = 0
        self.start_faults()
        operator.start()
        while killed < kills:
            killed += self.inject_fault()
        self.stop_faults()
        operator.end()
        return killed


@pytest.fixture
def stormy(fleet, proxy, broker, tmp_path):
    fleet.stuck = threading.Event()
    fleet.start_gateway(port=proxy.port)
    for node in NODES:
        # Volumes as large as the claims: one for each.
        fleet.start_agent(node, port=proxy.port, capacity={"cpu": "8", "memory": "4Gi", "pods": "40"},
                          volumes=[f"data-{n}={tmp_path / node / str(n)}:1Mi" for n in range(KILLS)])
    for node in NODES:
        fleet.wait_node(node)
    fleet.apply(LOCAL_CLASS)
    yield fleet
    fleet.stuck.set()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_storm_of_kills_under_load_leaves_every_expected_pod_running_once(stormy, proxy, broker, tmp_path, seed):
    storm = Storm(stormy, proxy, broker, seed)
    kills, operator_number, expected, ever = 0, 0, set(), set()
    while kills < KILLS:
        operator_number += 1
        operator = Operator(stormy, tmp_path, seed * 1000 + operator_number)
        operator.number, operator.expected = len(ever), expected
        kills += storm.burst(operator, min(KILLS_PER_BURST, KILLS - kills))
        expected, ever = operator.expected, ever | operator.all
        wait_each_runs_once(stormy, *expected, timeout_s=90)
    for name in ever:
        assert starts(name, tmp_path) == 1 if name in expected else starts(name, tmp_path) <= 1, name
    print(f"seed {seed}: {kills} kills, {len(ever)} pods; {dict(storm.counts)}")
