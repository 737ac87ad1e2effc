"""Pods of public projects run as their manifests say: foreign/pods.py. Where the images' registries cannot be reached, a
mirror has stand-ins with the same entrypoints, users and working directories (containers-registries.conf(5))."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import images
import pytest
from foreign import pods
from manifests import LOCAL_CLASS
from test_containers import cgroups, pytestmark  # noqa: F401
from waiting import wait_until

PROGRAM = """#!/bin/sh
[ $# = 0 ] && echo "$0" || echo "$0 $*"
for word; do [ ! -f "$word" ] || [ -x "$word" ] || cat "$word"; done
[ -z "$STAND_IN_PORT" ] || httpd -p "$STAND_IN_PORT" -h /srv
trap 'exit 0' TERM QUIT
while :; do sleep 1000 & wait $!; done
"""
PRINTENV = """#!/bin/sh
eval "[ -z \\"\\${$1+set}\\" ] || echo \\"\\$$1\\""
"""
ANNOTATION = {"storageclass.kubernetes.io/is-default-class": "true"}  # claims of the manifests name none
REGISTRIES = ("docker.io", "quay.io", "registry.k8s.io", "k8s.gcr.io", "gcr.io", "ghcr.io", "registry.gitlab.com")


def path_of(program, directory):
    if program.startswith("./"):
        return f"{directory or ''}/{program[2:]}"
    return program if "/" in program else f"/usr/bin/{program}"


def normalized(name):
    """An image's name with its registry, as Docker completes it."""
    first = name.partition("/")[0]
    if "/" not in name:
        return f"docker.io/library/{name}"
    return name if "." in first else f"docker.io/{name}"


def push(registry, name, image):
    path = normalized(name).partition("/")[2]
    path = path if ":" in path else f"{path}:latest"
    start = image.config.get("Entrypoint", [])[:1] + image.config.get("Cmd", [])[:1]
    programs = [path_of(each, image.config.get("WorkingDir")) for each in (*start, *image.programs)]
    files = {program: (PROGRAM, 0o755) for program in programs} | {"srv/healthz": "ok", "usr/share/doc": "of a stand-in"}
    if image is pods.BUSYBOX:
        files = {"usr/bin/printenv": (PRINTENV, 0o755)}
    environment = ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] + [f"STAND_IN_PORT={image.port}"] * bool(image.port)
    registry.push(path, {"Env": environment, **image.config}, files)


@pytest.fixture
def device(fleet, tmp_path, monkeypatch):
    registry = images.Registry(tmp_path / "registry")
    mirrors = "".join(f'[[registry]]\nlocation = "{name}"\n[[registry.mirror]]\nlocation = "{registry.address}"\ninsecure = true\n'
                      for name in REGISTRIES)
    settings = tmp_path / "home" / ".config" / "containers"
    settings.mkdir(parents=True)
    (settings / "registries.conf").write_text(f'unqualified-search-registries = ["docker.io"]\n{mirrors}', encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    bridge = f"bt{os.getpid()}"
    network = {"cniVersion": "1.0.0", "name": bridge, "plugins": [
        {"type": "bridge", "bridge": bridge, "isGateway": True,
         "ipam": {"type": "host-local", "subnet": f"10.{os.getpid() % 200 + 20}.77.0/24", "dataDir": f"{tmp_path}/addresses"}}]}
    (tmp_path / "cni").mkdir()
    (tmp_path / "cni" / "pods.conflist").write_text(json.dumps(network), encoding="utf-8")
    config = tmp_path / "containers.yaml"
    config.write_text(f"containers:\n  cni_config_dir: {tmp_path}/cni\n", encoding="utf-8")
    memory = Path("/dev/shm") / fleet.name
    fleet.start("n1", extra=["--config", config, "--container-runtime", "auto", "--secret-dir", memory],
                labels={"smarter-device-manager": "enabled"}, volumes=[f"disk={tmp_path}/disk:2Gi"],
                capacity={"cpu": "4", "memory": "2Gi", "pods": "40"})
    fleet.registry = registry
    yield fleet
    registry.stop()
    shutil.rmtree(memory, ignore_errors=True)
    subprocess.run(["ip", "link", "del", bridge], check=False, capture_output=True)


def is_as_meant(fleet, each):
    """Its phase is the one meant and, if it runs, each of its containers is ready."""
    status = fleet.get("pod", each.metadata["name"], each.metadata.get("namespace", "default"))["status"]
    assert status["phase"] == each.phase, status
    shown = status["containerStatuses"]
    assert each.phase != "Running" or [container["ready"] for container in shown] == [True] * len(each.spec["containers"]), shown
    return status


def end_processes(fleet):
    """Whether the fleet's containers have ended; those of programs that do not mind SIGTERM would live for their 30 s."""
    with contextlib.suppress(OSError):  # groups and processes go meanwhile
        for path in list(Path("/sys/fs/cgroup").glob(f"*/berth/{fleet.name}.n1/*@*/*/cgroup.procs")):
            for pid in path.read_text(encoding="utf-8").split():
                os.kill(int(pid), signal.SIGKILL)
    return not cgroups(fleet)


@pytest.mark.parametrize("each", pods.ALL, ids=lambda each: each.metadata["name"])
def test_a_pod_of_a_public_project_runs_as_its_manifest_says(device, each):
    for name, image in each.images.items():
        push(device.registry, name, image)
    device.apply({**LOCAL_CLASS, "metadata": {"name": "local", "annotations": ANNOTATION}}, *each.needs, each.manifest())
    wait_until(lambda: is_as_meant(device, each), "all containers", 60)
    name, of = each.metadata["name"], ["-n", each.metadata.get("namespace", "default")]

    def shows(container, begin):
        log = device.ctl("logs", name, "-c", container, *of).stdout
        assert log.startswith(begin), log
        return True

    for container, begin in each.shows.items():
        wait_until(lambda c=container, b=begin: shows(c, b), f"the log of {container}")
    device.ctl("delete", "pod", name, *of)
    wait_until(lambda: end_processes(device), "the end of its containers")
