"""Reads the stores from a machine's disk after a power cut, and checks them.

A cut stops gateway, devices and broker at the same moment, so the handshake's invariants hold between the stores
immediately, not only once the fleet has settled. S1-S5, S7, S8, S10 and S11 are checked here; S6, S9 and S12 concern
messages and caches and are checked by tests/sim.
"""

import shutil
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from invariants import violations, volume_violations  # noqa: E402
from stores import Database  # noqa: E402

DEVICES = ("edge-a", "edge-b")
STORES = {"gateway": "gateway/gateway.db", **{node: f"{node}/agent.db" for node in DEVICES}}
CAPACITY = {"cpu": 2000, "memory": 256, "pods": 64}  # of each device, in cross/guest-init: millicores, MiB
UNITS = {"cpu": {"m": 1, "": 1000}, "memory": {"Mi": 1, "Gi": 1024}}


class Damaged(Exception):
    """A store cannot be read, so everything acknowledged in it is lost."""


@dataclass
class Stores:
    objects: dict = field(default_factory=dict)
    rows: dict = field(default_factory=dict)
    releases: dict = field(default_factory=dict)
    slots: dict = field(default_factory=dict)  # by device
    highs: dict = field(default_factory=dict)  # by device: the highest epoch of each pod

    def pods(self):
        """Manifests by name."""
        return {key.rpartition("/")[2]: content.value["manifest"] for key, content in self.objects.items()
                if key.startswith("pods/")}


def dump(image, path, target):
    target.unlink(missing_ok=True)
    subprocess.run(["debugfs", "-R", f"dump /{path} {target}", image], capture_output=True, check=False)
    if target.exists() and not target.stat().st_size:
        target.unlink()


def read_stores(image, folder):
    """Reads the stores from a copy of the disk after replaying its journal, as the next boot would. Raises Damaged."""
    folder = Path(folder) / "stores"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    copy = folder / "disk.img"
    subprocess.run(["cp", "--sparse=always", image, copy], check=True)
    subprocess.run(["e2fsck", "-y", "-E", "journal_only", copy], capture_output=True, check=False)
    found = Stores()
    for name, path in STORES.items():
        target = folder / name
        target.mkdir()
        for suffix in ("", "-wal"):
            dump(copy, path + suffix, target / (Path(path).name + suffix))
        database = target / Path(path).name
        if not database.exists():
            raise Damaged(f"{path} is missing")
        with sqlite3.connect(database) as opened:
            if (result := opened.execute("pragma integrity_check").fetchone()[0]) != "ok":
                raise Damaged(f"{path}: {result}")
        opened.close()
        with Database(database) as store:
            if "journal" not in store.tables():
                raise Damaged(f"{path} is empty")
            if name == "gateway":
                found.objects, found.rows = store.records("object"), store.records("row")
                found.releases = store.records("release")
            else:
                found.slots[name], found.highs[name] = store.records("slot"), store.records("high")
    return found


def epoch_number(text):
    return tuple(map(int, text.split(".")))


def amount(resource, text):
    digits = text.rstrip("Mmig" + "G")
    return int(digits) * UNITS[resource][text[len(digits):]]


def charged(slot):
    state = slot.value["state"]
    return state != "finished" and not (state == "stopping" and slot.value.get("finishedBeforeStop"))


class Rules:
    """Checks the stores after each cut; remembers the epochs seen so far."""

    def __init__(self):
        self.placements = {}  # epoch -> (pod, node)
        self.highs = {}  # (node, pod) -> epoch

    def violations(self, stores):
        return (self.epochs(stores) + bindings(stores) + violations(stores.rows, stores.releases, stores.slots)
                + capacities(stores) + orphan_rows(stores) + volume_violations(stores.rows, stores.objects))

    def epochs(self, stores):
        """S1, S2: an epoch always identifies the same placement, and new epochs are higher than all earlier ones."""
        wrong = []
        newest = max(self.placements, default=(0, 0))
        now = {epoch_number(row.value["epoch"]): (uid, row.value["node"]) for uid, row in stores.rows.items()}
        for entry in stores.releases.values():
            now[epoch_number(entry.value["epoch"])] = (entry.value["uid"], entry.value["node"])
        for epoch, placement in now.items():
            before = self.placements.get(epoch)
            if before is None and epoch <= newest:
                wrong.append(f"S1: new epoch {epoch} of {placement} is not above {newest}")
            if before not in (None, placement):
                wrong.append(f"S2: epoch {epoch} was {before} and is now {placement}")
        self.placements.update(now)
        for node, highs in stores.highs.items():
            for uid, content in highs.items():
                high = epoch_number(content.value["value"])
                if high < self.highs.get((node, uid), high):
                    wrong.append(f"S1: {node} lost epoch {self.highs[node, uid]} of pod {uid}; its highest is now {high}")
                self.highs[node, uid] = high
        return wrong


def bindings(stores):
    """S3: a pod starts on Bind, which is sent only once the row is in phase bind."""
    wrong = []
    for node, slots in stores.slots.items():
        for uid, slot in slots.items():
            row = stores.rows.get(uid)
            same = row and row.value["node"] == node and row.value["epoch"] == slot.value["epoch"]
            if slot.value["state"] == "running" and same and row.phase == "prebind":
                wrong.append(f"S3: pod {uid} runs on {node}, but its row is in prebind")
    return wrong


def capacities(stores):
    """S8: no device has admitted more than its capacity."""
    wrong = []
    for node, slots in stores.slots.items():
        used = {"cpu": 0, "memory": 0, "pods": 0}
        for slot in filter(charged, slots.values()):
            used["pods"] += 1
            for container in slot.value["pod"]["spec"]["containers"]:
                for resource, text in container["resources"]["requests"].items():
                    used[resource] += amount(resource, text)
        wrong += [f"S8: {node} admitted {used[each]} of {each}, capacity is {CAPACITY[each]}" for each in used
                  if used[each] > CAPACITY[each]]
    return wrong


def orphan_rows(stores):
    """S10: a row without a pod object must be in phase release."""
    uids = {manifest["metadata"]["uid"] for manifest in stores.pods().values()}
    return [f"S10: row {row.value} has no pod object and is in {row.phase}" for uid, row in stores.rows.items()
            if uid not in uids and row.phase != "release"]


def lost(stores, created, bound):
    """S11: acknowledged data that is not on the disk. created: names of pods; bound: {name: (node, uid)}."""
    pods = stores.pods()
    found = [f"pod {name}" for name in sorted(created) if name not in pods]
    for name, (node, uid) in sorted(bound.items()):
        row, slot = stores.rows.get(uid), stores.slots[node].get(uid)
        if not row or row.phase != "bound" or row.value["node"] != node:
            found.append(f"binding of {name} to {node} on the gateway (found {row and (row.phase, row.value['node'])})")
        if not slot or slot.value["state"] != "running":
            found.append(f"binding of {name} to {node} on the device (found {slot and slot.value['state']})")
    return found
