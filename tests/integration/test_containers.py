"""Pods as containers of images from a real registry: from berthctl apply to what runs on the device."""

import base64
import json
import os
import re
import shutil
import signal
import uuid
from pathlib import Path

import images
import pytest
from manifests import LOCAL_CLASS, claim, with_claim
from waiting import wait_until

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="containers need root"),
    pytest.mark.skipif(bool(images.missing()), reason=f"not installed: {', '.join(images.missing())}")]


@pytest.fixture
def registry(tmp_path):
    made = images.Registry(tmp_path / "registry")
    yield made
    made.stop()


@pytest.fixture
def device(fleet, registry, tmp_path):
    """A fleet with one node that runs containers, in the machine's network."""
    config = tmp_path / "containers.yaml"
    config.write_text(f"containers:\n  insecure_registries: ['{registry.address}']\n  cni_config_dir: {tmp_path}/cni\n",
                      encoding="utf-8")
    memory = Path("/dev/shm") / fleet.name  # /run is not in memory everywhere
    fleet.start("n1", extra=["--config", config, "--container-runtime", "auto", "--secret-dir", memory], volumes=[f"disk={tmp_path}/disk:1Gi"])
    yield fleet
    for each in json.loads(fleet.ctl("get", "pods", "-o", "json").stdout)["items"]:
        fleet.ctl("delete", "pod", each["metadata"]["name"], check=False)  # it may be gone by now
    wait_until(lambda: not cgroups(fleet), "the end of all containers")
    shutil.rmtree(memory, ignore_errors=True)


def cgroups(fleet):
    """Names of the control groups of this fleet's pods, of any hierarchy."""
    return {path.name for below in ("", "*/") for path in Path("/sys/fs/cgroup").glob(f"{below}berth/{fleet.name}.n1/*@*")}


