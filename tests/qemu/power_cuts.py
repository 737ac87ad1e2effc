"""tests/qemu/power_cuts.py ARCH [--cuts N] [--seed S] [--control normal|lies]: cuts the guest's power at random moments
while pods are bound and released, on a disk whose write cache is lost with it; boots again and compares.

After every cut: what the gateway had acknowledged is there, what was reported running runs again and once, no volume has
two claims, and the stores hold the invariants (handshake.md S1-S12, as far as stores alone show them).
A control weakens one part on purpose and must be caught: normal = SQLite without a sync per commit, lies = a disk that
says it flushed. Its last line is "N passed, N failed"; with --control a cut that was caught counts as passed."""

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from first_pod import STORAGE, apply, pod, wait_running  # noqa: E402
from guest import Guest, VolatileDisk, make_disk  # noqa: E402
from invariants import violations, volume_violations  # noqa: E402
from stores import Database  # noqa: E402

# The tag of every process that does a pod's work: all of them end in `sleep`.
TAGS = ("for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = sleep ] && tr '\\0' '\\n' <$p/environ 2>/dev/null"
        " | grep ^BERTH_TAG=; done")
STORES = {"gateway": "gateway/gateway.db", "edge-a": "edge-a/agent.db", "edge-b": "edge-b/agent.db"}


class Run:
    def __init__(self, guest, image, folder, seed):
        self.guest, self.image, self.folder = guest, Path(image), Path(folder)
        self.random = random.Random(seed)
        self.created, self.deleted, self.running = set(), set(), set()
        self.next = 0

    def work(self, seconds):
        """Applies and deletes pods until the time is up. Only what the gateway answered counts as acknowledged."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if len(self.created) > 8 and self.random.random() < 0.5:
                name = self.random.choice(sorted(self.created))
                self.created.discard(name)  # from here on either answer is right
                if self.guest.ctl("delete", "pod", name, check=False).returncode == 0:
                    self.deleted.add(name)
                self.running.discard(name)
            else:
                self.next += 1
                name = f"p{self.next}"
                if self.guest.ctl("apply", "-f", "-", stdin=json.dumps(pod(name)), check=False).returncode == 0:
                    self.created.add(name)
            self.running |= {name for name, phase in (self.seen() or {}).items() if phase == "Running"} & self.created

    def seen(self):
        """Phases by name; None without an answer, which is not the same as no pods."""
        shown = self.guest.ctl("get", "pods", "-o", "json", check=False)
        if shown.returncode:
            return None
        return {item["metadata"]["name"]: item.get("status", {}).get("phase") for item in json.loads(shown.stdout)["items"]}

    def problems_after_boot(self):
        """What the operator sees once everything has settled."""
        found = []
        deadline = time.monotonic() + 120
        while True:
            seen = self.seen()
            if seen is None:
                if time.monotonic() > deadline:
                    return ["the gateway does not answer"]
                time.sleep(0.2)
                continue
            missing = sorted(self.created - set(seen))
            waiting = sorted(name for name in self.running if seen.get(name) != "Running")
            undead = sorted(self.deleted & set(seen))
            if not missing and not waiting and not undead:
                break
            if time.monotonic() > deadline or missing:
                found += [f"acknowledged and gone: {missing}"] * bool(missing)
                found += [f"ran and runs no more: {waiting}"] * bool(waiting)
                found += [f"deleted and there: {undead}"] * bool(undead)
                break
            time.sleep(0.2)
        places = collections.defaultdict(list)
        for line in self.guest.ask("run " + TAGS):
            if "BERTH_TAG=" in line:
                fleet, node, uid, epoch = line.rpartition("BERTH_TAG=")[2].split("/")
                places[uid].append(f"{node} {epoch}")
        found += [f"pod {uid} runs as {where}" for uid, where in places.items() if len(where) > 1]
        return found

    def problems_in_stores(self):
        """The disk as it lies there, read without the guest."""
        found = []
        files = {}
        for name, path in STORES.items():
            target = self.folder / name
            target.mkdir(exist_ok=True)
            for suffix in ("", "-wal"):
                out = target / (Path(path).name + suffix)
                out.unlink(missing_ok=True)
                subprocess.run(["debugfs", "-R", f"dump /{path}{suffix} {out}", self.image], capture_output=True, check=False)
                if suffix and out.exists() and out.stat().st_size == 0:
                    out.unlink()
            files[name] = target / Path(path).name
        with Database(files["gateway"]) as gateway:
            rows, releases = gateway.records("row"), gateway.records("release")
            objects = gateway.records("object")
        slots = {}
        for node in ("edge-a", "edge-b"):
            with Database(files[node]) as device:
                slots[node] = device.records("slot")
        found += violations(rows, releases, slots)
        found += volume_violations(rows, objects)
        return found


def cycle(run, number, words):
    if number == 0:
        run.guest.wait("@started")
        apply(run.guest, *STORAGE, pod("sensor", "log"))
        run.created.add("sensor")
        wait_running(run.guest, ["sensor"])
        run.running.add("sensor")
    run.work(run.random.uniform(0.5, 4))
    run.guest.cut_power()
    run.guest.boot(words)
    run.guest.wait("@started")
    return run.problems_after_boot()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("arch", choices=["arm64", "armhf"])
    parser.add_argument("--cuts", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--control", choices=["normal", "lies"])
    options = parser.parse_args()
    passed = failed = 0
    words = "berth.weak=1" if options.control == "normal" else ""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "state.img"
        make_disk(image)
        disk = VolatileDisk(image, folder, lies=options.control == "lies")
        run = Run(Guest(options.arch, disk, folder), image, folder, options.seed)
        try:
            run.guest.boot(words)
            for number in range(options.cuts):
                began = time.monotonic()
                try:
                    problems = cycle(run, number, words)
                    if number == options.cuts - 1 and not problems:
                        run.guest.power_off()
                        problems = run.problems_in_stores()
                except AssertionError as error:
                    problems = [str(error)]
                good = bool(problems) if options.control else not problems
                passed, failed = passed + good, failed + (not good and not options.control)
                print(f"{'ok    ' if good else 'FAILED' if not options.control else 'missed'} {options.arch} cut {number + 1}: "
                      f"{len(run.created)} acknowledged, {len(run.running)} seen running, {time.monotonic() - began:.1f} s"
                      + (f"; {problems}" if problems else ""), flush=True)
                if problems:
                    if not options.control:
                        print((Path(folder) / "console.log").read_text(errors="replace")[-3000:])
                    break
        finally:
            run.guest.cut_power()
    if options.control and not passed:
        failed = 1
        print(f"FAILED the control '{options.control}' was not caught: the harness is blind")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
