"""What the tests of containers in the guest share: a guest that pulls from a registry on the host, its pods, and the run of
a list of cases."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "integration"))

from first_pod import STORAGE, apply, phases  # noqa: E402
from guest import ROOT, Guest, VolatileDisk, make_disk  # noqa: E402
from kernel import wait_until  # noqa: E402

import images  # noqa: E402

ARCHITECTURES = {"arm64": "arm64", "armhf": "arm"}  # as the image specification names them
# An instruction takes 2 ns of the guest's time, so that processor time means the same on every host: a core that is slower than a Raspberry Pi 3's.
CORE = ["-icount", "shift=1,sleep=on"]
# Pids of the programs whose name (comm) is {name}.
PIDS = "for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = {name} ] && echo ${{p#/proc/}}; done"


def pod(name, image, command, **spec):
    container = {"name": "main", "image": image, "command": command, **spec.pop("container", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": "edge-a"}, "terminationGracePeriodSeconds": 1,
                     "containers": [container], **spec}}


def script(text):
    return ["sh", "-c", text]


def status(guest, name):
    return json.loads(guest.ctl("get", "pod", name, "-o", "json").stdout)["status"]


def ended(guest, name):
    """The state of the only container of a pod that has ended."""
    wait_until(lambda: phases(guest).get(name) in ("Failed", "Succeeded"), f"{name} has ended")
    return status(guest, name)["containerStatuses"][0]["state"]["terminated"]


def gone(guest, *names):
    for name in names:
        guest.ctl("delete", "pod", name)
    wait_until(lambda: not set(names) & set(phases(guest)), f"{', '.join(names)} are gone")


def logs(guest, name):
    return guest.ctl("logs", name).stdout


def uptime(guest):
    return float(guest.run("cut -d' ' -f1 /proc/uptime")[0])


def kib(guest, field, pids):
    """The sum over the programs of a field of their smaps_rollup."""
    return sum(int(line) for line in guest.run(f"for p in {pids}; do awk '/^{field}:/ {{ print $2 }}' /proc/$p/smaps_rollup; done"))


class ContainerGuest:
    """A guest whose device edge-a may pull from `registry`, which has the image `image` with busybox. `arguments` boots it."""

    def __init__(self, arch, folder, options=""):
        self.folder = Path(folder)
        disk = self.folder / "state.img"
        make_disk(disk, 256)
        self.busybox = ROOT / "build" / f"guest-{arch}" / "base" / "bin" / "busybox"
        self.registry = images.Registry(self.folder / "registry", busybox=self.busybox, architecture=ARCHITECTURES[arch])
        address = f"10.0.2.2:{self.registry.port}"  # the host's loopback, as QEMU's user network shows it
        self.arguments = f"berth.registry={address} {options}"
        self.image = self.push(address, "tools:1", {"bin/tar": ("#!/bin/sh\nexec /bin/busybox tar \"$@\"\n", 0o755)})
        self.guest = Guest(arch, VolatileDisk(disk, self.folder), self.folder)

    def push(self, address, name, files):
        self.registry.push(name, {}, files)
        return f"{address}/{name}"

    def boot(self, more=""):
        self.guest.boot(f"{self.arguments} {more}", CORE)
        self.guest.wait("@started")

    def stop(self):
        self.guest.cut_power()
        self.registry.stop()

    def tell_why(self):
        if self.guest.process.poll() is None:
            print("\n".join(self.guest.run("tail -n 25 /run/edge-a.log")))
        print((self.folder / "console.log").read_text(errors="replace")[-3000:])


def run_cases(cases, options=""):
    """Each of `cases`, a function of a ContainerGuest that returns what it has shown, on the architecture of the command
    line; those behind one that fails are not run. Returns the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("arch", choices=sorted(ARCHITECTURES))
    arch = parser.parse_args().arch
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        made = ContainerGuest(arch, folder, options)
        try:
            made.boot()
            apply(made.guest, *STORAGE)
            for case in cases:
                began = time.monotonic()
                print(f"ok     {arch}: {case(made)} ({time.monotonic() - began:.0f} s)", flush=True)
                passed += 1
            made.guest.power_off()
        except AssertionError as error:
            failed += 1
            print(f"FAILED {arch}: {error}")
            made.tell_why()
        finally:
            made.stop()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
