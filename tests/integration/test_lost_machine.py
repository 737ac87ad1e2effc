"""The gateway's machine is lost, or its store together with the embedded broker: what the devices run goes on."""

import json
import os
import re
import shutil
import signal

import pytest
from invariants import wait_each_runs_once, workloads
from manifests import LOCAL_CLASS, claim, counted_pod, starts, with_claim
from waiting import wait_until


def lose_store(fleet):
    """Kills the gateway and its broker, and removes the store with all that belongs to it. The directory stays."""
    fleet.forget_seen()
    broker = fleet.broker_pid()
    fleet.kill("berthd")
    if broker:
        os.kill(broker, signal.SIGKILL)
    for path in [*fleet.state_dir("berthd").glob("gateway.*")]:
        path.unlink()


def wait_status(fleet, text):
    wait_until(lambda: re.search(text, fleet.ctl("status", check=False).stdout, re.M), text)


def places(fleet):
    return sorted((where.node, where.uid) for where in workloads(fleet.name))


def test_a_store_lost_with_the_embedded_broker_waits_for_every_account(embedded, tmp_path):
    embedded.start("n1", "n2")
    names = [f"web-{n}" for n in range(4)]
    embedded.apply(*(counted_pod(name, tmp_path) for name in names))
    wait_each_runs_once(embedded, *names)
    before = places(embedded)
    uids = {name: embedded.get("pod", name)["metadata"]["uid"] for name in names}
    embedded.kill("n2")
    lose_store(embedded)
    embedded.restart("berthd")
    embedded.wait_broker()
    wait_status(embedded, "the store was lost: .* before pods are placed: n2$")
    embedded.restart("n2")
    embedded.wait_gateway_ready()
    wait_each_runs_once(embedded, *names)
    assert places(embedded) == before
    assert [starts(name, tmp_path) for name in names] == [1] * 4
    assert {name: embedded.get("pod", name)["metadata"]["uid"] for name in names} == uids, "the objects are back"


def test_the_operator_ends_the_waiting_and_is_told_which_nodes_have_not_answered(embedded, tmp_path):
    embedded.start("n1", "n2")
    embedded.kill("n2")
    lose_store(embedded)
    embedded.restart("berthd")
    embedded.wait_broker()
    wait_status(embedded, "before pods are placed: n2$")
    ended = embedded.ctl("adopt", "done")
    assert "not answered: n2" in ended.stdout and "second time" in ended.stderr
    embedded.apply(counted_pod("web", tmp_path))
    embedded.wait_running("web", node="n1")
    again = embedded.ctl("adopt", "done", check=False)
    assert again.returncode == 1 and "not in adopt mode" in again.stderr


def test_a_new_installation_waits_for_nobody_and_init_makes_a_directory_new(embedded, tmp_path):
    embedded.start("n1")  # n2 has an account too
    embedded.apply(counted_pod("web", tmp_path))
    embedded.wait_running("web", node="n1")
    embedded.kill("n1")
    embedded.ctl("forget", "node", "n1")
    lose_store(embedded)
    embedded.init_gateway()
    embedded.restart("berthd")
    embedded.wait_broker()
    embedded.wait_gateway_ready()


@pytest.fixture
def machine(embedded, free_port):
    """A fleet whose broker has the same port on a new machine."""
    with embedded.config.open("a", encoding="utf-8") as config:
        config.write(f"embedded_broker: {{port: {free_port}}}\n")
    return embedded


def replace_machine(fleet):
    """Everything of gateway and broker is lost; a new gateway starts in an empty directory."""
    fleet.forget_seen()
    broker = fleet.broker_pid()
    fleet.kill("berthd")
    os.kill(broker, signal.SIGKILL)
    shutil.rmtree(fleet.state_dir("berthd"))
    fleet.state_dir("berthd")
    fleet.restart("berthd")
    fleet.wait_broker()


def test_the_same_manifests_applied_on_a_new_machine_start_nothing_a_second_time(machine, tmp_path):
    machine.start_gateway()
    for node in ("n1", "n2"):
        volumes = [f"{disk}={tmp_path / node / disk}:1Gi:local" for disk in ("a", "b")]
        machine.start_agent(node, volumes=volumes)
        machine.wait_node(node)
    names = [f"web-{n}" for n in range(8)]
    manifests = [LOCAL_CLASS, *(claim(f"disk-{n}") for n in range(4))]
    for number, name in enumerate(names):
        pod = counted_pod(name, tmp_path)
        manifests.append(with_claim(pod, f"disk-{number}") if number < 4 else pod)
    machine.apply(*manifests)
    wait_each_runs_once(machine, *names)
    before = places(machine)
    disks = {n: machine.get("persistentvolumeclaim", f"disk-{n}")["spec"]["volumeName"] for n in range(4)}

    replace_machine(machine)
    machine.apply(*manifests)
    wait_each_runs_once(machine, *names)
    assert places(machine) == before
    assert [starts(name, tmp_path) for name in names] == [1] * 8
    assert {n: machine.get("persistentvolumeclaim", f"disk-{n}")["spec"]["volumeName"] for n in range(4)} == disks
    assert "Pending" not in machine.ctl("get", "pods").stdout

    machine.apply(counted_pod("after", tmp_path))
    wait_each_runs_once(machine, *names, "after")


