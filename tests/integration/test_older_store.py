"""The gateway's store is older than it was: replaced by an older copy, or cut short by a damaged log."""

import shutil

import pytest
from invariants import assert_one_place, wait_each_runs_once
from manifests import counted_pod, starts


def database_files(fleet):
    return list(fleet.state_dir("berthd").glob("gateway.db*"))


@pytest.mark.parametrize("has_mark", [True, False], ids=["with its mark", "without its mark"])
def test_an_older_copy_of_the_store_ends_no_pod_and_starts_none_twice(fleet, tmp_path, has_mark):
    fleet.start("n1", "n2")
    early = [f"early-{n}" for n in range(3)]
    fleet.apply(*(counted_pod(name, tmp_path) for name in early))
    wait_each_runs_once(fleet, *early)

    fleet.kill("berthd")
    copies = tmp_path / "copies"
    copies.mkdir()
    for path in database_files(fleet):
        shutil.copy(path, copies)
    fleet.restart("berthd")
    late = [f"late-{n}" for n in range(5)]
    fleet.apply(*(counted_pod(name, tmp_path) for name in late))
    wait_each_runs_once(fleet, *early, *late)
    placed = {name: fleet.nodes_running(name) for name in early + late}

    fleet.kill("berthd")
    for path in database_files(fleet):
        path.unlink()
    for path in copies.iterdir():
        shutil.copy(path, fleet.state_dir("berthd"))
    if not has_mark:
        (fleet.state_dir("berthd") / "gateway.mark").unlink()
    gateway = fleet.restart("berthd")
    if has_mark:
        gateway.wait_output("the store is an older copy of itself")
    wait_each_runs_once(fleet, *early, *late)
    assert_one_place(fleet.name)
    assert {name: fleet.nodes_running(name) for name in early + late} == placed
    assert {name: starts(name, tmp_path) for name in early + late} == {name: 1 for name in early + late}

    fleet.apply(counted_pod("after", tmp_path))
    wait_each_runs_once(fleet, *early, *late, "after")


@pytest.mark.parametrize("later_starts", [1, 8])
def test_a_card_put_back_with_its_mark_is_told_by_the_devices_and_starts_no_pod_twice(fleet, broker, tmp_path, later_starts):
    """After one later start the new start's random term is above that one's half of the time, so devices obey it at once."""
    fleet.start("n1", "n2")
    fleet.apply(counted_pod("early", tmp_path))
    wait_each_runs_once(fleet, "early")
    fleet.kill("berthd")
    image = tmp_path / "image"
    shutil.copytree(fleet.state_dir("berthd"), image)

    for _ in range(later_starts):
        fleet.restart("berthd")
        fleet.apply(counted_pod("late", tmp_path))
        wait_each_runs_once(fleet, "early", "late")
        fleet.kill("berthd")
    placed = {name: fleet.nodes_running(name) for name in ("early", "late")}

    broker.kill()  # with what it retained: else "leader" tells, too
    broker.start()
    shutil.rmtree(fleet.state_dir("berthd"))
    shutil.copytree(image, fleet.state_dir("berthd"), dirs_exist_ok=True)
    fleet.restart("berthd").wait_output("a node has obeyed a later state of this store: it is an older copy of itself")
    wait_each_runs_once(fleet, "early", "late")
    assert_one_place(fleet.name)
    assert {name: fleet.nodes_running(name) for name in placed} == placed
    assert {name: starts(name, tmp_path) for name in placed} == {name: 1 for name in placed}

    fleet.apply(counted_pod("after", tmp_path))
    wait_each_runs_once(fleet, "early", "late", "after")


def test_one_bit_flipped_in_the_write_ahead_log_ends_no_pod(fleet, tmp_path):
    fleet.start("n1", "n2")
    pods = [f"pod-{n}" for n in range(8)]
    for count, name in enumerate(pods, 1):
        fleet.apply(counted_pod(name, tmp_path))
        wait_each_runs_once(fleet, *pods[:count])
    placed = {name: fleet.nodes_running(name) for name in pods}

    fleet.kill("berthd")
    log = fleet.state_dir("berthd") / "gateway.db-wal"
    damaged = bytearray(log.read_bytes())
    damaged[len(damaged) // 3] ^= 4
    log.write_bytes(damaged)
    gateway = fleet.restart("berthd")
    gateway.wait_output("the write-ahead log is damaged")
    wait_each_runs_once(fleet, *pods)
    assert_one_place(fleet.name)
    assert {name: fleet.nodes_running(name) for name in pods} == placed
    assert {name: starts(name, tmp_path) for name in pods} == {name: 1 for name in pods}

    fleet.kill("berthd")
    fleet.restart("berthd").wait_output("in step with the broker")
    fleet.apply(counted_pod("after", tmp_path))
    wait_each_runs_once(fleet, *pods, "after")
