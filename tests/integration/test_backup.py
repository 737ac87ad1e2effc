"""berthctl backup and restore: the gateway's machine is lost, and another one goes on from a backup."""

import os
import re
import secrets
import shutil
import subprocess
import tarfile
import threading

import pytest
from fleet import Fleet
from invariants import assert_one_place, wait_each_runs_once
from manifests import counted_pod, pod, starts
from waiting import wait_until


def backup(fleet, file, *arguments, check=True):
    return fleet.ctl("backup", file, "--state-dir", fleet.state_dir("berthd"), *arguments, check=check)


def restore(fleet, file, folder, *arguments):
    return fleet.ctl("restore", file, "--state-dir", folder, *arguments, check=False)


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_backup_leaves_out_what_the_gateway_removes_in_that_moment(fleet, tmp_path):
    fleet.start("n1")
    state = fleet.state_dir("berthd")
    ended = threading.Event()

    def change_files():
        while not ended.is_set():
            for number in range(100):
                (state / f"passing-{number}").touch()
            for number in range(100):
                (state / f"passing-{number}").unlink()

    changing = threading.Thread(target=change_files)
    changing.start()
    try:
        for _ in range(20):
            backup(fleet, tmp_path / "berth.tar")
    finally:
        ended.set()
        changing.join()


def test_a_backup_is_no_new_installation(fleet, tmp_path):
    fleet.start("n1")
    (fleet.state_dir("berthd") / "new").touch()
    assert "new" not in re.findall(r"^  (\S+)", backup(fleet, tmp_path / "berth.tar").stdout, re.MULTILINE)


def test_a_gateway_on_a_new_machine_goes_on_from_a_backup_made_under_load(fleet, tmp_path):
    fleet.start("n1", "n2")
    early = [f"early-{n}" for n in range(6)]
    applying = threading.Thread(target=lambda: [fleet.apply(counted_pod(name, tmp_path)) for name in early])
    applying.start()
    file = tmp_path / "berth.tar"
    while applying.is_alive():
        backup(fleet, file)
    applying.join()
    wait_each_runs_once(fleet, *early)
    told = backup(fleet, file).stdout
    assert "gateway.db" in told and "gateway.mark" in told and "passwords and keys" in told
    assert backup(fleet, file, "--list").stdout == told
    assert file.stat().st_mode & 0o777 == 0o600
    with tarfile.open(file) as archive:
        assert {"gateway.db", "gateway.mark", "contents.json"} <= set(archive.getnames())

    late = [f"late-{n}" for n in range(3)]
    fleet.apply(*(counted_pod(name, tmp_path) for name in late))
    wait_each_runs_once(fleet, *early, *late)
    placed = {name: fleet.nodes_running(name) for name in early + late}
    fleet.kill("berthd")
    shutil.rmtree(fleet.state_dir("berthd"))
    restored = restore(fleet, file, fleet.state_dir("berthd"))
    assert restored.returncode == 0, restored.stderr
    gateway = fleet.restart("berthd")
    gateway.wait_output("the store is an older copy of itself")
    wait_each_runs_once(fleet, *early, *late)
    assert_one_place(fleet.name)
    assert {name: fleet.nodes_running(name) for name in early + late} == placed
    assert {name: starts(name, tmp_path) for name in early + late} == {name: 1 for name in early + late}

    fleet.apply(counted_pod("after", tmp_path))
    wait_each_runs_once(fleet, *early, *late, "after")