def orphan_on_n2(fleet, tmp_path):
    """Pod web runs on n2, and a gateway that lost its store and did not wait for n2 has placed it on n1 as well. That
    gateway asks the operator."""
    with fleet.config.open("a", encoding="utf-8") as config:
        config.write("same_name: ask\n")
    fleet.start_gateway()
    fleet.start_agent("n2")
    fleet.wait_node("n2")
    fleet.apply(counted_pod("web", tmp_path / "old"))
    fleet.wait_running("web", node="n2")
    fleet.kill("n2")
    lose_store(fleet)
    fleet.restart("berthd")
    fleet.wait_broker()
    fleet.start_agent("n1")
    wait_status(fleet, "before pods are placed: n2$")
    fleet.ctl("adopt", "done")
    fleet.apply(counted_pod("web", tmp_path / "new"))
    fleet.wait_running("web", node="n1")
    fleet.restart("n2")
    wait_until(lambda: "Orphan" in fleet.ctl("get", "pods").stdout, "the orphan")


@pytest.fixture
def marks(tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    return tmp_path


def wait_places(fleet, *nodes):
    wait_until(lambda: sorted({where.node for where in workloads(fleet.name)}) == list(nodes), f"workloads on {nodes}")


@pytest.mark.parametrize("stays, node", [("older", "n2"), ("newer", "n1"), ("ask", None)])
def test_of_two_pods_of_a_name_that_a_lost_machine_left_the_configured_one_stays(machine, marks, stays, node):
    with machine.config.open("a", encoding="utf-8") as config:
        config.write(f"same_name: {stays}\n")
    machine.start_gateway()
    machine.start_agent("n2")
    machine.wait_node("n2")
    machine.apply(counted_pod("web", marks / "old"))
    machine.wait_running("web", node="n2")
    machine.kill("n2")
    replace_machine(machine)
    machine.start_agent("n1")
    machine.wait_node("n1")
    machine.apply(counted_pod("web", marks / "new"))  # nothing has told the new machine of n2
    machine.wait_running("web", node="n1")
    machine.restart("n2")
    if node:
        wait_places(machine, node)
        wait_until(lambda: re.search(rf"^web +1/1 +Running +{node} ", machine.ctl("get", "pods").stdout, re.M), "the pod that stays")
        assert "Orphan" not in machine.ctl("get", "pods").stdout
    else:
        wait_until(lambda: "Orphan" in machine.ctl("get", "pods").stdout, "the question")
        machine.wait_gateway_ready()
        assert {where.node for where in workloads(machine.name)} == {"n1", "n2"}
        machine.ctl("adopt", "pod", "web", "--node", "n2")
        wait_places(machine, "n2")
    assert starts("web", marks / "old") == 1
    assert starts("web", marks / "new") == 1


def test_an_orphan_is_shown_and_kept_in_place_of_the_newer_pod(machine, marks):
    orphan_on_n2(machine, marks)
    shown = machine.ctl("get", "pods").stdout
    assert re.search(r"^web +- +Orphan +n2 ", shown, re.M) and re.search(r"^web +1/1 +Running +n1 ", shown, re.M), shown
    assert "adopted as soon as node n2 answers" in machine.ctl("adopt", "pod", "web", "--node", "n2").stdout
    wait_places(machine, "n2")
    wait_until(lambda: re.search(r"^web +1/1 +Running +n2 ", machine.ctl("get", "pods").stdout, re.M), "the kept pod")
    assert "Orphan" not in machine.ctl("get", "pods").stdout
    assert starts("web", marks / "old") == 1


def test_a_delete_ends_a_pod_and_the_orphan_of_its_name(machine, marks):
    orphan_on_n2(machine, marks)
    machine.delete("pod", "web")
    wait_places(machine)
    machine.wait_gone("web")
    assert json.loads(machine.ctl("get", "pods", "-o", "json").stdout)["items"] == []
