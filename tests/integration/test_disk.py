"""A gateway or a device whose disk is full or failing."""

import json
import os
import shutil
import signal
import subprocess
import threading

import pytest
from device import FakeDevice
from invariants import keepers, wait_each_runs_once, workloads
from manifests import counted_pod, pod, starts
from waiting import wait_until

MIB = 1 << 20
# Preloaded library: syncs fail with EIO while the file named by BERTH_FAIL_SYNC exists.
FAILING_SYNC = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int sync_or_fail(const char *name, int fd) {
  const char *flag = getenv("BERTH_FAIL_SYNC");
  if (flag && access(flag, F_OK) == 0) { errno = EIO; return -1; }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(fd);
}
int fdatasync(int fd) { return sync_or_fail("fdatasync", fd); }
int fsync(int fd) { return sync_or_fail("fsync", fd); }
"""


def mounted_at(folder, fleet):
    """Mounts a file system of 16 MiB there, until the fleet is stopped; skips where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "berth-test", folder], capture_output=True,
                             text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a file system here: {mounted.stderr.strip()}")
    yield folder
    fleet.stop()
    end_workloads(fleet.name)
    subprocess.run(["umount", folder], check=True)


def end_workloads(fleet_name):
    """Kills what runs in a fleet's pods, keepers first, so that their file system can be unmounted."""
    for pids in keepers(fleet_name).values():
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not workloads(fleet_name), "the workloads to end with their keepers")


@pytest.fixture
def small_disk(fleet):
    """Puts the gateway's state on a separate file system of 16 MiB."""
    yield from mounted_at(fleet.state_dir("berthd"), fleet)


@pytest.fixture
def small_pods_disk(fleet):
    """Puts the directories of the pods of node n1 on a separate file system of 16 MiB; its store is elsewhere."""
    yield from mounted_at(fleet.state_dir("n1") / "pods", fleet)


def fill(folder, leave):
    """Fills the file system, leaving `leave` bytes free."""
    with open(folder / "filler", "wb") as filler:
        while (free := shutil.disk_usage(folder).free) > leave:
            filler.write(bytes(min(free - leave, MIB)))
            filler.flush()


def test_on_a_full_disk_new_pods_are_refused_started_bindings_finish_and_freed_space_needs_no_restart(fleet, small_disk, tmp_path):
    fleet.start("n1")
    proceed = threading.Event()
    device = FakeDevice(fleet, fleet.port, "n2", {"PreBind": lambda r: {"type": "PreBound"} if proceed.is_set() else None,
                                                  "Bind": lambda r: {"type": "Bound"}}, labels={"slow": "yes"})
    try:
        fleet.wait_node("n2")
        on_n1 = {"kubernetes.io/hostname": "n1"}
        fleet.apply(counted_pod("web", tmp_path, nodeSelector=on_n1), pod("begun", nodeSelector={"slow": "yes"}))
        fleet.wait_running("web", node="n1")
        device.wait_asked("PreBind")
        pid = fleet.programs["berthd"].pid
        fill(small_disk, leave=0)
        refused = fleet.apply(pod("late"), check=False)
        assert refused.returncode != 0 and "store is full" in refused.stderr
        proceed.set()

        def phases():
            with fleet.store("berthd") as store:
                return {row.value["pod"]: row.phase for row in store.records("row").values()}

        wait_until(lambda: phases() == {"default/web": "bound", "default/begun": "bound"}, "the started binding to finish")
        fleet.delete("pod", "web")
        fleet.wait_gone("web")  # releasing needs no space either
        (small_disk / "filler").unlink()
        fleet.apply(counted_pod("late", tmp_path, nodeSelector=on_n1))
        fleet.wait_running("late", node="n1")
        assert fleet.programs["berthd"].alive() and fleet.programs["berthd"].pid == pid
        wait_until(lambda: (starts("web", tmp_path), starts("late", tmp_path)) == (1, 1), "one start of each")
    finally:
        device.close()


def test_a_failed_commit_ends_the_gateway_and_its_restart_reads_what_is_on_the_disk(fleet, tmp_path, monkeypatch):
    (tmp_path / "failing_sync.c").write_text(FAILING_SYNC, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "failing_sync.so", tmp_path / "failing_sync.c", "-ldl"],
                   check=True)
    flag = tmp_path / "syncs-fail"
    with monkeypatch.context() as patched:
        patched.setenv("LD_PRELOAD", str(tmp_path / "failing_sync.so"))
        patched.setenv("BERTH_FAIL_SYNC", str(flag))
        gateway = fleet.start_gateway()
    fleet.start_agent("n1")
    fleet.wait_node("n1")
    fleet.apply(counted_pod("web", tmp_path))
    wait_each_runs_once(fleet, "web")
    flag.touch()
    manifest = tmp_path / "late.json"
    manifest.write_text(json.dumps(pod("late")), encoding="utf-8")
    answer = fleet.ctl("--timeout", "1", "apply", "-f", manifest, check=False)
    assert answer.returncode == 4, "a pod that is not on flash was reported as accepted"
    assert gateway.wait() == 70
    assert "a commit failed" in gateway.output()
    fleet.restart("berthd")  # without the fault
    fleet.apply(counted_pod("late", tmp_path, namespace="other"))
    wait_until(lambda: starts("late", tmp_path) == 1, "the pod applied afterwards")
    fleet.wait_running("late", namespace="other")
    assert starts("web", tmp_path) == 1
    assert fleet.get("pod", "web")["status"]["nodeName"] == "n1"


def test_the_status_of_a_pod_is_not_lost_on_a_full_disk_but_written_once_there_is_space(fleet, small_pods_disk, tmp_path):
    fleet.start("n1")
    mark = tmp_path / "go"
    job = pod("job", command=("sh", "-c", f"while [ ! -e {mark} ]; do sleep 0.05; done; exit 3"), restartPolicy="Never")
    fill(small_pods_disk, leave=0)
    fleet.apply(job)
    wait_until(lambda: workloads(fleet.name), "the pod, which starts though its status cannot be written")
    assert fleet.nodes_running("job") == []
    (small_pods_disk / "filler").unlink()
    fleet.wait_running("job", node="n1")
    fill(small_pods_disk, leave=0)
    mark.touch()
    wait_until(lambda: not workloads(fleet.name), "the workload to end")
    fleet.kill("n1")
    fleet.restart("n1")  # the keeper still knows the exit status
    fleet.wait_node("n1")
    assert len(keepers(fleet.name)) == 1
    (small_pods_disk / "filler").unlink()
    fleet.wait_phase("job", "Failed")
    assert fleet.pod_on("job", "n1")["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
