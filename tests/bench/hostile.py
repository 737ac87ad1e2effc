"""One device that lies at full speed, one lie after another: what it costs the others.

    tests/run bench            builds with release flags, then runs this
    BERTH_BUILD=build/bench python3 tests/bench/hostile.py [--seconds S] [--lie LIE]... [--folder FOLDER]

mosquitto on loopback with a memory limit of 64 MiB, berthd, one honest agent and one client that publishes lies
(tests/integration/hostile.py) as fast as the broker takes them. In the first sixth of the time the device uses up what it may
change (ten states); in the second nothing else happens, and what the store writes is flash that the device costs; then a pod
of the honest node is applied once a second, whose time ends when the status Running is at the broker.
Connections under the client ids of others are made to the embedded broker, with its limit: only there the device cannot choose.
Limits: 2 s for a pod, no flash, 8 MiB of the gateway's memory, 64 MiB of the broker's.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

import programs  # noqa: E402
from broker import Broker, Client  # noqa: E402
from device import FakeDevice  # noqa: E402
from fleet import EmbeddedFleet, Fleet  # noqa: E402
from hostile import LIES, TAKEOVER, Flood, take_over, tell  # noqa: E402
from manifests import pod  # noqa: E402
from test_liars import broker_memory, condition  # noqa: E402
from test_memory import MIB, resident  # noqa: E402
from test_status_pages import metric  # noqa: E402
from waiting import wait_until  # noqa: E402

BROKER_BYTES = 64 * MIB
SLOTS = "slots that nobody gave"  # as answers, each with another incarnation
WRITTEN = "berth_store_bytes_written_total"
LONGEST_START_S, MEMORY_BYTES = 2.0, 8 * MIB


def start_pods(fleet, watch, end):
    """Applies a pod each second until `end`; returns the seconds that each took to run. `watch`: a client that reads what
    n1 says."""
    spans = []
    while time.monotonic() < end:
        began = time.monotonic()
        fleet.apply(pod(f"pod-{len(spans)}", cpu="1m", memory="1Mi", nodeSelector={"kubernetes.io/hostname": "n1"}))
        watch.wait_latest(fleet.topic(f"nodes/n1/pods/default/pod-{len(spans)}"), lambda status: status.get("phase") == "Running")
        spans.append(time.monotonic() - began)
        time.sleep(max(0.0, min(1.0 - spans[-1], end - time.monotonic())))
    return spans


def measure_takeover(folder, seconds):
    """Likewise with the embedded broker, which alone decides on client ids: the account of n2 lies."""
    fleet = EmbeddedFleet(folder, ["n1", "n2"])
    with fleet.config.open("a", encoding="utf-8") as config:
        config.write(f"embedded_broker: {{memory_limit_bytes: {BROKER_BYTES}}}\n")
    told, watch = [], None
    try:
        fleet.start("n1", capacity={"cpu": "64", "memory": "64Gi", "pods": "500"})
        fleet.close_observer()
        watch = fleet.client("observer")
        watch.subscribe(fleet.topic("nodes/n1/pods/#"))
        memory = resident(fleet.programs["berthd"])
        end = time.monotonic() + seconds
        telling = threading.Thread(target=lambda: told.append(take_over(fleet, "n2", lambda _: time.monotonic() < end)))
        telling.start()
        flash, spans = measure_pods(fleet, watch, seconds, end)
        telling.join()
        return {"messages": sum(told), "pods": len(spans), "longest_s": max(spans), "flash": flash,
                "memory": resident(fleet.programs["berthd"]) - memory, "broker": broker_memory(fleet)}
    finally:
        if watch:
            watch.close()
        fleet.stop()


def measure_pods(fleet, watch, seconds, end):
    """Returns what the store writes while nothing else happens, and the seconds that each pod took to run."""
    time.sleep(seconds / 6)
    before = metric(fleet, WRITTEN)
    time.sleep(seconds / 6)
    return metric(fleet, WRITTEN) - before, start_pods(fleet, watch, end)


def measure(folder, lie, seconds):
    """lie: None for the idle twin. Returns the figures of one line."""
    broker = Broker(folder / "broker", config=f"memory_limit {BROKER_BYTES}\n").start()
    fleet = Fleet(folder, broker.port)
    device, telling, told, watch = None, None, [], None
    try:
        fleet.start("n1", capacity={"cpu": "64", "memory": "64Gi", "pods": "500"})
        device = (Flood if lie == SLOTS else FakeDevice)(fleet, broker.port, "liar")
        fleet.wait_node("liar")
        fleet.close_observer()  # it would keep all that the device says, and fall behind
        watch = Client(broker.port, "watch")
        watch.subscribe(fleet.topic("nodes/n1/pods/#"))
        if lie == SLOTS:  # to a new gateway the first one tells that another gateway was lost
            wait_until(lambda: condition(fleet, "liar", "Quarantined"), "the quarantine")
            fleet.ctl("adopt", "done")
        memory = resident(fleet.programs["berthd"])
        end = time.monotonic() + seconds
        if lie in LIES:
            telling = threading.Thread(target=lambda: told.append(tell(device, lie, lambda _: time.monotonic() < end)))
            telling.start()
        flash, spans = measure_pods(fleet, watch, seconds, end)
        if telling:
            telling.join()
        return {"messages": sum(told) or len(device.asked), "pods": len(spans), "longest_s": max(spans), "flash": flash,
                "memory": resident(fleet.programs["berthd"]) - memory, "broker": resident(broker.program)}
    finally:
        for client in (device, watch):
            if client:
                client.close()
        fleet.stop()
        broker.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--lie", choices=[*LIES, SLOTS, TAKEOVER], action="append", help="only this one")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    exceeded = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        before = programs.children()
        print("| lie | messages | pods | longest start, s | gateway, MiB more | flash, bytes | broker, MiB |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for number, lie in enumerate((None, *(options.lie or [*LIES, SLOTS, TAKEOVER]))):
            own = Path(folder) / str(number)
            own.mkdir()
            figures = measure_takeover(own, options.seconds) if lie == TAKEOVER else measure(own, lie, options.seconds)
            programs.end_children_since(before)
            print(f"| {lie or 'none'} | {figures['messages']:,} | {figures['pods']} | {figures['longest_s']:.2f} | "
                  f"{figures['memory'] / MIB:.1f} | {figures['flash']:.0f} | {figures['broker'] / MIB:.0f} |", flush=True)
            if (figures["longest_s"] > LONGEST_START_S or figures["flash"] or figures["memory"] > MEMORY_BYTES
                    or figures["broker"] > BROKER_BYTES):
                exceeded.append(lie or "none")
    if exceeded:
        sys.exit("beyond the limits: " + ", ".join(exceeded))


if __name__ == "__main__":
    main()
