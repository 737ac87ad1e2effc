"""Where images come from: mirrors, and which node is preferred since it has an image."""

import json
import os
import shutil
from pathlib import Path

import images
import pytest
from waiting import wait_until

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="containers need root"),
    pytest.mark.skipif(bool(images.missing()), reason=f"not installed: {', '.join(images.missing())}")]


def pod(name, image, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": image}], **spec}}


@pytest.fixture
def start(fleet, tmp_path):
    """Starts nodes that run containers with this text in the section `containers`."""
    memory = Path("/dev/shm") / fleet.name

    def start_nodes(text, *nodes):
        config = tmp_path / "containers.yaml"
        config.write_text(f"containers:\n  cni_config_dir: {tmp_path}/cni\n{text}", encoding="utf-8")
        fleet.start(*nodes, extra=["--config", config, "--container-runtime", "auto", "--secret-dir", memory])
        return fleet

    yield start_nodes
    for each in json.loads(fleet.ctl("get", "pods", "-o", "json").stdout)["items"]:
        fleet.ctl("delete", "pod", each["metadata"]["name"])
    wait_until(lambda: not json.loads(fleet.ctl("get", "pods", "-o", "json").stdout)["items"], "the end of all pods")
    shutil.rmtree(memory, ignore_errors=True)


def test_a_mirror_pulls_what_it_lacks_and_serves_it_when_the_registry_is_gone(start, tmp_path):
    origin = images.Registry(tmp_path / "origin")
    mirror = images.Registry(tmp_path / "mirror", remote=origin)
    try:
        image = origin.push("web:1", {"Cmd": ["sleep", "1000"]})
        fleet = start(f"  registry_mirrors: ['{origin.address}={mirror.address}']\n"
                      f"  insecure_registries: ['{mirror.address}', '{origin.address}']\n", "n1", "n2")
        fleet.apply(pod("first", image, nodeName="n1"))
        fleet.wait_phase("first", "Running")
        served = "GET /v2/web/blobs/"
        assert served in mirror.program.output()
        origin.stop()
        fleet.apply(pod("second", image, nodeName="n2"))
        fleet.wait_phase("second", "Running")
    finally:
        origin.stop()
        mirror.stop()


def test_a_pod_goes_where_its_image_is(start, tmp_path):
    registry = images.Registry(tmp_path / "registry")
    try:
        large = registry.push("large:1", {"Cmd": ["sleep", "1000"]}, {"noise": os.urandom(150 << 20)})
        fleet = start(f"  insecure_registries: ['{registry.address}']\n", "n1", "n2")
        fleet.apply(pod("puller", large, nodeName="n2"))
        fleet.wait_phase("puller", "Running", timeout_s=60)
        wait_until(lambda: fleet.get("node", "n2")["status"].get("images"), "its images in the status of the node", timeout_s=200)
        (listed,) = fleet.get("node", "n2")["status"]["images"]
        assert listed["names"] == [large] and listed["sizeBytes"] > 150 << 20
        fleet.delete("pod", "puller")
        fleet.wait_gone("puller")
        for attempt in range(4):
            name = f"follows-{attempt}"
            fleet.apply(pod(name, large))
            fleet.wait_phase(name, "Running")
            assert fleet.get("pod", name)["spec"]["nodeName"] == "n2"
            fleet.delete("pod", name)
            fleet.wait_gone(name)
    finally:
        registry.stop()