def pod(name, image, **container):
    of_spec = container.pop("spec", {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": image, **container}], **of_spec}}


def status_of(fleet, name):
    return fleet.get("pod", name)["status"]


def waiting_reason(status):
    return status.get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {}).get("reason")


def test_an_image_is_pulled_and_its_program_runs_with_its_volume_and_logs(device, registry, tmp_path):
    image = registry.push("sensor:1", {"Entrypoint": ["/usr/bin/sensor"], "User": "nobody"},
                          {"usr/bin/sensor": ("#!/bin/sh\necho as $(id -u)\necho read > /data/reading\nexec sleep 1000\n", 0o755)})
    manifest = with_claim(pod("sensor", image, resources={"limits": {"memory": "64Mi", "cpu": "500m"}}), "disk")
    manifest["spec"]["securityContext"] = {"fsGroup": 65534}
    device.apply(LOCAL_CLASS, claim("disk"), manifest)
    status = device.wait_phase("sensor", "Running")
    assert status["containerStatuses"][0]["imageID"].startswith("sha256:")
    wait_until(lambda: device.ctl("logs", "sensor").stdout == "as 65534\n", "what it wrote")
    wait_until(lambda: (tmp_path / "disk" / "reading").exists(), "its file on the volume")
    device.ctl("delete", "pod", "sensor")
    wait_until(lambda: device.get("pod", "sensor") is None and not cgroups(device), "its end")
    assert (tmp_path / "disk" / "reading").read_text(encoding="utf-8") == "read\n"


def test_a_pod_whose_image_is_nowhere_says_so_and_runs_once_it_is_there(device, registry):
    device.apply(pod("late", f"{registry.address}/late:1", readinessProbe={"exec": {"command": ["false"]}, "periodSeconds": 1}))
    status = device.wait_pod("late", lambda s: waiting_reason(s) in ("ErrImagePull", "ImagePullBackOff"))
    assert status["phase"] == "Pending" and status["nodeName"] == "n1", "it is bound, as under a kubelet"
    assert "late:1" in json.dumps(status)
    registry.push("late:1", {"Cmd": ["sleep", "1000"]})
    device.wait_phase("late", "Running", timeout_s=60)
    wait_until(lambda: "Unhealthy" in device.ctl("describe", "pod", "late").stdout, "the event of its probe")
    told = device.ctl("describe", "pod", "late").stdout
    for event in ("Failed to pull image", "Back-off pulling image", "Successfully pulled image", "Started container main",
                  "Readiness probe failed: "):
        assert event in told


def test_the_node_names_its_container_runtime(device):
    said = device.get("node", "n1")["status"]["nodeInfo"]["containerRuntimeVersion"]
    assert re.fullmatch(r"(crun|runc)://\d+\.\d+\S*", said)
    assert said in device.ctl("get", "nodes", "-o", "wide").stdout
    assert re.search(rf"Container runtime: +{re.escape(said)}\n", device.ctl("describe", "node", "n1").stdout)


def test_a_killed_agent_finds_its_containers_and_starts_none_twice(device, registry):
    image = registry.push("web:1", {"Cmd": ["sh", "-c", "echo up; exec sleep 1000"]})
    device.apply(pod("web", image))
    device.wait_phase("web", "Running")
    before = [each for each in keepers() if f"{device.name}/n1/" in each[1]]
    device.kill("n1")
    registry.stop()
    device.restart("n1")
    device.wait_node("n1")
    after = device.wait_phase("web", "Running")
    assert after["containerStatuses"][0]["restartCount"] == 0
    assert [each for each in keepers() if f"{device.name}/n1/" in each[1]] == before
    assert device.ctl("logs", "web").stdout == "up\n"


def test_a_keeper_that_dies_is_replaced_without_a_registry(device, registry):
    image = registry.push("web:1", {"Cmd": ["sh", "-c", "echo up; exec sleep 1000"]})
    device.apply(pod("web", image, imagePullPolicy="Always"))
    device.wait_phase("web", "Running")
    registry.stop()
    handle = next(each for each in keepers() if f"{device.name}/n1/" in each[1])
    os.kill(handle[0], signal.SIGKILL)
    status = device.wait_pod("web", lambda s: s["containerStatuses"][0]["restartCount"] == 1
                             and s["containerStatuses"][0].get("ready"), timeout_s=60)
    assert status["phase"] == "Running"


def keepers():
    """(pid, tag) of each keeper on this machine."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == "berth-keeper":
                found.append((int(folder.name), (folder / "fd" / "3").read_text()))
        except OSError:
            continue
    return found


def test_what_no_container_runtime_can_do_is_never_asked_of_the_device(device, registry):
    image = registry.push("web:1", {"Cmd": ["sleep", "1000"]})
    device.apply(pod("web", image, spec={"hostUsers": False}))
    wait_until(lambda: "userNamespaces" in device.ctl("describe", "pod", "web").stdout, "the reason")
    assert status_of(device, "web")["phase"] == "Pending"


def test_a_pod_asks_for_plain_processes_by_its_runtime_class(device):
    script = "echo $BERTH_NODE; exec sleep 1000"
    device.apply(pod("plain", "/bin/sh", args=["-c", script], spec={"runtimeClassName": "process"}))
    device.apply(pod("image", "nowhere/image:1", command=["sh", "-c", script], spec={"runtimeClassName": "process"}))
    device.wait_phase("plain", "Running")
    wait_until(lambda: device.ctl("logs", "plain").stdout == "n1\n", "what it wrote")
    wait_until(lambda: "(feature processes/image: " in device.ctl("describe", "pod", "image").stdout, "that images are no processes")


def test_settings_and_secrets_reach_a_pod_and_later_changes_its_files(device, registry):
    image = registry.push("web:1", {"Cmd": ["sleep", "1000"]})
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"color": "blue"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": {"key": "hush-7391"}}
    script = ("echo $COLOR $(cat /s/key); until grep -q red /v/color; do sleep 0.1; done; echo $COLOR, now $(cat /v/color);"
              "exec sleep 1000")
    device.apply(settings, secret, pod(
        "web", image, command=["sh", "-c", script],
        env=[{"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}}],
        volumeMounts=[{"name": "v", "mountPath": "/v"}, {"name": "s", "mountPath": "/s"}],
        spec={"volumes": [{"name": "v", "configMap": {"name": "settings"}}, {"name": "s", "secret": {"secretName": "token"}}]}))
    wait_until(lambda: device.ctl("logs", "web", check=False).stdout == "blue hush-7391\n", "its settings")
    settings["data"]["color"] = "red"
    device.apply(settings)
    wait_until(lambda: device.ctl("logs", "web").stdout.endswith("blue, now red\n"), "the change")
    kept = [path for path in device.folder.rglob("*") if path.is_file() and "log" not in path.name
            and "manifest" not in path.name and b"hush-7391" in path.read_bytes()]
    assert not kept, "no Secret is on a disk"


def test_a_pod_waits_for_settings_that_come_later(device, registry):
    image = registry.push("web:1", {"Cmd": ["sleep", "1000"]})
    device.apply(pod("web", image, envFrom=[{"configMapRef": {"name": "late"}}], command=["sh", "-c", "echo $K; sleep 1000"]))
    device.wait_pod("web", lambda s: waiting_reason(s) == "CreateContainerConfigError")
    device.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}, "data": {"K": "come"}})
    device.wait_phase("web", "Running", timeout_s=60)
    wait_until(lambda: device.ctl("logs", "web").stdout == "come\n", "what it wrote")


@pytest.mark.skipif(shutil.which("systemd-creds") is None, reason="Secrets are sealed by systemd-creds")
def test_a_pod_has_its_secret_after_a_reboot_without_the_gateway(fleet, registry, tmp_path):
    """The agent is in namespaces with a boot id of its own: what ends them ends all of its processes, as a reboot does."""
    config, boot, marks = (tmp_path / name for name in ("containers.yaml", "boot-id", "marks"))
    config.write_text(f"containers:\n  insecure_registries: ['{registry.address}']\n  cni_config_dir: {tmp_path}/cni\n",
                      encoding="utf-8")
    boot.write_text(f"{uuid.uuid4()}\n", encoding="utf-8")
    marks.mkdir()
    memory = Path("/dev/shm") / fleet.name
    script = 'mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"'
    agent = fleet.agent_argv("n1", fleet.port, None, None, None, None, [
        "--config", config, "--container-runtime", "auto", "--secret-dir", memory])
    fleet.start_gateway()
    fleet.start_("n1", ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, "sh", boot, *agent])
    fleet.wait_node("n1")
    image = registry.push("web:1", {"Cmd": ["sleep", "1000"]})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": {"key": "hush-7391"}}
    try:
        fleet.apply(secret, pod(
            "web", image, command=["sh", "-c", "echo $(cat /s/key) >> /marks/seen; exec sleep 1000"],
            volumeMounts=[{"name": "m", "mountPath": "/marks"}, {"name": "s", "mountPath": "/s"}],
            spec={"volumes": [{"name": "m", "hostPath": {"path": str(marks)}}, {"name": "s", "secret": {"secretName": "token"}}]}))
        fleet.wait_phase("web", "Running", timeout_s=60)
        seen = marks / "seen"
        wait_until(lambda: seen.exists() and seen.read_text() == "hush-7391\n", "the pod to have its Secret")
        sealed = fleet.state_dir("n1") / "sealed-secrets"
        wait_until(lambda: [path for path in sealed.glob("*") if path.suffix != ".new"], "the Secret to be sealed")
        assert not [path for path in sealed.glob("*") if b"hush-7391" in path.read_bytes()]

        fleet.kill("berthd")
        fleet.kill("n1")
        shutil.rmtree(memory)
        boot.write_text(f"{uuid.uuid4()}\n", encoding="utf-8")
        fleet.restart("n1")
        wait_until(lambda: seen.read_text() == "hush-7391\n" * 2, "the pod to have it again", timeout_s=60)

        fleet.restart("berthd")
        fleet.wait_gateway_ready()
        fleet.delete("pod", "web")
        fleet.wait_gone("web")
        wait_until(lambda: not list(sealed.glob("*")), "the Secret to leave with its pod")
    finally:
        shutil.rmtree(memory, ignore_errors=True)


def test_a_private_image_comes_with_the_pull_secret_of_its_pod(fleet, tmp_path):
    private = images.Registry(tmp_path / "private", user=("anna", "hunter2 hunter2"))
    config = tmp_path / "containers.yaml"
    config.write_text(f"containers:\n  insecure_registries: ['{private.address}']\n  cni_config_dir: {tmp_path}/cni\n",
                      encoding="utf-8")
    memory = Path("/dev/shm") / fleet.name
    fleet.start("n1", extra=["--config", config, "--container-runtime", "auto", "--secret-dir", memory])
    image = private.push("web:1", {"Cmd": ["sleep", "1000"]})
    auth = base64.b64encode(b"anna:hunter2 hunter2").decode()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry", "namespace": "default"},
              "type": "kubernetes.io/dockerconfigjson",
              "stringData": {".dockerconfigjson": json.dumps({"auths": {private.address: {"auth": auth}}})}}
    try:
        fleet.apply(pod("refused", image), pod("web", image, spec={"imagePullSecrets": [{"name": "registry"}]}))
        wait_until(lambda: "unauthorized" in json.dumps(status_of(fleet, "refused")), "the refusal")
        wait_until(lambda: waiting_reason(status_of(fleet, "web")) in ("ErrImagePull", "ImagePullBackOff"), "the wait for the secret")
        fleet.apply(secret)
        fleet.wait_phase("web", "Running")
        assert "hunter2" not in fleet.programs["n1"].output() and auth not in fleet.programs["n1"].output()
    finally:
        for name in ("refused", "web"):
            fleet.ctl("delete", "pod", name)
        wait_until(lambda: not cgroups(fleet), "the end of all containers")
        shutil.rmtree(memory, ignore_errors=True)
        private.stop()
