"""Pods that a device ends by itself: the gateway hears of it, with the kubelet's words, and nothing runs them again."""

import json
import os
import shutil
from pathlib import Path

import images
import pytest
from test_containers import registry  # noqa: F401, a fixture
from waiting import wait_until

LACKS = (["root"] if os.geteuid() != 0 else []) + images.missing()


@pytest.fixture
def settings(registry, tmp_path):
    """The agent's configuration file; tests add to it before they start a device."""
    config = tmp_path / "containers.yaml"
    config.write_text(f"containers:\n  insecure_registries: ['{registry.address}']\n  cni_config_dir: {tmp_path}/cni\n",
                      encoding="utf-8")
    return config


@pytest.fixture
def start(fleet, settings):
    memory = Path("/dev/shm") / fleet.name  # /run is not in memory everywhere

    def begin(**more):
        return fleet.start("n1", extra=["--config", settings, "--container-runtime", "auto", "--secret-dir", memory], **more)

    yield begin
    for each in json.loads(fleet.ctl("get", "pods", "-o", "json").stdout)["items"]:
        fleet.ctl("delete", "pod", each["metadata"]["name"])
    wait_until(lambda: not [*Path("/sys/fs/cgroup").glob(f"**/berth/{fleet.name}.n1/*@*")], "the end of all containers")
    shutil.rmtree(memory, ignore_errors=True)


def pod(name, image, script, **spec):
    container = spec.pop("container", {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 1, **spec,
                     "containers": [{"name": "main", "image": image, "command": ["sh", "-c", script], **container}]}}


def status_of(fleet, name):
    return fleet.get("pod", name)["status"]


def wait_failed(fleet, name):
    return fleet.wait_phase(name, "Failed", timeout_s=60)


@pytest.mark.skipif(bool(LACKS), reason=f"containers need: {', '.join(LACKS)}")
def test_a_pod_that_fills_its_empty_dir_or_its_layer_is_evicted_and_others_run_on(fleet, start, registry):
    start()
    image = registry.push("box:1", {"Cmd": ["sleep", "1000"]})
    fill = "dd if=/dev/zero of=%s/much bs=1M count=4; exec sleep 1000"
    volume = {"volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "1Mi"}}]}
    mount = {"volumeMounts": [{"name": "tmp", "mountPath": "/cache"}]}
    limit = {"resources": {"limits": {"ephemeral-storage": "2Mi"}}}
    fleet.apply(pod("volume", image, fill % "/cache", container=mount, **volume))
    fleet.apply(pod("layer", image, fill % "", container=limit))
    fleet.apply(pod("modest", image, "exec sleep 1000", container={**mount, **limit}, **volume))
    ended = wait_failed(fleet, "volume")
    assert (ended["reason"], ended["message"]) == ("Evicted", 'Usage of EmptyDir volume "tmp" exceeds the limit "1Mi". ')
    assert {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}.items() <= next(
        each.items() for each in ended["conditions"] if each["type"] == "DisruptionTarget")
    ended = wait_failed(fleet, "layer")
    assert ended["reason"] == "Evicted"
    assert ended["message"] == "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. "
    assert status_of(fleet, "modest")["phase"] == "Running"


@pytest.mark.skipif(bool(LACKS), reason=f"containers need: {', '.join(LACKS)}")
def test_a_node_short_of_disk_pulls_no_image_and_does_again_when_it_is_not(fleet, start, settings, registry):
    start()
    fleet.apply(pod("late", f"{registry.address}/late:1", "exec sleep 1000"))

    def says(text):
        states = status_of(fleet, "late").get("containerStatuses", [])
        return any(text in each["state"].get("waiting", {}).get("message", "") for each in states)

    wait_until(lambda: says("late:1"), "a pull that fails")
    usual = settings.read_text(encoding="utf-8")
    fleet.kill("n1")
    settings.write_text(usual + "eviction: {hard: {nodefs.available: 99.9%}}\n", encoding="utf-8")
    fleet.restart("n1")
    wait_until(lambda: says("the node has DiskPressure"), "a pod that says why it waits")
    registry.push("late:1", {"Cmd": ["sleep", "1000"]})
    fleet.kill("n1")
    settings.write_text(usual, encoding="utf-8")
    fleet.restart("n1")
    fleet.wait_phase("late", "Running", timeout_s=60)


def test_a_node_short_of_memory_says_so_and_ends_the_pod_that_uses_most(fleet, tmp_path):
    config = tmp_path / "short.yaml"
    config.write_text("containers: {runtime: none}\n", encoding="utf-8")
    fleet.start("n1", extra=["--config", config])
    small, large = ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
                     "spec": {"containers": [{"name": "main", "command": ["sh", "-c", script],
                                              "resources": {"requests": {"memory": "1Mi"}}}]}}
                    for name, script in (("small", "exec sleep 1000"),
                                         ("large", "x=$(head -c 30000000 /dev/zero | tr '\\0' x); while :; do sleep 1; done")))
    fleet.apply(small, large)
    fleet.wait_phase("small", "Running")
    fleet.wait_phase("large", "Running")
    fleet.kill("n1")
    config.write_text("containers: {runtime: none}\neviction: {hard: {memory.available: 99%}}\n", encoding="utf-8")
    fleet.restart("n1")
    ended = fleet.wait_phase("large", "Failed", timeout_s=60)
    assert ended["reason"] == "Evicted"
    assert ended["message"].startswith("The node was low on resource: memory. Threshold quantity: ")
    node = fleet.get("node", "n1")
    held = {each["type"]: each["status"] for each in node["status"]["conditions"]}
    assert (held["MemoryPressure"], held["DiskPressure"], held["PIDPressure"]) == ("True", "False", "False")
    assert {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"} in node["spec"]["taints"]
    late = {**small, "metadata": {"name": "late", "namespace": "default"},
            "spec": {"containers": [{"name": "main", "command": ["sleep", "1000"]}]}}
    fleet.apply(late)
    fleet.wait_pending("late", "untolerated taint")
    fleet.wait_phase("small", "Failed", timeout_s=60)
    fleet.kill("n1")
    fleet.restart("n1")
    fleet.wait_node("n1")
    assert fleet.get("pod", "small")["status"]["reason"] == "Evicted"
