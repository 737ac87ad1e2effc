"""Programs of the previous release and of this one in one fleet: gateway, agents and berthctl are upgraded one after the
other, in any order, while pods run. `tests/run upgrade` builds the previous release and sets BERTH_PREVIOUS to its build."""

import itertools
import os
import random
import signal
import threading
from pathlib import Path

import pytest
from fleet import Fleet
from invariants import wait_each_runs_once
from manifests import LOCAL_CLASS, claim, counted_pod, starts, with_claim
from programs import build_folder, program_path
from test_storms import KILLS_PER_BURST, NODES, Operator, Storm
from waiting import wait_until

PREVIOUS = Path(os.environ["BERTH_PREVIOUS"])
PROGRAMS = {"berthd": "berthd", "operator": "berthctl"}  # by name; all others are agents
ORDERS = [order for order in itertools.permutations(("berthd", "n1", "n2", "operator"))
          if order.index("n1") < order.index("n2")]


class UpgradedFleet(Fleet):
    """All programs are of the previous release until they are upgraded."""

    def __init__(self, folder, port, *nodes):
        super().__init__(folder, port)
        self.builds = {name: PREVIOUS for name in ("berthd", "operator", *nodes)}

    def upgrade(self, name, build=None):
        """What is started next under this name is of this release, or of another build."""
        self.builds.pop(name, None)
        if build:
            self.builds[name] = build
        if name in self.programs:
            program = PROGRAMS.get(name, "berth-agent")
            argv = self.programs[name].argv
            argv[0] = str(program_path(program, build))
            for option in ("--container-runtime", "--bwrap"):
                if option in argv:  # which the previous release does not know
                    flag = argv.index(option)
                    del argv[flag:flag + 2]
                if program == "berth-agent" and not build:
                    argv += [option, "none"]


def volumes(folder, node, count):
    return [f"data-{number}={folder / node / str(number)}:1Mi" for number in range(count)]


def on(node, name, marks):
    """A pod with a claim of its own, for this node."""
    pod = counted_pod(name, marks, nodeSelector={"kubernetes.io/hostname": node})
    return claim(f"disk-{name}", "1Mi"), with_claim(pod, f"disk-{name}")


@pytest.fixture
def make(broker, tmp_path):
    fleets = []

    def build(*nodes, port=None):
        fleets.append(UpgradedFleet(tmp_path, port or broker.port, *nodes))
        return fleets[-1]

    yield build
    for fleet in fleets:
        fleet.stop()


def test_the_previous_programs_are_not_those_of_this_release():
    for name in ("berthd", "berth-agent", "berthctl"):
        assert (PREVIOUS / "bin" / name).read_bytes() != (build_folder() / "bin" / name).read_bytes()


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_each_order_of_upgrades_keeps_what_runs_and_places_and_ends_pods_at_each_step(make, tmp_path, order):
    fleet = make("n1", "n2")
    fleet.start_gateway()
    for node in ("n1", "n2"):
        fleet.start_agent(node, volumes=volumes(tmp_path, node, 6))
        fleet.wait_node(node)
    fleet.apply(LOCAL_CLASS, *on("n1", "kept-1", tmp_path), *on("n2", "kept-2", tmp_path),
                *on("n1", "step-n1", tmp_path), *on("n2", "step-n2", tmp_path))
    present = {"kept-1", "kept-2", "step-n1", "step-n2"}
    wait_each_runs_once(fleet, *present)
    for step, name in enumerate(order):
        if name in fleet.programs:
            fleet.kill(name, signal.SIGKILL if step % 2 else signal.SIGTERM)
        fleet.upgrade(name)
        if name in fleet.programs:
            fleet.restart(name)
        for node in ("n1", "n2"):
            ended, new = next(p for p in present if p.startswith("step") and p.endswith(node)), f"step-{step}-{node}"
            fleet.apply(*on(node, new, tmp_path))
            fleet.delete("pod", ended)
            present = present - {ended} | {new}
        wait_each_runs_once(fleet, *present)
    assert {name: starts(name, tmp_path) for name in present} == dict.fromkeys(present, 1)
    assert not fleet.builds


@pytest.mark.parametrize("name", ("berthd", "n1"))
def test_a_program_that_is_put_back_to_the_previous_release_goes_on(make, tmp_path, name):
    fleet = make("n1", "n2")
    for each in tuple(fleet.builds):
        fleet.upgrade(each)
    fleet.start_gateway()
    for node in ("n1", "n2"):
        fleet.start_agent(node, volumes=volumes(tmp_path, node, 4))
        fleet.wait_node(node)
    fleet.apply(LOCAL_CLASS, *on("n1", "kept", tmp_path), *on("n2", "other", tmp_path), *on("n1", "ended", tmp_path))
    wait_each_runs_once(fleet, "kept", "other", "ended")
    fleet.kill(name, signal.SIGTERM)
    fleet.upgrade(name, PREVIOUS)
    program = fleet.restart(name)
    started = "in step with the broker" if name == "berthd" else "agent started"
    wait_until(lambda: program.output().count(started) == 2, "its start")
    fleet.delete("pod", "ended")
    wait_each_runs_once(fleet, "kept", "other")
    fleet.apply(*on("n1", "new", tmp_path))
    wait_each_runs_once(fleet, "kept", "other", "new")
    assert [starts(pod, tmp_path) for pod in ("kept", "other", "new")] == [1, 1, 1]


@pytest.mark.parametrize("seed", (1, 2))
def test_a_storm_of_kills_in_which_programs_come_back_upgraded_leaves_every_pod_running_once(make, proxy, broker, tmp_path, seed):
    fleet = make(*NODES, port=proxy.port)
    fleet.stuck = threading.Event()
    fleet.start_gateway()
    for node in NODES:
        fleet.start_agent(node, capacity={"cpu": "8", "memory": "4Gi", "pods": "40"}, volumes=volumes(tmp_path, node, 60))
        fleet.wait_node(node)
    fleet.apply(LOCAL_CLASS)
    waiting = random.Random(seed).sample([*NODES, "berthd", "operator"], len(NODES) + 2)
    storm, expected, ever = Storm(fleet, proxy, broker, seed), set(), set()
    while waiting:
        operator = Operator(fleet, tmp_path, seed * 1000 + len(waiting))
        operator.number, operator.expected = len(ever), expected
        fleet.upgrade(waiting.pop())  # if the storm does not kill it, it is restarted at the end
        storm.burst(operator, KILLS_PER_BURST // 2)
        expected, ever = operator.expected, ever | operator.all
        wait_each_runs_once(fleet, *expected, timeout_s=90)
    for name in fleet.programs:
        fleet.kill(name)
        fleet.restart(name)
    wait_each_runs_once(fleet, *expected, timeout_s=90)
    for name in ever:
        assert starts(name, tmp_path) == 1 if name in expected else starts(name, tmp_path) <= 1, name
