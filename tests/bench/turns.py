"""Measures the longest turn of the gateway's event loop: the real berthd and a real mosquitto under maximum load.

    tests/run bench            builds with release flags, then runs this
    BERTH_BUILD=build/release python3 tests/bench/turns.py [NODES [PODS]]

One client simulates all nodes and the operator (devices.py), and publishes as fast as the broker accepts. The length of a turn
is CPU time as measured by berthd itself (berth_turn_duration_seconds), without waiting for the disk, which is in
berth_commit_wait_seconds. p50 and p99 are upper bounds of histogram buckets; turns over 50 ms are logged with
their length, so the longest one is known.
"""

import re
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from broker import Broker  # noqa: E402
from devices import Devices, manifest  # noqa: E402
from fleet import Fleet  # noqa: E402
from waiting import wait_until  # noqa: E402

PATIENCE_S = 900


class Crowd(Devices):
    """Reconnects by itself, with all nodes at once."""

    def on_connect_(self, code):
        super().on_connect_(code)
        if self.listed:
            self.paho.subscribe(self.fleet.topic("nodes/+/requests"), 1)
            self.join()

    def apply_misfits(self, pods):
        for number in range(pods):
            pod = manifest(f"misfit-{number:06}")
            pod["spec"]["nodeSelector"] = {"nowhere": str(number % 100)}
            self.publish_json(f"desired/pods/default/{pod['metadata']['name']}", pod, retain=True)


def metrics(fleet):
    """The metrics page by sample. Limited to one request per second, since each takes a turn itself."""
    threading.Event().wait(1)
    address = (fleet.state_dir("berthd") / "http").read_text(encoding="utf-8").strip()
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=120) as page:
        lines = page.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def buckets(values, name):
    """Cumulative counts by upper bound."""
    found = {key: value for key, value in values.items() if key.startswith(name + "_bucket")}
    return {re.search(r'le="(.*?)"', key)[1]: value for key, value in found.items()}


def quantile(counts, share):
    total = counts["+Inf"]
    return next((end for end, count in counts.items() if count >= share * total), "+Inf")


class Watch:
    """The increase of berthd's metrics since its construction."""

    def __init__(self, fleet):
        self.fleet, self.before = fleet, metrics(fleet)
        self.logged = len(fleet.programs["berthd"].output())

    def row(self, name):
        now, cells = metrics(self.fleet), [f"{name:34}"]
        for histogram in ("berth_turn_duration_seconds", "berth_commit_wait_seconds"):
            before = buckets(self.before, histogram)
            counts = {end: count - before.get(end, 0) for end, count in buckets(now, histogram).items()}
            cells.append(f"{int(counts['+Inf']):>8} {quantile(counts, 0.5):>8} {quantile(counts, 0.99):>8} "
                         f"{quantile(counts, 1):>8}")
        output = self.fleet.programs["berthd"].output()[self.logged:]
        long = [(int(a) + int(b), int(a), int(b)) for a, b in re.findall(r"long turn.*handlers_us=(\d+) finish_us=(\d+)", output)]
        worst = "{:.1f} ms ({:.1f} in handlers)".format(max(long)[0] / 1e3, max(long)[1] / 1e3) if long else "-"
        print(" ".join(cells), f"{len(long):>6}  {worst}", flush=True)


def bound(fleet):
    return metrics(fleet).get('berth_rows{phase="bound"}', 0)


def main(nodes=5000, pods=20000):
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "broker").start()
        fleet = Fleet(Path(folder), broker.port)
        try:
            fleet.start_gateway(extra=["--log-level", "info"])
            wait_until(lambda: (fleet.state_dir("berthd") / "http").exists(), "the status pages")
            print(f"{'seconds':34} {'turns':>8} {'p50':>8} {'p99':>8} {'max':>8} {'commits':>8} {'p50':>8} {'p99':>8} {'max':>8}"
                  f" {'>50 ms':>6}  longest")
            watch = Watch(fleet)
            crowd = Crowd(fleet, broker.port, nodes)
            crowd.paho.reconnect_delay_set(1, 1)
            crowd.join()
            wait_until(lambda: metrics(fleet).get('berth_nodes{state="ready"}', 0) >= nodes, "the nodes", PATIENCE_S)
            watch.row(f"{nodes} nodes join")

            watch = Watch(fleet)
            crowd.apply_pods(pods)
            wait_until(lambda: bound(fleet) >= pods, "the pods", PATIENCE_S)
            watch.row(f"{pods} pods are applied and bound")

            watch = Watch(fleet)
            misfits = pods // 20  # each is tried on every node, preemption included
            crowd.apply_misfits(misfits)
            wait_until(lambda: metrics(fleet).get('berth_objects{kind="Pod"}', 0) >= pods + misfits and
                       metrics(fleet).get('scheduler_pending_pods{queue="active"}', 1) == 0, "the attempts to schedule them", PATIENCE_S)
            watch.row(f"{misfits} pods that fit nowhere")

            watch = Watch(fleet)
            broker.kill()
            broker.start()
            wait_until(lambda: metrics(fleet).get("berth_ready", 0) == 1 and
                       metrics(fleet).get("berth_broker_connections_total", 0) == 2, "the connection", PATIENCE_S)
            watch.row("all reconnect to an empty broker")
            crowd.close()
        finally:
            fleet.stop()
            broker.stop()
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main(*[int(argument) for argument in sys.argv[1:]])
