"""tests/qemu/power_cuts.py ARCH [--cuts N] [--seed S] [--control normal|lies]: cuts the guest's power at random moments
while pods are bound and released, on a disk that loses its write cache; then checks the disk and boots again.

After every cut the stores are read from the disk, and must contain everything that was acknowledged and satisfy the
handshake's invariants (stores_after_cut.py). Then the machine boots: pods that were reported as running must run again, on
the same device and only once; deleted pods must stay away.
A control weakens one part on purpose and must lose acknowledged data: normal = SQLite without a sync per commit, lies = a
disk that acknowledges flushes without doing them. The control passes only if such a loss is detected. The last line of
output is "N passed, N failed"."""

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from first_pod import STORAGE, apply, pod, wait_running  # noqa: E402
from guest import Guest, VolatileDisk, make_disk  # noqa: E402
from stores_after_cut import Damaged, Rules, lost, read_stores  # noqa: E402

# Prints the tag of every pod process: all pods of this test end in `sleep`.
TAGS = ("for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = sleep ] && tr '\\0' '\\n' <$p/environ 2>/dev/null"
        " | grep ^BERTH_TAG=; done")
FULL = 24  # above this number, more pods are deleted than applied: two devices of two cores can run 40
SETTLE_S = 120
ANSWER_S = 8  # answers normally take tenths of a second; a machine without power never answers


class Run:
    def __init__(self, guest, image, folder, seed):
        self.guest, self.image, self.folder = guest, Path(image), Path(folder)
        self.random = random.Random(seed)
        self.rules = Rules()
        # What was acknowledged: created pods, deleted pods, and the (node, uid) of pods reported as running.
        self.created, self.deleted, self.bound = set(), set(), {}
        self.next = 0

    def begin(self):
        apply(self.guest, *STORAGE, pod("sensor", "log"))
        self.created.add("sensor")
        wait_running(self.guest, ["sensor"])
        self.note_bound()

    def work_until_cut(self):
        """Applies and deletes pods until the power is cut."""
        cut = threading.Timer(self.random.uniform(0.5, 4), self.guest.cut_power)
        cut.start()
        while cut.is_alive():
            if len(self.created) > 4 and self.random.random() < (0.7 if len(self.created) > FULL else 0.3):
                self.delete(self.random.choice(sorted(self.created - {"sensor"})))
            else:
                self.create(self.random.randint(1, 4))
            if cut.is_alive():
                self.note_bound()
        cut.join()

    def create(self, number):
        names = [f"p{self.next + n}" for n in range(number)]
        self.next += number
        answer = self.ctl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(pod(name)) for name in names))
        # berthctl prints a line per object that the gateway accepted.
        self.created |= {name for name in names if f"/{name} " in answer.stdout}

    def delete(self, name):
        self.created.discard(name)  # from here on the pod may exist or not
        self.bound.pop(name, None)
        if self.ctl("delete", "pod", name).returncode == 0:
            self.deleted.add(name)

    def note_bound(self):
        for name, (phase, *where) in (self.seen() or {}).items():
            if phase == "Running" and name in self.created:
                self.bound[name] = tuple(where)

    def ctl(self, *arguments, stdin=None):
        """Runs berthctl. An answer that arrived before the cut counts as acknowledged; after the cut the call times out."""
        return self.guest.ctl(*arguments, stdin=stdin, check=False, timeout_s=ANSWER_S)

    def seen(self):
        """(phase, node, uid) by name; None if the gateway does not answer."""
        shown = self.ctl("get", "pods", "-o", "json")
        if shown.returncode:
            return None
        return {item["metadata"]["name"]: (item.get("status", {}).get("phase"), item["spec"].get("nodeName"),
                                           item["metadata"]["uid"]) for item in json.loads(shown.stdout)["items"]}

    def check_disk(self):
        """Returns (acknowledged data that is lost, violated invariants)."""
        try:
            stores = read_stores(self.image, self.folder)
        except Damaged as error:
            return [str(error)], []
        return lost(stores, self.created, self.bound), self.rules.violations(stores)

    def problems_after_boot(self):
        """Waits until the fleet has settled; returns what differs from the acknowledged state."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            seen = self.seen()
            found = ["the gateway does not answer"] if seen is None else self.differences(seen)
            if not found:
                break
            if time.monotonic() > deadline:
                return found
            time.sleep(0.2)
        running = collections.defaultdict(list)
        for line in self.guest.run(TAGS):
            if "BERTH_TAG=" in line:
                fleet, node, uid, epoch = line.rpartition("BERTH_TAG=")[2].split("/")
                running[uid].append(f"{node} {epoch}")
        return [f"pod {uid} runs as {where}" for uid, where in running.items() if len(where) > 1]

    def differences(self, seen):
        gone = sorted(self.created - set(seen))
        moved = sorted(name for name, where in self.bound.items() if seen.get(name) != ("Running", *where))
        undeleted = sorted(self.deleted & set(seen))
        return ([f"acknowledged pods are gone: {gone}"] * bool(gone)
                + [f"pods that ran do not run, or run elsewhere: {moved}"] * bool(moved)
                + [f"deleted pods are back: {undeleted}"] * bool(undeleted))


def cut_and_check(run, number, kernel_arguments):
    """One cut; returns (lost, wrong). Boots again only if the disk is fine, so that a loss is reported as such."""
    try:
        if number == 0:
            run.begin()
        run.work_until_cut()
        missing, wrong = run.check_disk()
        if not missing and not wrong:
            run.guest.boot(kernel_arguments)
            run.guest.wait("@started")
            wrong = run.problems_after_boot()
    except (AssertionError, subprocess.SubprocessError, ValueError) as error:
        return [], [repr(error)]
    return [f"lost: {each}" for each in missing], wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("arch", choices=["arm64", "armhf"])
    parser.add_argument("--cuts", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--control", choices=["normal", "lies"])
    options = parser.parse_args()
    label = f"{options.arch} {options.control or ''}".strip()
    kernel_arguments = "berth.weak=1" if options.control == "normal" else ""
    survived, caught, failed = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "state.img"
        make_disk(image)
        disk = VolatileDisk(image, folder, lies=options.control == "lies")
        run = Run(Guest(options.arch, disk, folder), image, folder, options.seed)
        try:
            run.guest.boot(kernel_arguments)
            run.guest.wait("@started")
            for number in range(options.cuts):
                began = time.monotonic()
                missing, wrong = cut_and_check(run, number, kernel_arguments)
                print(f"{label} cut {number + 1}: {len(run.created)} pods and {len(run.bound)} bindings acknowledged, "
                      f"{time.monotonic() - began:.1f} s" + "".join(f"\n    {each}" for each in (missing + wrong)[:8]), flush=True)
                if missing and options.control:
                    caught = 1
                elif missing or wrong:
                    failed += 1
                    print((Path(folder) / "console.log").read_text(errors="replace")[-3000:])
                else:
                    survived += 1
                    continue
                break
        except AssertionError as error:
            failed += 1
            print(f"{label}: {error}")
        finally:
            run.guest.cut_power()
    passed = survived
    if options.control:
        passed, failed = caught, 1 - caught
        print(f"ok     the control '{options.control}' loses acknowledged data, and the loss was detected" if caught else
              f"FAILED no loss was detected with the control '{options.control}': the test cannot detect lost data")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
