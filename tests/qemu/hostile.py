"""tests/qemu/hostile.py ARCH: containers that harm others where nothing holds them, in the guest, by crun on unified control
groups: a fork bomb, a flood of output, processes that flee their session, setuid programs and devices, a full disk, and memory
that runs out. Beside each, a pod of someone else goes on. The last line of output is "N passed, N failed"."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from container_guest import PIDS, gone, logs, pod, run_cases, script, status  # noqa: E402
from first_pod import apply, phases, wait_running  # noqa: E402
from kernel import wait_until  # noqa: E402

LOG_KIB = 2 * 1024  # more than two files of a run's output, and less than a flood writes in a second


def bystander(made):
    apply(made.guest, pod("bystander", made.image, ["sleep", "424242"]))
    wait_running(made.guest, ["bystander"], 300)
    return "a pod of someone else runs"


def still_there(guest):
    """The pod of someone else has not been started again."""
    assert status(guest, "bystander")["containerStatuses"][0]["restartCount"] == 0, "the bystander was started again"
    assert len(guest.run("for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline | grep -q '^sleep 424242' && echo $p; done")) == 1


def fork_bomb(made):
    guest = made.guest
    apply(guest, pod("bomb", made.image, script("b() { b | b & }; b; while :; do sleep 1; done")))
    wait_running(guest, ["bomb"])
    limits = guest.run("cat $(find /sys/fs/cgroup/berth -name pids.max) | grep -v max | sort -n | head -n 1")
    held = "for f in $(find /sys/fs/cgroup/berth -name pids.events); do awk '$1 == \"max\" && $2 > 0' $f; done"
    wait_until(lambda: guest.run(held), "the kernel has refused processes")
    apply(guest, pod("beside", made.image, ["sleep", "100000"]))
    wait_running(guest, ["beside"])
    gone(guest, "bomb", "beside")
    assert not guest.run(PIDS.format(name="sh") + " | grep -v ^1$ | while read p; do grep -l berth /proc/$p/cgroup; done")
    still_there(guest)
    return f"a fork bomb stays within {limits[-1]} processes; a pod starts beside it, and both are deleted without a rest"


def flood(made):
    guest = made.guest
    used = "du -sk /state/edge-a | cut -f1"
    before = int(guest.run(used)[0])
    apply(guest, pod("flood", made.image, script(f"yes {'x' * 100}")))
    wait_running(guest, ["flood"])
    wait_until(lambda: "dropped" in guest.ctl("logs", "flood", "--tail", "2000").stdout, "lines are dropped")
    apply(guest, pod("beside", made.image, script("echo words; exec sleep 100000")))
    wait_running(guest, ["beside"])
    assert logs(guest, "beside") == "words\n"
    more = int(guest.run(used)[0]) - before
    assert more < LOG_KIB, f"{more} KiB of output are on the disk"
    gone(guest, "flood", "beside")
    still_there(guest)
    return f"a flood of output has {more} KiB on the disk, and a line that tells how much was dropped"


def fleeing(made):
    """In the machine's process namespace, where the end of the first process does not end the others."""
    guest = made.guest
    apply(guest, pod("fleeing", made.image, script("setsid sh -c '(sleep 77777 &) &' & exec sleep 66666"), hostPID=True))
    wait_running(guest, ["fleeing"])
    fled = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep '^sleep [67]'; done"
    wait_until(lambda: len(guest.run(fled)) == 2, "it has fled")
    gone(guest, "fleeing")
    wait_until(lambda: not guest.run(fled), "nothing of it runs")
    still_there(guest)
    return "a process that leaves its session, parent and container ends with its pod"


def privileges(made):
    guest = made.guest
    image = made.push(made.image.split("/")[0], "suid:1", {"usr/bin/busybox": (made.busybox.read_bytes(), 0o4755)})
    kept = {"runAsUser": 65534, "allowPrivilegeEscalation": False}
    apply(guest, pod("suid", image, ["/usr/bin/busybox", "id", "-u"], restartPolicy="Never", container={"securityContext": kept}),
          pod("disk", image, script("mknod /tmp/d b 254 0; head -c 4 /tmp/d 2>&1 | grep -o permitted; ls /dev | grep -c vd"),
              restartPolicy="Never"),
          pod("kernel", image, script("(echo 1 >/proc/sys/kernel/panic; mount -t tmpfs x /tmp; echo c >/proc/sysrq-trigger; "
                                      "mkdir /sys/fs/cgroup/mine) 2>/dev/null; echo alive"), restartPolicy="Never"))
    names = ("suid", "disk", "kernel")
    wait_until(lambda: all(phases(guest).get(name) in ("Succeeded", "Failed") for name in names), "they have ended", 300)
    assert logs(guest, "suid") == "65534\n", logs(guest, "suid")
    assert logs(guest, "disk") == "permitted\n0\n", logs(guest, "disk")
    assert logs(guest, "kernel") == "alive\n" and guest.run("cat /proc/sys/kernel/panic") == ["-1"]
    gone(guest, *names)
    still_there(guest)
    return "a setuid program gives no rights, a made device node opens no disk, and the kernel's settings stay"


def conditions(guest):
    node = json.loads(guest.ctl("get", "node", "edge-a", "-o", "json").stdout)
    return {each["type"]: each["status"] for each in node["status"].get("conditions", [])}


def short_of(made, name, condition, hog):
    """A pod that takes too much is evicted; the node says meanwhile what it is short of."""
    guest = made.guest
    apply(guest, hog)
    wait_until(lambda: conditions(guest).get(condition) == "True", condition)
    wait_until(lambda: phases(guest).get(name) == "Failed", f"{name} is evicted", 300)
    shown = status(guest, name)
    assert shown["reason"] == "Evicted", shown
    wait_until(lambda: conditions(guest).get(condition) == "False", f"{condition} has passed", 300)
    apply(guest, pod("after", made.image, ["sleep", "100000"]))
    wait_running(guest, ["after"], 300)
    gone(guest, name, "after")
    still_there(guest)
    return f"{condition}, and {name} is evicted ({shown['message']}); then pods start again"


def full_disk(made):
    fill = script("dd if=/dev/zero of=/scratch/fill bs=64k 2>/dev/null; exec sleep 100000")
    return short_of(made, "writer", "DiskPressure",
                    pod("writer", made.image, fill, volumes=[{"name": "scratch", "emptyDir": {}}],
                        container={"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}))


def little_memory(made):
    fill = script("while dd if=/dev/zero of=/memory/$((n += 1)) bs=1M count=4 2>/dev/null; do sleep 0.1; done; exec sleep 100000")
    return short_of(made, "greedy", "MemoryPressure",
                    pod("greedy", made.image, fill, volumes=[{"name": "memory", "emptyDir": {"medium": "Memory"}}],
                        container={"volumeMounts": [{"name": "memory", "mountPath": "/memory"}]}))


if __name__ == "__main__":
    sys.exit(run_cases([bystander, fork_bomb, flood, fleeing, privileges, full_disk, little_memory], "berth.pressure=1"))
