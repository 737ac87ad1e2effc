"""berthctl top: what devices tell of their use, from real control groups and processes."""

import os
import re

import images
import pytest
from device import FakeDevice
from manifests import pod
from test_containers import device, registry  # noqa: F401, fixtures
from test_containers import pod as container_pod

in_containers = pytest.mark.skipif(os.geteuid() != 0 or bool(images.missing()), reason="needs root, runc and a registry")
# Busy all the time, and holds 32 MiB.
BUSY = "head -c 33554432 /dev/zero > /dev/shm/held.$$; while :; do :; done"


def rows(text):
    lines = [re.split(r" {3,}", line.strip()) for line in text.splitlines()]
    return lines[0], {line[0]: line[1:] for line in lines[1:]}


def test_processes_and_their_node_are_told_by_their_device(fleet):
    fleet.start("n1")
    busy = pod("busy", command=("sh", "-c", "while :; do :; done"))
    busy["spec"]["containers"].append({**busy["spec"]["containers"][0], "name": "idle", "command": ["sleep", "1000"]})
    fleet.apply(busy, pod("idle"), pod("elsewhere", namespace="other"))
    for name in ("busy", "idle"):
        fleet.wait_phase(name, "Running")
    header, found = rows(fleet.ctl("top", "pod").stdout)
    assert header == ["NAME", "CPU(cores)", "MEMORY(bytes)"] and set(found) == {"busy", "idle"}
    assert int(found["busy"][0].removesuffix("m")) > 100 and found["idle"][0] == "0m", found
    _, found = rows(fleet.ctl("top", "pods", "busy", "--containers").stdout)
    assert set(found) == {"busy"}
    whole = fleet.ctl("top", "pod", "busy", "--containers").stdout
    assert re.search(r"^busy +idle +0m +\d+Mi$", whole, re.M) and re.search(r"^busy +main +[1-9]\d+m +\d+Mi$", whole, re.M), whole
    header, found = rows(fleet.ctl("top", "node", "n1").stdout)
    assert header == ["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"]
    assert int(found["n1"][0].removesuffix("m")) > 100 and int(found["n1"][2].removesuffix("Mi")) > 1, found
    fleet.wait_phase("elsewhere", "Running", namespace="other")
    _, found = rows(fleet.ctl("top", "pod", "-A").stdout)
    assert set(found) == {"default", "other"}


def test_a_device_that_is_not_there_is_named(fleet):
    fleet.start("n1")
    fleet.apply(pod("web"))
    fleet.wait_phase("web", "Running")
    fleet.kill("n1")
    done = fleet.ctl("--timeout", "1", "top", "pod", "web", check=False)
    assert done.returncode == 4 and "node n1: it did not answer in time" in done.stderr
    for arguments, code, words in ((["pod", "nobody"], 1, "not found"), (["service"], 2, "top: requires node or pod")):
        done = fleet.ctl("top", *arguments, check=False)
        assert done.returncode == code and words in done.stderr, done.stderr


def test_silent_devices_however_many_take_no_answer_of_another(fleet):
    fleet.start("n1")
    # More than are asked at once, and asked first.
    silent = [f"silent-{number:02}" for number in range(20)]
    devices = [FakeDevice(fleet, fleet.port, node) for node in silent]
    for node in silent:
        fleet.wait_node(node)
    done = fleet.ctl("--timeout", "2", "top", "node", check=False)
    _, found = rows(done.stdout)
    assert done.returncode == 4 and found["n1"][0].endswith("m"), done.stdout
    for node in silent:
        assert f"node {node}: it did not answer in time" in done.stderr and found[node][0] == "<unknown>"
    for each in devices:
        each.close()


@in_containers
def test_a_container_is_told_by_its_control_group(device, registry):  # noqa: F811
    image = registry.push("busy:1", {"Cmd": ["sh", "-c", BUSY]})
    quiet = registry.push("quiet:1", {"Cmd": ["sleep", "1000"]})
    device.apply(container_pod("busy", image, resources={"limits": {"memory": "128Mi", "cpu": "500m"}}), container_pod("quiet", quiet))
    for name in ("busy", "quiet"):
        device.wait_phase(name, "Running")

    def use():
        _, found = rows(device.ctl("top", "pod").stdout)
        return found

    found = use()
    while int(found["busy"][1].removesuffix("Mi")) < 32:  # it is still writing
        found = use()
    assert 100 < int(found["busy"][0].removesuffix("m")) <= 600, "its limit is 500m"
    assert int(found["busy"][1].removesuffix("Mi")) < 64
    assert int(found["quiet"][0].removesuffix("m")) < 50 and int(found["quiet"][1].removesuffix("Mi")) < 8, found
