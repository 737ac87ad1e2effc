"""The safety rules of the handshake, asked of the real stores and processes of a fleet.

Stores are read one after another, so what compares them holds only once nothing moves: wait_settled(). That no pod
runs in two places holds at any moment: assert_one_place().
"""

import collections
import json
from pathlib import Path

from waiting import wait_until

Workload = collections.namedtuple("Workload", "node uid epoch pid")


def workloads(fleet_name):
    """The processes of a fleet's pods on this machine, by the tag in their environment."""
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


def assert_one_place(fleet_name):
    """S4: a pod's processes are all of one node and one epoch."""
    places = collections.defaultdict(set)
    for workload in workloads(fleet_name):
        places[workload.uid].add((workload.node, workload.epoch))
    for uid, where in places.items():
        assert len(where) == 1, f"S4: pod {uid} runs as {sorted(where)}"


def violations(rows, releases, slots):
    """What is wrong with a settled fleet. rows: {uid: Content}; releases: {key: Content}; slots: {node: {uid: Content}}."""
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
                wrong.append(f"S5: {row.value} is bound; the slot of its node is {slot and slot.value}")
    for node, of_node in slots.items():
        for uid, slot in of_node.items():
            row = rows.get(uid)
            if not (row and row.value["node"] == node) and (node, uid) not in charged:
                wrong.append(f"S7: node {node} holds pod {uid} ({slot.value['state']}), which no row or release names")
    return wrong


def read_fleet(fleet):
    """(rows, releases, slots) from the stores of a fleet."""
    with fleet.store("berthd") as gateway:
        rows, releases = gateway.records("row"), gateway.records("release")
    slots = {}
    for node in fleet.nodes():
        with fleet.store(node) as agent:
            slots[node] = agent.records("slot")
    return rows, releases, slots


def wait_settled(fleet, timeout_s=None):
    """Waits until gateway and nodes agree, and nothing waits to be released; returns the rows."""

    def settled():
        assert_one_place(fleet.name)
        rows, releases, slots = read_fleet(fleet)
        wrong = violations(rows, releases, slots) + [f"L4: to be released: {entry.value}" for entry in releases.values()]
        wrong += [f"L2: {row.value} is still in {row.phase}" for row in rows.values() if row.phase != "bound"]
        assert not wrong, "; ".join(wrong)
        return (rows,)

    return wait_until(settled, "a settled fleet", timeout_s)[0]


def sleepers(fleet_name):
    """How many processes of each pod do its work: {uid: count}. The pods of these tests end in `sleep`."""
    counts = collections.Counter()
    for workload in workloads(fleet_name):
        try:
            word = Path(f"/proc/{workload.pid}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            continue  # ended meanwhile
        counts[workload.uid] += word == "sleep"
    return {uid: count for uid, count in counts.items() if count}


def volume_violations(rows, objects):
    """What is wrong with the claims and volumes of a settled fleet. objects: {key: Content} of the gateway."""
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
                wrong.append(f"claim {name} has volume {volume}, which is claimed by {json.dumps(reference)}")
    wrong += [f"volume {volume} is claimed by {names}" for volume, names in users.items() if len(names) > 1]
    for name, volume in volumes.items():
        reference = volume["spec"].get("claimRef")
        owner = reference and f"{reference['namespace']}/{reference['name']}"
        if owner and volume.get("status", {}).get("phase") != "Released" and (
                claims.get(owner, {}).get("spec", {}).get("volumeName") != name):
            wrong.append(f"volume {name} is claimed by {owner}, which does not have it")
    for row in rows.values():
        for grant in row.value.get("volumes", ()):
            if not grant["volume"].startswith(row.value["node"] + "-"):
                wrong.append(f"pod {row.value['pod']} on {row.value['node']} has volume {grant['volume']}")
            if users.get(grant["volume"]) != [grant["claim"]]:
                wrong.append(f"pod {row.value['pod']} was given {grant}; the volume's users are {users[grant['volume']]}")
    return wrong


def wait_each_runs_once(fleet, *names, timeout_s=None):
    """Waits until these pods, and no others, run: each in one row, one slot and one process; nothing else is held by any
    node, and every volume is claimed once. Returns {name: node}."""

    def checked():
        rows = wait_settled(fleet, timeout_s=0)
        with fleet.store("berthd") as gateway:
            wrong = volume_violations(rows, gateway.records("object"))
        assert not wrong, "; ".join(wrong)
        places = {row.value["pod"].removeprefix("default/"): row.value["node"] for row in rows.values()}
        assert sorted(places) == sorted(names), f"bound are {sorted(places)}"
        expected = {uid: 1 for uid in rows}
        assert sleepers(fleet.name) == expected, f"processes {sleepers(fleet.name)}, rows {sorted(expected)}"
        return (places,)

    return wait_until(checked, f"exactly {sorted(names)} running", timeout_s)[0]
