"""tests/qemu/kernel.py ARCH [--clock] [--suspend]: tests that need a whole kernel. A gateway in a control group, a device
behind a link that loses, delays, duplicates and reorders packets or carries them one way only, a volume that a pod fills up to its
project quota, and a disk that fills up.
--clock: the machine boots in 1970 and its clock is set later. --suspend: the machine is suspended for a minute.
The last line of output is "N passed, N failed"."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from first_pod import apply, phases, pod, wait_running  # noqa: E402
from guest import Guest, PlainDisk, make_disk  # noqa: E402
from power_cuts import TAGS  # noqa: E402

BOTH_WAYS = ("tc qdisc {verb} dev link-b root {netem}; ip netns exec edge-b tc qdisc {verb} dev uplink root {netem}; "
             "ip netns exec edge-b tc qdisc show dev uplink")
TO_DEVICE, TO_GATEWAY = "tc qdisc {verb} dev link-b root {netem}", "ip netns exec edge-b tc qdisc {verb} dev uplink root {netem}"
STORM = "netem loss 15% delay 80ms 40ms duplicate 10% reorder 25% 50%"


def on_b(name):
    """A pod that only the device behind the bad link may run."""
    made = pod(name)
    made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "edge-b"}
    return made


def wait_until(true, what, timeout_s=180):
    end = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < end, f"timed out after {timeout_s} s waiting until {what}"
        time.sleep(0.3)


def runs_more_than_once(guest):
    """Uids of pods with more than one `sleep` process; every pod of these tests ends in one."""
    tags = [line for line in guest.run(TAGS) if line.startswith("BERTH_TAG=")]
    uids = [tag.split("/")[2] for tag in tags]
    return sorted({uid for uid in uids if uids.count(uid) > 1})


def control_group(guest):
    apply(guest, *[pod(f"group-{n}") for n in range(10)])
    wait_running(guest, [f"group-{n}" for n in range(10)])
    events = dict(line.split() for line in guest.run("cat /sys/fs/cgroup/gateway/memory.events"))
    peak = guest.run("cat /sys/fs/cgroup/gateway/memory.peak /sys/fs/cgroup/gateway/memory.current 2>/dev/null")[0]
    tasks = guest.run("cat /sys/fs/cgroup/gateway/cgroup.procs | wc -l")[0]
    assert tasks == "1", f"{tasks} tasks in the gateway's group"
    assert events["oom_kill"] == "0", f"the OOM killer ended it in its group: {events}"
    return f"a gateway limited to 24 MiB and a fifth of a core binds 10 pods; its group uses {int(peak) // 1024} KiB"


def storm(guest):
    shown = guest.run(BOTH_WAYS.format(verb="add", netem=STORM))
    assert any("netem" in line for line in shown), f"tc: {shown}"
    apply(guest, *[on_b(f"storm-{n}") for n in range(5)])
    began = time.monotonic()
    wait_running(guest, [f"storm-{n}" for n in range(5)], 240)
    took = time.monotonic() - began
    for name in ("storm-0", "storm-1"):
        guest.ctl("delete", "pod", name)
    wait_until(lambda: not {"storm-0", "storm-1"} & set(phases(guest)), "the deleted pods are gone")
    guest.run(BOTH_WAYS.format(verb="del", netem=""))
    assert not runs_more_than_once(guest), "a pod runs twice"
    return f"15 % loss, 80 ms +- 40, duplicates, reordering: 5 pods run after {took:.1f} s, once each; 2 are deleted"


def one_way(guest, name, link, what):
    shown = guest.run(link.format(verb="add", netem="netem loss 100%"))
    assert not shown, f"tc: {shown}"
    apply(guest, on_b(name))
    time.sleep(10)  # enough for a dozen retries
    assert phases(guest).get(name) != "Running", "the pod is reported as running over a dead link"
    guest.run(link.format(verb="del", netem=""))
    wait_running(guest, [name], 180)
    assert not runs_more_than_once(guest), "a pod runs twice"
    return f"a link that carries nothing {what}: the pod waits, and runs once when the link works again"


def pooled(name):
    """A claim of 8 MiB that the first device makes a volume for, and a pod that fills it."""
    script = 'dd if=/dev/zero of="$BERTH_VOLUME_DATA/fill" bs=64k; exec sleep 100000'
    filling = pod(name, name)
    filling["spec"]["containers"][0]["command"] = ["/bin/sh", "-c", script]
    return [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
             "spec": {"storageClassName": "pool", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}}},
            filling]


def limited_volume(guest):
    node = json.loads(guest.ctl("get", "node", "edge-a", "-o", "json").stdout)
    assert node["status"]["volumePools"][0]["limited"] is True, node["status"]["volumePools"]
    apply(guest, {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "pool"},
                  "provisioner": "berth/local", "volumeBindingMode": "WaitForFirstConsumer"})
    sizes = []
    for name in ("filled", "filled-again"):
        apply(guest, *pooled(name))
        wait_running(guest, [name])
        wait_until(lambda: not guest.run("pidof dd") and guest.run("ls /state/edge-a/pool/*/fill"), "the volume is full")
        sizes.append(int(guest.run("stat -c %s /state/edge-a/pool/*/fill")[0]))
        assert 7 << 20 < sizes[-1] <= 8 << 20, f"{sizes[-1]} bytes were written to a volume of 8 MiB"
        free = int(guest.run("df -k /state | tail -n 1")[0].split()[3])
        assert free > 8 << 10, f"the disk is full, too: {free} KiB free"
        guest.ctl("delete", "pod", name)
        guest.ctl("delete", "persistentvolumeclaim", name)
        wait_until(lambda: not guest.run("ls /state/edge-a/pool"), "the volume is removed")
    return f"a pod can write {sizes[0]} and {sizes[1]} bytes to a volume of 8 MiB, and the disk has space for others"


def disk_full(guest):
    before = {name for name, phase in phases(guest).items() if phase == "Running"}
    guest.run("dd if=/dev/zero of=/state/fill bs=64k 2>/dev/null; dd if=/dev/zero of=/state/fill2 bs=1k 2>/dev/null; sync")
    free = int(guest.run("df -k /state | tail -n 1")[0].split()[3])
    assert free < 64, f"{free} KiB are still free"
    answers = [guest.ctl("apply", "-f", "-", stdin=json.dumps(pod(f"full-{n}")), check=False) for n in range(40)]
    accepted = {f"full-{n}" for n, answer in enumerate(answers) if answer.returncode == 0}
    assert len(accepted) < len(answers), "all 40 pods were acknowledged on a full disk"
    guest.run("rm /state/fill /state/fill2; sync")
    # A refused pod may have been stored nevertheless; an acknowledged one must have been.
    wait_until(lambda: guest.ctl("apply", "-f", "-", stdin=json.dumps(pod("after")), check=False).returncode == 0,
               "a pod is accepted after space was freed")
    wait_running(guest, sorted(before | accepted | {"after"}), 180)
    assert not runs_more_than_once(guest), "a pod runs twice"
    first = next(answer for answer in answers if answer.returncode)
    return (f"a full disk: {len(answers) - len(accepted)} of 40 pods refused ({(first.stderr or first.stdout).strip()[:90]}); "
            f"after space was freed {len(before | accepted) + 1} pods run, no acknowledged one is lost")


def late_clock(guest):
    year = guest.run("date +%Y")[0]
    assert year == "1970", f"the guest booted in {year}"
    apply(guest, pod("old"))
    wait_running(guest, ["old"])
    guest.run("date -s @1790000000 >/dev/null")
    apply(guest, pod("new"))
    wait_running(guest, ["old", "new"])
    time.sleep(20)
    wait_running(guest, ["old", "new"], 1)
    assert not runs_more_than_once(guest), "a pod runs twice"
    return "booted in 1970, clock stepped by 56 years: pods keep running, once each, and new ones start"


def asleep(guest):
    apply(guest, pod("sleeper"))
    wait_running(guest, ["sleeper"])
    began = time.monotonic()
    output = guest.run("echo 0 >/sys/class/rtc/rtc0/wakealarm; echo +60 >/sys/class/rtc/rtc0/wakealarm; "
                       "echo freeze >/sys/power/state; echo woke $?")
    slept = time.monotonic() - began
    assert slept > 45, f"the guest was suspended for {slept:.0f} s only: {output}"
    apply(guest, pod("awake"))
    wait_running(guest, ["sleeper", "awake"], 180)
    assert not runs_more_than_once(guest), "a pod runs twice"
    return f"suspended for {slept:.0f} s: pods keep running, once each, and new ones start"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("arch", choices=["arm64", "armhf"])
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("--suspend", action="store_true")
    options = parser.parse_args()
    steps = [(control_group, ()), (storm, ()), (one_way, ("to-device", TO_DEVICE, "to the device")),
             (one_way, ("to-gateway", TO_GATEWAY, "to the gateway")), (limited_volume, ()), (disk_full, ())]
    more = []
    if options.clock:
        steps, more = [(late_clock, ())], ["-rtc", "base=1970-01-01T00:00:30"]
    if options.suspend:
        steps, more = [(asleep, ())], []
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        make_disk(Path(folder) / "state.img")
        guest = Guest(options.arch, PlainDisk(Path(folder) / "state.img"), folder)
        try:
            guest.boot("berth.link=1 berth.cgroup=1 berth.pool=1", more)
            guest.wait("@started")
            for step, arguments in steps:
                began = time.monotonic()
                try:
                    result, ok = step(guest, *arguments), True
                except AssertionError as error:
                    result, ok = f"{step.__name__}{arguments}: {error}", False
                passed, failed = passed + ok, failed + (not ok)
                print(f"{'ok     ' if ok else 'FAILED '}{options.arch}: {result} ({time.monotonic() - began:.0f} s)", flush=True)
                if not ok:
                    print("\n".join(guest.ask("logs")))
                    print((Path(folder) / "console.log").read_text(errors="replace")[-6000:])
                    break  # later steps would fail for the same reason
        except AssertionError as error:
            failed += 1
            print(f"FAILED {options.arch}: {error}\n{(Path(folder) / 'console.log').read_text(errors='replace')[-4000:]}")
        finally:
            guest.cut_power()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
