"""Memory of the programs beside a real mosquitto, by number of nodes. Prints KiB from /proc/<pid>/smaps_rollup.

    tests/run bench            builds with the flags of a release, then runs this
    BERTH_BUILD=build/release python3 tests/bench/footprint.py [NODES...]

The nodes of the table are simulated by one client: state and presence of each, as transports/README.md says.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from broker import Broker  # noqa: E402
from fleet import Fleet  # noqa: E402
from waiting import wait_until  # noqa: E402

FIELDS = ("Rss", "Pss", "Private_Dirty", "Private_Clean")


def memory(pid):
    """KiB by name, of one process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    values = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return {**{name: values[name] for name in FIELDS}, "Private": values["Private_Dirty"]}


def state(node):
    return {"name": node, "incarnation": f"inc-{node}", "bootId": "boot", "session": "1", "sequence": "1",
            "heartbeatMs": "3600000", "labels": {"zone": node[-1]}, "taints": [], "volumes": [],
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}


def measure_gateway(nodes):
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "broker").start()
        fleet = Fleet(Path(folder), broker.port)
        try:
            for number in range(nodes):
                name = f"node-{number:05}"
                fleet.observer.paho.publish(fleet.topic(f"nodes/{name}/state"), json.dumps(state(name)), 1, True)
                presence = {"incarnation": f"inc-{name}", "bootId": "boot", "session": "1", "online": True}
                fleet.observer.publish(fleet.topic(f"nodes/{name}/presence"), presence, retain=True)
            fleet.start_gateway()
            told = fleet.topic("status/nodes/")

            def all_known():
                ready = [t for t, p in list(fleet.observer.latest.items()) if t.startswith(told) and b'"True"' in p]
                return len(ready) >= nodes

            wait_until(all_known, f"the status of {nodes} nodes", 120)
            return memory(fleet.programs["berthd"].pid)
        finally:
            fleet.stop()
            broker.stop()


def measure_agent():
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "broker").start()
        fleet = Fleet(Path(folder), broker.port)
        try:
            fleet.start_gateway()
            fleet.start_agent("n1")
            wait_until(lambda: fleet.observer.value(fleet.topic("nodes/n1/presence")), "the agent")
            return memory(fleet.programs["n1"].pid)
        finally:
            fleet.stop()
            broker.stop()


def main(counts):
    print(f"{'program':12} {'nodes':>6} {'resident KiB':>13} {'private KiB':>12} {'proportional KiB':>17}")
    rows = [("berthd", nodes, measure_gateway(nodes)) for nodes in counts]
    rows.append(("berth-agent", 1, measure_agent()))
    for program, nodes, kib in rows:
        print(f"{program:12} {nodes:>6} {kib['Rss']:>13} {kib['Private']:>12} {kib['Pss']:>17}")
    print(f"{len(rows)} passed, 0 failed")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [10, 1000])
