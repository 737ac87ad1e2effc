"""tests/qemu/power_cuts.py ARCH [--cuts N] [--seed S] [--control normal|lies]: cuts the guest's power at random moments
while pods are bound and released, on a disk whose write cache is lost with it; boots again and compares.

After every cut the stores are read from the disk as it lies there, and must hold what was acknowledged and the handshake's
rules (stores_after_cut.py). Then the machine boots: what was reported running runs again, on the same device and once, what
was deleted stays away.
A control weakens one part on purpose and must lose what was acknowledged: normal = SQLite without a sync per commit, lies = a
disk that says it flushed. Nothing else counts as caught. Its last line is "N passed, N failed"."""

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

# The tag of every process that does a pod's work: all of them end in `sleep`.
TAGS = ("for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = sleep ] && tr '\\0' '\\n' <$p/environ 2>/dev/null"
        " | grep ^BERTH_TAG=; done")
FULL = 24  # pods from which on more are deleted than applied: two devices of two cores hold 40
SETTLE_S = 120
ANSWER_S = 8  # ordinary answers take tenths of one; a machine without power never answers


class Run:
    def __init__(self, guest, image, folder, seed):
        self.guest, self.image, self.folder = guest, Path(image), Path(folder)
        self.random = random.Random(seed)
        self.rules = Rules()
        # Acknowledged: pods that were taken, pods whose deletion was, and the (node, uid) of pods reported running.
        self.created, self.deleted, self.bound = set(), set(), {}
        self.next = 0

    def begin(self):
        apply(self.guest, *STORAGE, pod("sensor", "log"))
        self.created.add("sensor")
        wait_running(self.guest, ["sensor"])
        self.note_bound()

    def work_until_cut(self):
        """Applies and deletes pods; the power goes in the midst of it."""
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
        # A line for each object that the gateway took.
        self.created |= {name for name in names if f"/{name} " in answer.stdout}

    def delete(self, name):
        self.created.discard(name)  # from here on either answer is right
        self.bound.pop(name, None)
        if self.ctl("delete", "pod", name).returncode == 0:
            self.deleted.add(name)

    def note_bound(self):
        for name, (phase, *place) in (self.seen() or {}).items():
            if phase == "Running" and name in self.created:
                self.bound[name] = tuple(place)

    def ctl(self, *arguments, stdin=None):
        """An answer that had arrived when the power went counts: it was sent. Who waits for one then, waits in vain."""
        return self.guest.ctl(*arguments, stdin=stdin, check=False, timeout_s=ANSWER_S)

    def seen(self):
        """(phase, node, uid) by name; None without an answer, which is not the same as no pods."""
        shown = self.ctl("get", "pods", "-o", "json")
        if shown.returncode:
            return None
        return {item["metadata"]["name"]: (item.get("status", {}).get("phase"), item["spec"].get("nodeName"),
                                           item["metadata"]["uid"]) for item in json.loads(shown.stdout)["items"]}

    def look_at_disk(self):
        """(what was acknowledged and is lost, what breaks a rule)."""
        try:
            stores = read_stores(self.image, self.folder)
        except Damaged as error:
            return [str(error)], []
        return lost(stores, self.created, self.bound), self.rules.violations(stores)

    def problems_after_boot(self):
        """What the operator sees once everything has settled."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            seen = self.seen()
            found = ["the gateway does not answer"] if seen is None else self.differences(seen)
            if not found:
                break
            if time.monotonic() > deadline:
                return found
            time.sleep(0.2)
        places = collections.defaultdict(list)
        for line in self.guest.run(TAGS):
            if "BERTH_TAG=" in line:
                fleet, node, uid, epoch = line.rpartition("BERTH_TAG=")[2].split("/")
                places[uid].append(f"{node} {epoch}")
        return [f"pod {uid} runs as {where}" for uid, where in places.items() if len(where) > 1]

    def differences(self, seen):
        gone = sorted(self.created - set(seen))
        moved = sorted(name for name, place in self.bound.items() if seen.get(name) != ("Running", *place))
        undead = sorted(self.deleted & set(seen))
        return ([f"acknowledged and gone: {gone}"] * bool(gone) + [f"ran and runs no more, or elsewhere: {moved}"] * bool(moved)
                + [f"deleted and there: {undead}"] * bool(undead))


def cut_and_look(run, number, words):
    """One cut: (lost, wrong). The next boot comes only when the disk was well, so that what was lost is told as such."""
    try:
        if number == 0:
            run.begin()
        run.work_until_cut()
        missing, wrong = run.look_at_disk()
        if not missing and not wrong:
            run.guest.boot(words)
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
    words = "berth.weak=1" if options.control == "normal" else ""
    survived, caught, failed = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "state.img"
        make_disk(image)
        disk = VolatileDisk(image, folder, lies=options.control == "lies")
        run = Run(Guest(options.arch, disk, folder), image, folder, options.seed)
        try:
            run.guest.boot(words)
            run.guest.wait("@started")
            for number in range(options.cuts):
                began = time.monotonic()
                missing, wrong = cut_and_look(run, number, words)
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
        print(f"ok     the control '{options.control}' loses what was acknowledged, and it is seen" if caught else
              f"FAILED the control '{options.control}' was not caught by a loss: the harness is blind")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
