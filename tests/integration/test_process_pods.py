"""Pods as processes of the device, in a control group, as a user and with mounts of their own (bubblewrap)."""

import json
import os
import shutil
from pathlib import Path

import pytest
from manifests import LOCAL_CLASS, claim, with_claim
from waiting import wait_until

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="another user of a process needs root"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="not installed: bubblewrap")]

ALONE = ("--bwrap", "none")
IN_SANDBOXES = ("--bwrap", "auto")


def on_tmpfs(fleet):
    return Path("/dev/shm") / fleet.name  # /run is not in memory everywhere


def start(fleet, tmp_path, extra=IN_SANDBOXES):
    fleet.start("n1", extra=["--secret-dir", on_tmpfs(fleet), *extra], volumes=[f"disk={tmp_path}/disk:1Gi"])


def end_all(fleet):
    for each in json.loads(fleet.ctl("get", "pods", "-o", "json").stdout)["items"]:
        fleet.ctl("delete", "pod", each["metadata"]["name"], check=False)  # it may be gone by now
    wait_until(lambda: not cgroups(fleet), "the end of all processes")
    shutil.rmtree(on_tmpfs(fleet), ignore_errors=True)


@pytest.fixture
def device(fleet, tmp_path):
    """A fleet with one node that runs processes in sandboxes."""
    start(fleet, tmp_path)
    yield fleet
    end_all(fleet)


def cgroups(fleet):
    """Paths of the control groups of this fleet's pods, of any hierarchy."""
    return [path for below in ("", "*/") for path in Path("/sys/fs/cgroup").glob(f"{below}berth/{fleet.name}.n1/*@*")]


def pod(name, script, **container):
    of_spec = container.pop("spec", {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "main", "image": "/bin/sh", "command": ["sh", "-c", script], **container}],
                     **of_spec}}


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def settings_mounted(at="/berth-test-settings"):
    return {"volumeMounts": [{"name": "settings", "mountPath": at, "readOnly": True}],
            "spec": {"volumes": [{"name": "settings", "configMap": {"name": "settings"}}]}}


def wait_logs(fleet, name, text):
    wait_until(lambda: fleet.ctl("logs", name, check=False).stdout == text, f"the output of {name}")


def why_not_bound(fleet, name):
    return fleet.ctl("explain", "pod", name, check=False).stdout + fleet.ctl("describe", "pod", name).stdout


def test_a_process_has_its_config_map_at_its_path_its_user_and_a_tmp_of_its_own(device, tmp_path):
    device.apply(config_map("settings", rate="10"))
    (tmp_path / "seen").touch()
    script = (f"id -u; id -g; cat /berth-test-settings/rate; echo; test -e {tmp_path}/seen || echo hidden; touch /tmp/mine && echo wrote; "
              "touch /berth-test-settings/x 2>/dev/null || echo refused; exec sleep 1000")
    device.apply(pod("sensor", script, securityContext={"runAsUser": 1000, "runAsGroup": 1000}, **settings_mounted()))
    device.wait_phase("sensor", "Running")
    wait_logs(device, "sensor", "1000\n1000\n10\nhidden\nwrote\nrefused\n")
    assert not Path("/tmp/mine").exists(), "the machine's /tmp has what the pod wrote"
    assert not Path("/berth-test-settings").exists(), "a directory was made on the machine"
    device.apply(config_map("settings", rate="20"))
    wait_until(lambda: device.ctl("exec", "sensor", "--", "cat", "/berth-test-settings/rate").stdout == "20", "the later ConfigMap")


def test_a_command_in_a_process_pod_is_where_the_process_is(device):
    script = "echo here > /tmp/mark; exec sleep 1000"
    device.apply(pod("sensor", script, securityContext={"runAsUser": 1000},
                     readinessProbe={"exec": {"command": ["grep", "-q", "here", "/tmp/mark"]}, "periodSeconds": 1}))
    device.wait_pod("sensor", lambda s: any(c["type"] == "Ready" and c["status"] == "True" for c in s.get("conditions", [])))
    done = device.ctl("exec", "sensor", "--", "sh", "-c", "id -u; cat /tmp/mark; cat /proc/self/cgroup")
    assert done.stdout.startswith("1000\nhere\n"), done.stdout
    assert f"berth/{device.name}.n1/" in done.stdout, "the command is in another control group"


