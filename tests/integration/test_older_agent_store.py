"""An agent's store is replaced by an older copy of itself, as by an SD card that is restored from an image."""

import shutil

from invariants import assert_one_place, wait_each_runs_once
from manifests import counted_pod, pod, starts
from waiting import wait_until


def copy_files(fleet, node, pattern, folder):
    folder.mkdir()
    for path in fleet.state_dir(node).glob(pattern):
        shutil.copy(path, folder)


def put_back(fleet, node, pattern, folder):
    for path in fleet.state_dir(node).glob(pattern):
        path.unlink()
    for path in folder.iterdir():
        shutil.copy(path, fleet.state_dir(node))


def wait_new_incarnation(fleet, node, before, why="StoreRolledBack"):
    state = fleet.observer.wait_latest(fleet.topic(f"nodes/{node}/state"), lambda s: s and s["incarnation"] != before, 10)
    assert state["storeLost"] == why


def incarnation(fleet, node):
    return fleet.observer.value(fleet.topic(f"nodes/{node}/state"))["incarnation"]


def play_on_after_a_copy(fleet, pattern, folder):
    """Pods deleted and kept run on n1 when its files are copied; then deleted is gone and late runs. n1 is killed with the
    copy in place of its files. Returns its incarnation."""
    fleet.start("n1")
    before = incarnation(fleet, "n1")
    marks = folder.parent
    fleet.apply(counted_pod("deleted", marks), counted_pod("kept", marks))
    wait_each_runs_once(fleet, "deleted", "kept")
    fleet.kill("n1")
    copy_files(fleet, "n1", pattern, folder)
    fleet.restart("n1")
    fleet.delete("pod", "deleted")
    fleet.wait_gone("deleted")
    fleet.apply(counted_pod("late", marks))
    wait_each_runs_once(fleet, "kept", "late")
    fleet.kill("n1")
    put_back(fleet, "n1", pattern, folder)
    return before


def test_an_older_copy_beside_its_mark_starts_no_deleted_pod(fleet, tmp_path):
    before = play_on_after_a_copy(fleet, "agent.db*", tmp_path / "copy")
    fleet.restart("n1").wait_output("this store is an older copy of itself")
    wait_new_incarnation(fleet, "n1", before)
    wait_each_runs_once(fleet, "kept", "late")
    assert_one_place(fleet.name)
    assert {name: starts(name, tmp_path) for name in ("deleted", "kept", "late")} == {"deleted": 1, "kept": 2, "late": 2}
    events = fleet.ctl("describe", "node", "n1").stdout
    assert "NodeStoreLost" in events and "StoreRolledBack" in events


def test_an_older_copy_with_its_mark_is_told_by_the_gateway(fleet, tmp_path):
    before = play_on_after_a_copy(fleet, "agent.*", tmp_path / "copy")
    agent = fleet.restart("n1")
    agent.wait_output("this store is an older copy of itself, says the gateway")
    agent.wait()
    fleet.restart("n1")  # as systemd does
    wait_new_incarnation(fleet, "n1", before)
    wait_each_runs_once(fleet, "kept", "late")
    assert_one_place(fleet.name)


def flip_a_bit_in_the_log(fleet, node):
    log = fleet.state_dir(node) / "agent.db-wal"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)


def test_a_bit_flipped_in_the_log_of_an_agent_is_reported(fleet, tmp_path):
    fleet.start("n1")
    before = incarnation(fleet, "n1")
    fleet.apply(counted_pod("web", tmp_path))
    wait_each_runs_once(fleet, "web")
    fleet.kill("n1")
    flip_a_bit_in_the_log(fleet, "n1")
    fleet.restart("n1").wait_output("damaged store set aside")
    wait_new_incarnation(fleet, "n1", before, "StoreDamaged")
    wait_each_runs_once(fleet, "web")
    assert "StoreDamaged" in fleet.ctl("describe", "node", "n1").stdout


def test_a_damaged_store_is_reported_by_an_agent_that_was_killed_while_it_swept(fleet, tmp_path):
    fleet.start("n1")
    before = incarnation(fleet, "n1")
    ready, end = tmp_path / "ready", tmp_path / "end"
    script = f"trap '' TERM; touch {ready}; while [ ! -e {end} ]; do sleep 0.02; done"
    fleet.apply(pod("web", command=("sh", "-c", script)))
    wait_until(ready.exists, "the workload ignores the request to end")
    fleet.kill("n1")
    flip_a_bit_in_the_log(fleet, "n1")
    fleet.restart("n1").wait_output("stopping a workload without a slot")
    fleet.kill("n1")
    fleet.restart("n1").wait_output("this store counts as lost")
    end.touch()
    wait_new_incarnation(fleet, "n1", before, "StoreDamaged")
    assert "StoreDamaged" in fleet.ctl("describe", "node", "n1").stdout
