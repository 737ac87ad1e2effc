"""The gateway at its memory limit."""

import zlib
from pathlib import Path

from manifests import counted_pod, pod, starts
from test_status_pages import metric
from waiting import wait_until

MIB = 1 << 20


def resident(program):
    return int(Path(f"/proc/{program.pid}/statm").read_text(encoding="ascii").split()[1]) * 4096


def heavy(name):
    """A pod of maximum size that fits nowhere. Its contents are unique, since the gateway stores equal contents once."""
    manifest = pod(name, nodeSelector={"nowhere": "yes"})
    manifest["metadata"]["annotations"] = {"ballast": f"{zlib.crc32(name.encode()):08x}" * 6_250}
    return manifest


def test_at_the_memory_limit_new_pods_are_refused_known_ones_proceed_and_freed_memory_needs_no_restart(fleet, tmp_path):
    fleet.start("n1")
    fleet.apply(counted_pod("web", tmp_path), counted_pod("later", tmp_path, nodeSelector={"kubernetes.io/hostname": "n2"}))
    fleet.wait_running("web", node="n1")
    fleet.wait_pending("later")
    idle = resident(fleet.programs["berthd"])
    fleet.kill("berthd")
    config = tmp_path / "berthd.yaml"
    config.write_text(f"memory_limit_bytes: {idle + 16 * MIB}\n", encoding="utf-8")
    gateway = fleet.start_gateway(extra=["--config", config])
    fleet.wait_node("n1")

    known, refused = [], None
    while refused is None:
        batch = [f"heavy-{len(known) + number}" for number in range(20)]
        answer = fleet.apply(*map(heavy, batch), check=False)
        known += batch
        refused = answer.stderr if answer.returncode else None
        assert len(known) < 5_000, f"pods are still accepted at {resident(gateway)} bytes"
    assert "memory is full" in refused and "memory_limit_bytes" in refused
    assert "memory is full" in fleet.ctl("status").stdout
    assert metric(fleet, "berth_accepting") == 0
    assert metric(fleet, "process_resident_memory_bytes") >= metric(fleet, "berth_memory_limit_bytes") * 15 / 16
    # The broker retains the manifest although the gateway refuses it.
    fleet.observer.publish(fleet.topic("desired/pods/default/late"), counted_pod("late", tmp_path), retain=True)
    gateway.wait_output("desired/pods/default/late reason=\"memory is full")

    fleet.start_agent("n2")
    fleet.wait_running("later", node="n2")  # it was known before, its node was not
    fleet.delete("pod", "web")
    fleet.wait_gone("web")
    assert fleet.get("pod", "late") is None

    for name in known:
        fleet.ctl("delete", "pod", name, check=False)  # the last ones were never accepted
    fleet.wait_running("late")
    gateway.wait_output("memory is available again")
    fleet.apply(counted_pod("again", tmp_path))
    fleet.wait_running("again")
    assert gateway.alive() and metric(fleet, "berth_accepting") == 1
    wait_until(lambda: [starts(name, tmp_path) for name in ("web", "later", "late", "again")] == [1] * 4, "one start of each")


def test_what_is_kept_of_classes_of_pods_is_given_up_before_pods_are_refused(fleet, tmp_path):
    fleet.start("n1")
    fleet.apply(counted_pod("before", tmp_path))
    fleet.wait_running("before", node="n1")
    idle = resident(fleet.programs["berthd"])
    fleet.kill("berthd")
    config = tmp_path / "berthd.yaml"
    config.write_text(f"memory_limit_bytes: {idle + 24 * MIB}\n", encoding="utf-8")
    gateway = fleet.start_gateway(extra=["--config", config])
    fleet.wait_node("n1")
    fleet.apply(*(pod(f"class-{number}", nodeSelector={"nowhere": f"place-{number}"}) for number in range(200)))
    wait_until(lambda: metric(fleet, "berth_scheduling_cache_bytes") > MIB / 2, "views of many classes")

    count, refused = 0, False
    while not refused:
        refused = fleet.apply(*(heavy(f"heavy-{count + number}") for number in range(20)), check=False).returncode != 0
        count += 20
        if refused:
            # One class has its view: that of the heavy pods, or of the one tried last.
            assert metric(fleet, "berth_scheduling_cache_bytes") < MIB / 16
        assert count < 5_000, f"pods are still accepted at {resident(gateway)} bytes"

    fleet.delete("pod", "before")  # decisions go on without
    fleet.wait_gone("before")
    for number in range(count):
        fleet.ctl("delete", "pod", f"heavy-{number}", check=False)
    gateway.wait_output("memory is available again")
    fleet.apply(counted_pod("after", tmp_path))
    fleet.wait_running("after", node="n1")
    fleet.apply(*(pod(f"class-{number}", nodeSelector={"nowhere": f"place-{number}"}) for number in range(200, 400)))
    wait_until(lambda: metric(fleet, "berth_scheduling_cache_bytes") > MIB / 2, "views are kept again")