def test_a_process_that_takes_more_memory_than_its_limit_is_oom_killed(device):
    script = "exec python3 -c 'x = bytearray(200 << 20); print(len(x))'"
    device.apply(pod("eater", script, resources={"limits": {"memory": "32Mi"}}, spec={"restartPolicy": "Never"}))
    status = device.wait_phase("eater", "Failed")
    assert status["containerStatuses"][0]["state"]["terminated"]["reason"] == "OOMKilled"


def test_a_process_writes_to_its_claim_as_the_pods_group(device, tmp_path):
    manifest = pod("writer", "echo kept > /berth-test-data/file; exec sleep 1000", securityContext={"runAsUser": 1000},
                   spec={"securityContext": {"fsGroup": 4242}})
    device.apply(LOCAL_CLASS, claim("disk"), with_claim(manifest, "disk", mount="/berth-test-data"))
    device.wait_phase("writer", "Running")
    wait_until(lambda: (tmp_path / "disk" / "file").exists(), "its file on the volume")
    assert (tmp_path / "disk" / "file").stat().st_gid == 4242


@pytest.mark.parametrize(("container", "spec", "said"), [
    ({}, {"shareProcessNamespace": True}, "spec.shareProcessNamespace"),
    ({"volumeMounts": [{"name": "v", "mountPath": "/etc/berth-test/not-there"}]}, {"volumes": [{"name": "v", "emptyDir": {}}]},
     "spec.containers[0].volumeMounts[0].mountPath"),
])
def test_what_a_process_cannot_have_is_refused_with_the_fields_name(device, container, spec, said):
    device.apply(pod("picky", "exec sleep 1000", spec=spec, **container))
    wait_until(lambda: said in why_not_bound(device, "picky"), f"a refusal that names {said}")
    assert not cgroups(device)
    assert not Path("/etc/berth-test").exists()


@pytest.mark.parametrize(("context", "field"), [
    ({"seccompProfile": {"type": "RuntimeDefault"}}, "seccompProfile"),
    ({"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}, "sysctls"),
])
def test_a_pod_that_asks_for_what_no_process_can_have_is_not_sent_to_the_device(device, context, field):
    device.apply(pod("picky", "exec sleep 1000", spec={"securityContext": context}))
    wait_until(lambda: f"do not support spec.securityContext.{field}" in why_not_bound(device, "picky"), "the verdict of the filter")


def test_without_bubblewrap_the_node_does_not_say_that_it_can_and_gets_no_such_pod(fleet, tmp_path):
    start(fleet, tmp_path, ALONE)
    fleet.apply(config_map("settings", rate="10"))
    fleet.apply(pod("sensor", "exec sleep 1000", **settings_mounted()))
    wait_until(lambda: "volumes/configMap" in why_not_bound(fleet, "sensor"), "the feature that is missing")


def test_a_pod_that_ran_before_bubblewrap_was_there_goes_on_as_it_was_started(fleet, tmp_path):
    start(fleet, tmp_path, ALONE)
    mark, gate = tmp_path / "mark", tmp_path / "gate"
    os.mkfifo(gate)
    fleet.apply(pod("old", f"echo started >> {mark}; read line < {gate}"))
    fleet.wait_phase("old", "Running")
    wait_until(mark.exists, "its first start")
    fleet.kill("n1")
    agent = fleet.programs["n1"]
    agent.argv[agent.argv.index("--bwrap") + 1] = "auto"
    fleet.restart("n1")
    fleet.wait_node("n1")
    fleet.apply(pod("new", f"test -e {mark} || echo hidden; exec sleep 1000"))
    fleet.wait_phase("new", "Running")
    wait_logs(fleet, "new", "hidden\n")
    assert mark.read_text(encoding="utf-8") == "started\n"
    gate.write_text("end\n", encoding="ascii")
    wait_until(lambda: mark.read_text(encoding="utf-8") == "started\nstarted\n", "its second start, with the machine's files")
    end_all(fleet)


def test_processes_run_on_without_their_agent_and_are_found_again(device):
    device.apply(pod("sensor", "exec sleep 1000", securityContext={"runAsUser": 1000}))
    device.wait_phase("sensor", "Running")
    before = {path: path.joinpath("cgroup.procs").read_text(encoding="ascii") for group in cgroups(device)
              for path in group.glob("main")}
    device.kill("n1")
    device.restart("n1")
    device.wait_node("n1")
    device.wait_phase("sensor", "Running")
    assert before == {path: path.joinpath("cgroup.procs").read_text(encoding="ascii") for path in before}
