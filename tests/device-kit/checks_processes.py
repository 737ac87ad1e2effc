"""What a device runs, with pods that write down their starts. For agents that run plain processes (--processes)."""

from kit import epoch, need
from manifests import starts
from waiting import wait_until


def counted(device, uid):
    """A pod that counts its starts, and notices when it runs twice at a time."""
    script = (f"exec 9> {device.folder}/{uid}.lock; flock -n 9 || echo twice >> {device.folder}/{uid}; "
              f"echo started >> {device.folder}/{uid}; exec sleep 1000")
    return device.manifest(uid, uid, command=("sh", "-c", script))


def wait_starts(device, uid, count):
    wait_until(lambda: starts(uid, device.folder) == count, f"{count} starts of {uid}")


def is_running(device, uid):
    """Whether something holds the lock of a counted pod."""
    return device.program.alive() and not lockable(device.folder / f"{uid}.lock")


def lockable(path):
    import fcntl
    with open(path, "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def check_bind_starts_a_pod_once_however_often_it_is_asked(device):
    device.pre_bind(epoch(5), "u1", counted(device, "u1"))
    need(starts("u1", device.folder) == 0, "nothing runs before Bind")
    for _ in range(4):
        device.ask("Bind", epoch(5), "u1")
    wait_starts(device, "u1", 1)
    device.slots()
    need(starts("u1", device.folder) == 1, "four times Bind start it once")


def check_released_means_that_nothing_of_it_is_left(device):
    device.run(epoch(5), "u1", counted(device, "u1"))
    wait_starts(device, "u1", 1)
    device.ask("Release", epoch(5), "u1")
    need(lockable(device.folder / "u1.lock"), "when Released arrives, its processes are gone")


def check_a_crash_of_the_agent_does_not_run_a_pod_twice(device):
    device.run(epoch(5), "u1", counted(device, "u1"))
    wait_starts(device, "u1", 1)
    for _ in range(3):
        device.restart()
    device.wait_status("u1", lambda s: s and s["phase"] == "Running", "Running")
    starts("u1", device.folder)  # asserts that no two ran at a time
    wait_until(lambda: is_running(device, "u1"), "the pod to run")


def check_an_agent_killed_in_bind_never_runs_a_pod_twice(device):
    for counter in range(5, 9):
        uid = f"u{counter}"
        device.pre_bind(epoch(counter), uid, counted(device, uid))
        device.send(device.request("Bind", epoch(counter), uid))
        device.restart()
        device.ask("Bind", epoch(counter), uid)
        wait_until(lambda uid=uid: starts(uid, device.folder) >= 1, f"{uid} to run")
        device.ask("Release", epoch(counter), uid)
        need(lockable(device.folder / f"{uid}.lock"), f"{uid} is gone when it is released")


def check_n0_a_wiped_device_stops_what_it_ran_before_it_answers(device):
    device.run(epoch(5), "u1", counted(device, "u1"))
    wait_starts(device, "u1", 1)
    device.wipe()
    device.start()
    device.slots()
    need(lockable(device.folder / "u1.lock"), "at its first answer nothing of the earlier store runs")


def check_a_pod_that_has_finished_is_reported_and_not_started_again(device):
    once = device.manifest("u1", "u1", command=("sh", "-c", f"echo started >> {device.folder}/u1"), restartPolicy="Never")
    device.run(epoch(5), "u1", once)
    device.wait_status("u1", lambda s: s and s["phase"] == "Succeeded" and s["slot"] == "finished", "Succeeded")
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Bound", "Bind of a finished slot is Bound")
    device.restart()
    need(device.slot("u1") == (epoch(5), "finished"), "it stays finished across a restart")
    need(starts("u1", device.folder) == 1, "and is not started again")
    second = device.manifest("u2", "u2", memory="512Mi")
    need(device.pre_bind(epoch(6), "u2", second)["type"] == "PreBound", "a finished slot holds no resources")
    need(device.ask("Release", epoch(5), "u1")["type"] == "Released", "and is released as any other")