def test_a_backup_made_while_the_log_is_moved_into_the_file_has_all_that_was_accepted_before(fleet, tmp_path):
    fleet.start_gateway()
    fleet.programs["berthd"].wait_output("in step with the broker")

    def apply(number):
        manifests = [pod(f"pod-{number}-{n}") for n in range(25)]
        for manifest in manifests:  # more than the log holds, in all
            manifest["metadata"]["annotations"] = {"note": secrets.token_urlsafe(25_000)}
        fleet.apply(*manifests)

    apply(0)
    for number in range(1, 4):
        applying = threading.Thread(target=apply, args=(number,))
        applying.start()
        file, other = tmp_path / f"{number}.tar", Fleet(tmp_path / f"other-{number}", fleet.port)
        backup(fleet, file)
        assert restore(fleet, file, other.state_dir("berthd")).returncode == 0
        gateway = other.start_gateway()
        gateway.wait_output("the store is an older copy of itself")
        gateway.wait_output("gateway started")
        held = int(re.search("gateway started.* pods=([0-9]+)", gateway.output())[1])
        other.stop()
        applying.join()
        assert 25 * number <= held <= 25 * (number + 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("exists", [True, False])
def test_what_root_restores_belongs_to_the_owner_of_the_state_directory(fleet, tmp_path, exists):
    fleet.start_gateway()
    fleet.programs["berthd"].wait_output("in step with the broker")
    (fleet.state_dir("berthd") / "own" / "deep").mkdir(parents=True)
    (fleet.state_dir("berthd") / "own" / "deep" / "file").touch()
    backup(fleet, tmp_path / "berth.tar")
    above = tmp_path / "other"
    folder = above / "state"
    (folder if exists else above).mkdir(parents=True)
    os.chown(folder if exists else above, 4242, 4343)
    restored = restore(fleet, tmp_path / "berth.tar", folder)
    assert restored.returncode == 0, restored.stderr
    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in [folder, *folder.rglob("*")]}
    assert {"state", "lock", "gateway.db", "gateway.mark", "own", "deep", "file"} <= set(owners)
    assert set(owners.values()) == {(4242, 4343)}, owners


def test_a_damaged_backup_is_refused_and_changes_nothing(fleet, tmp_path):
    fleet.start_gateway()
    fleet.programs["berthd"].wait_output("in step with the broker")
    file = tmp_path / "berth.tar"
    backup(fleet, file)
    whole = file.read_bytes()
    folder = tmp_path / "new"
    damaged = [whole[:len(whole) // 2], whole[:-1024], b"", b"not a backup" * 100]
    with tarfile.open(file) as archive:
        key = archive.getmember("gateway.key")
    behind_key = key.offset_data + key.size  # padding
    for at in (30, 600, behind_key, len(whole) // 2, len(whole) - 1600):
        damaged.append(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
    for content in damaged:
        file.write_bytes(content)
        refused = restore(fleet, file, folder)
        assert refused.returncode == 1 and "berth.tar" in refused.stderr, refused
        assert not folder.exists()


def test_a_directory_in_use_or_not_empty_is_refused(fleet, tmp_path):
    fleet.start_gateway()
    fleet.programs["berthd"].wait_output("in step with the broker")
    file, folder = tmp_path / "berth.tar", fleet.state_dir("berthd")
    backup(fleet, file)
    assert "still in use" in restore(fleet, file, folder, "--force").stderr
    fleet.kill("berthd")
    before = files_below(folder)
    assert "is not empty" in restore(fleet, file, folder).stderr
    assert files_below(folder) == before
    forced = restore(fleet, file, folder, "--force")
    assert forced.returncode == 0 and "gateway.db.aside-" in forced.stdout
    fleet.restart("berthd").wait_output("the store is an older copy of itself")


def test_a_restore_onto_a_full_disk_leaves_nothing(fleet, tmp_path):
    fleet.start_gateway()
    fleet.programs["berthd"].wait_output("in step with the broker")
    file, folder = tmp_path / "berth.tar", tmp_path / "small"
    (fleet.state_dir("berthd") / "broker").mkdir()
    (fleet.state_dir("berthd") / "broker" / "large").write_bytes(bytes(300_000))
    backup(fleet, file)
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "berth-test", folder], capture_output=True,
                             text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a file system here: {mounted.stderr.strip()}")
    try:
        refused = restore(fleet, file, folder)
        assert refused.returncode == 1 and "No space left" in refused.stderr
        assert files_below(folder) == {"lock"}
        into_full = fleet.ctl("backup", folder / "b.tar", "--state-dir", fleet.state_dir("berthd"), check=False)
        assert into_full.returncode == 1 and "No space left" in into_full.stderr
        assert files_below(folder) == {"lock"}
    finally:
        wait_until(lambda: subprocess.run(["umount", folder], check=False).returncode == 0, "umount")
