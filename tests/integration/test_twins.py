"""Two live devices under one name: two real agents, each in namespaces of its own with a boot of its own, and with another
machine id or, as a cloned card has, with the same."""

import json
import os
import uuid

import pytest
from invariants import assert_one_place, workloads
from manifests import pod
from waiting import wait_until


def start_apart(fleet, tmp_path, name, node, machine_id):
    """An agent of this node as on a machine of its own: it sees no other processes, and dies with all of its workloads."""
    machine, boot = (tmp_path / f"{name}.{kind}" for kind in ("machine-id", "boot-id"))
    machine.write_text(f"{machine_id}\n", encoding="utf-8")
    boot.write_text(f"{uuid.uuid4()}\n", encoding="utf-8")
    namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *(
        [] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    script = 'mount --bind "$1" /etc/machine-id && mount --bind "$2" /proc/sys/kernel/random/boot_id && shift 2 && exec "$@"'
    argv = fleet.agent_argv(node, fleet.port, None, None, None, None, ())
    at = argv.index("--state-dir") + 1
    argv[at] = fleet.state_dir(name)
    return fleet.start_(name, ["unshare", *namespaces, "sh", "-c", script, "sh", machine, boot, *argv])


def quarantine(fleet, node):
    status = fleet.get("node", node)["status"]
    return next((each for each in status["conditions"] if each["type"] == "Quarantined"), None)


def machine_of(fleet, taken=()):
    """What a state of n1 says of its machine, another one than those."""
    for _, payload in fleet.observer.of(f"{fleet.root}/nodes/n1/state"):
        machine = json.loads(payload).get("machine")
        if machine not in taken:
            return machine
    return None


@pytest.mark.parametrize("machine_ids", [("machine-of-one", "machine-of-two"), ("cloned", "cloned")])
def test_two_devices_of_one_name_are_quarantined_until_one_is_alone(fleet, tmp_path, machine_ids):
    config = tmp_path / "berthd.yaml"
    config.write_text("node_limits: {twin_quiet_seconds: 3}\n", encoding="utf-8")
    fleet.start_gateway(extra=["--config", config])
    assert fleet.observer
    start_apart(fleet, tmp_path, "one", "n1", machine_ids[0])
    fleet.start_agent("n2")
    for node in ("n1", "n2"):
        fleet.wait_node(node)
    fleet.apply(pod("on-one", nodeSelector={"kubernetes.io/hostname": "n1"}))
    fleet.apply(*(pod(f"web-{number}") for number in range(6)))
    fleet.wait_running("on-one", node="n1")
    for number in range(6):
        fleet.wait_running(f"web-{number}")
    first = machine_of(fleet)
    start_apart(fleet, tmp_path, "two", "n1", machine_ids[1])
    held = wait_until(lambda: quarantine(fleet, "n1"), "n1 to be quarantined")
    is_cloned = machine_ids[0] == machine_ids[1]
    second = first if is_cloned else machine_of(fleet, {first})
    assert held["reason"] == "TwoDevices"
    assert held["message"].count(f"machine {first} (") == (2 if is_cloned else 1), held
    assert f"machine {second} (" in held["message"], held
    assert "address 127.0.0.1" in held["message"], held
    fleet.apply(pod("after"))
    fleet.wait_running("after", node="n2")
    assert_one_place(fleet.name)
    fleet.programs["two"].stop()
    wait_until(lambda: quarantine(fleet, "n1") is None, "the quarantine to end", 90)
    fleet.apply(pod("back", nodeSelector={"kubernetes.io/hostname": "n1"}))
    fleet.wait_running("back", node="n1", timeout_s=90)
    assert_one_place(fleet.name)
    nodes = {workload.uid: workload.node for workload in workloads(fleet.name)}
    assert len(nodes) == 9, "each pod runs, where it was"
