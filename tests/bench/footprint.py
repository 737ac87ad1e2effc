"""Memory use of the programs with a real mosquitto, by number of nodes. Prints KiB from /proc/<pid>/smaps_rollup.

    tests/run bench            builds with release flags, then runs this
    BERTH_BUILD=build/release python3 tests/bench/footprint.py [NODES[:PODS]...]

One client simulates the nodes, on which pods run as soon as they are bound (devices.py). The gateway is measured when all
pods are reported as running, and again after a restart with its store.
"""

import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from broker import Broker  # noqa: E402
from devices import Devices  # noqa: E402
from fleet import Fleet  # noqa: E402
from waiting import wait_until  # noqa: E402

DEFAULT = [(10, 0), (1000, 0), (1000, 10_000), (5000, 50_000)]
LIMITS_MIB = {(1000, 10_000): 24, (5000, 50_000): 96}
REST_S = 1.5
FIELDS = ("Rss", "Pss", "Private_Dirty", "Private_Clean")


def memory(pid):
    """Memory of a process in KiB, by field."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    values = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return {**{name: values[name] for name in FIELDS}, "Private": values["Private_Dirty"]}


def cpu_ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def memory_at_rest(pid):
    """Memory of a process once it is idle: it has used no CPU time for a while."""
    spent = -1
    while spent != (spent := cpu_ticks(pid)):
        time.sleep(REST_S)
    return memory(pid)


def measure_gateway(nodes, pods):
    """Memory of a gateway that has placed the pods, and of one restarted with its store."""
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "broker").start()
        fleet = Fleet(Path(folder), broker.port)
        devices = Devices(fleet, broker.port, nodes)
        try:
            devices.join()
            gateway = fleet.start_gateway()
            devices.wait(lambda: len(devices.ready) >= nodes, f"the status of {nodes} nodes", 120)
            devices.apply_pods(pods)
            devices.wait(lambda: len(devices.running) >= pods, f"the status of {pods} pods", 1200)
            placed = memory_at_rest(gateway.pid)
            gateway.kill(signal.SIGTERM)
            devices.listed.clear()
            gateway.start()
            devices.wait(lambda: len(devices.listed) >= nodes, f"the gateway to ask {nodes} nodes for their slots", 300)
            return placed, memory_at_rest(gateway.pid)
        finally:
            devices.close()
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


def main(fleets):
    print(f"{'program':12} {'nodes':>6} {'pods':>6} {'':10} {'resident KiB':>13} {'private KiB':>12} {'proportional KiB':>17} {'limit KiB':>10}")
    rows = [("berthd", nodes, pods, *row) for nodes, pods in fleets
            for row in zip(("placed", "restarted"), measure_gateway(nodes, pods))]
    rows.append(("berth-agent", 1, 0, "", measure_agent()))
    failed = 0
    for program, nodes, pods, when, kib in rows:
        limit = LIMITS_MIB.get((nodes, pods), 0) * 1024 or "-"
        failed += limit != "-" and kib["Rss"] > limit
        print(f"{program:12} {nodes:>6} {pods:>6} {when:10} {kib['Rss']:>13} {kib['Private']:>12} {kib['Pss']:>17} {limit:>10}")
    print(f"{len(rows) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main([tuple(map(int, arg.split(":"))) if ":" in arg else (int(arg), 0) for arg in sys.argv[1:]] or DEFAULT)
