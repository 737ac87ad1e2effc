"""The handshake's safety invariants, checked on the real stores and processes of a fleet.

Stores are read one after another, so comparisons between them are valid only once the fleet has settled:
wait_settled(). That no pod runs twice must hold at any moment: assert_one_place().
"""

import collections
import json
from pathlib import Path

from waiting import wait_until

Workload = collections.namedtuple("Workload", "node uid epoch pid")


def workloads(fleet_name):
    """The processes of a fleet's pods on this machine, found by the tag in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            members = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for member in members:
            if member.startswith(b"BERTH_TAG="):
                fleet, node, uid, epoch = member.decode().removeprefix("BERTH_TAG=").split("/")
                if fleet == fleet_name:
                    found.append(Workload(node, uid, epoch, int(entry.name)))
    return found


def keepers(fleet_name):
    """Pids of the keepers of a fleet's pods on this machine, by their tag."""
    found = collections.defaultdict(list)
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or (entry / "comm").read_text(encoding="utf-8").strip() != "berth-keeper":
                continue
            tag = (entry / "fd" / "3").read_text(encoding="utf-8")
        except OSError:
            continue
        if tag.startswith(fleet_name + "/"):
            found[tag].append(int(entry.name))
    return dict(found)


def assert_one_place(fleet_name):
    """S4: all processes of a pod belong to one node and one epoch."""
    placements = collections.defaultdict(set)
    for workload in workloads(fleet_name):
        placements[workload.uid].add((workload.node, workload.epoch))
    for uid, where in placements.items():
        assert len(where) == 1, f"S4: pod {uid} runs as {sorted(where)}"


def violations(rows, releases, slots):
    """Invariants that a settled fleet violates. rows: {uid: Content}; releases: {key: Content}; slots: {node: {uid: Content}}."""
    wrong = []
    epochs = collections.Counter(row.value["epoch"] for row in rows.values())
    wrong += [f"S2: epoch {epoch} has {count} rows" for epoch, count in epochs.items() if count > 1]
    charged = {(entry.value["node"], entry.value["uid"]) for entry in releases.values()}
    for uid in sorted({uid for of_node in slots.values() for uid in of_node}):
        running = [node for node, of_node in slots.items() if uid in of_node and of_node[uid].value["state"] == "running"]
        if len(running) > 1:
            wrong.append(f"S4: pod {uid} runs on {running}")
    for uid, row in rows.items():
        slot = slots.get(row.value["node"], {}).get(uid)
        if row.phase == "bound" and row.value["node"] in slots:
            if slot is None or slot.value["epoch"] != row.value["epoch"] or slot.value["state"] not in ("running",
                                                                                                        "finished"):
                wrong.append(f"S5: row {row.value} is bound, but its node's slot is {slot and slot.value}")
    for node, of_node in slots.items():
        for uid, slot in of_node.items():
            row = rows.get(uid)
            if not (row and row.value["node"] == node) and (node, uid) not in charged:
                wrong.append(f"S7: node {node} has a slot for pod {uid} ({slot.value['state']}) without a row or release entry")
    return wrong


def read_fleet(fleet):
    """Returns (rows, releases, slots) from the stores of a fleet."""
    with fleet.store("berthd") as gateway:
        rows, releases = gateway.records("row"), gateway.records("release")
    slots = {}
    for node in fleet.nodes():
        with fleet.store(node) as agent:
            slots[node] = agent.records("slot")
    return rows, releases, slots


def wait_settled(fleet, timeout_s=None):
    """Waits until gateway and nodes agree and no release is pending; returns the rows."""

    def settled():
        assert_one_place(fleet.name)
        rows, releases, slots = read_fleet(fleet)
        wrong = violations(rows, releases, slots) + [f"L4: release pending: {entry.value}" for entry in releases.values()]
        wrong += [f"L2: row {row.value} is still in {row.phase}" for row in rows.values() if row.phase != "bound"]
        assert not wrong, "; ".join(wrong)
        return (rows,)

    return wait_until(settled, "a settled fleet", timeout_s)[0]


def sleepers(fleet_name):
    """The number of running `sleep` processes per pod, {uid: count}: all pods of these tests end in `sleep`."""
    counts = collections.Counter()
    for workload in workloads(fleet_name):
        try:
            comm = Path(f"/proc/{workload.pid}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            continue  # it has exited
        counts[workload.uid] += comm == "sleep"
    return {uid: count for uid, count in counts.items() if count}


def volume_violations(rows, objects):
    """Inconsistencies of claims and volumes in a settled fleet. objects: {key: Content} of the gateway."""
    wrong = []
    kinds = collections.defaultdict(dict)
    for key, content in objects.items():
        kind, _, name = key.partition("/")
        kinds[kind][name] = content.value.get("manifest", content.value)
    claims, volumes = kinds["persistentvolumeclaims"], kinds["persistentvolumes"]
    users = collections.defaultdict(list)
    for name, claim in claims.items():
        if volume := claim["spec"].get("volumeName"):
            users[volume].append(name)
            reference = volumes.get(volume, {}).get("spec", {}).get("claimRef", {})
            if f"{reference.get('namespace')}/{reference.get('name')}" != name:
                wrong.append(f"claim {name} is bound to volume {volume}, whose claimRef is {json.dumps(reference)}")
    wrong += [f"volume {volume} is bound to several claims: {names}" for volume, names in users.items() if len(names) > 1]
    for name, volume in volumes.items():
        reference = volume["spec"].get("claimRef")
        owner = reference and f"{reference['namespace']}/{reference['name']}"
        if owner and volume.get("status", {}).get("phase") != "Released" and (
                claims.get(owner, {}).get("spec", {}).get("volumeName") != name):
            wrong.append(f"volume {name} has a claimRef to {owner}, which is not bound to it")
    for row in rows.values():
        for bound in row.value.get("volumes", ()):
            if not bound["volume"].startswith(row.value["node"] + "-"):
                wrong.append(f"pod {row.value['pod']} on {row.value['node']} uses volume {bound['volume']} of another node")
            if users.get(bound["volume"]) != [bound["claim"]]:
                wrong.append(f"the row of pod {row.value['pod']} binds {bound}; claims bound to it: {users[bound['volume']]}")
    return wrong


def wait_each_runs_once(fleet, *names, timeout_s=None):
    """Waits until exactly these pods run, each with one row, one slot and one process, until no node holds anything else
    and every volume is bound to one claim at most. Returns {name: node}."""

    def checked():
        rows = wait_settled(fleet, timeout_s=0)
        with fleet.store("berthd") as gateway:
            wrong = volume_violations(rows, gateway.records("object"))
        assert not wrong, "; ".join(wrong)
        nodes = {row.value["pod"].removeprefix("default/"): row.value["node"] for row in rows.values()}
        assert sorted(nodes) == sorted(names), f"bound pods: {sorted(nodes)}"
        expected = {uid: 1 for uid in rows}
        assert sleepers(fleet.name) == expected, f"processes {sleepers(fleet.name)}, rows {sorted(expected)}"
        return (nodes,)

    return wait_until(checked, f"exactly {sorted(names)} to run", timeout_s)[0]
