"""Latency of a single pod with real processes, from an operator's request until it runs, beside what the hardware allows.

    tests/run bench            builds with release flags, then runs this
    BERTH_BUILD=build/release python3 tests/bench/lone.py [--pods N] [--folder FOLDER]

mosquitto on loopback, berthd, berth-agent, a request as sent by berthctl (the API), and an observer that receives the answer and
the statuses from the broker. Pods are applied one after another, each when gateway and device have published the final status of
the one before. For comparison, in the same run: plain QoS 1 round trips between the same two clients, plain syncs of 4 KiB, and
plain starts of the same workload.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

import programs  # noqa: E402
from broker import Broker, Client  # noqa: E402
from fleet import Fleet  # noqa: E402
from manifests import pod  # noqa: E402
from mqtt_packets import messages_of  # noqa: E402
from paho.mqtt.packettypes import PacketTypes  # noqa: E402
from paho.mqtt.properties import Properties  # noqa: E402

WORKLOAD = ("sleep", "100000")
PAUSE_S = 0.005  # between two pods, as in the reference's serial figures: trailing work must not count for the next pod
CTL_PODS = 20


class Observer(Client):
    """Records when each message arrived. It shares two cores with what is measured, so it does nothing else meanwhile, and
    wakes nobody before what is waited for has come."""

    def __init__(self, *args, **more):
        self.came = {}  # by topic: [(time, payload)]
        self.awaited = ()  # (topic, part) of the messages that first() waits for
        super().__init__(*args, **more)

    def on_message_(self, client, userdata, received):
        topic, payload = received.topic, received.payload
        self.came.setdefault(topic, []).append((time.perf_counter(), payload))
        if any(topic == awaited and part in payload for awaited, part in self.awaited):
            with self.changed:
                self.changed.notify_all()

    def first(self, topic, *parts):
        """Waits for the first message on the topic that contains all of `parts`; returns its time of arrival."""
        found = []

        def seen():
            found[:] = [at for at, payload in self.came.get(topic, []) if all(part in payload for part in parts)]
            return bool(found)

        self.awaited = ((topic, parts[0] if parts else b""),)
        self.wait(seen, f"{parts} on {topic}")
        return found[0]


def spans_of_pod(fleet, sender, observer, name, number):
    """Seconds from the request to each stage."""
    answers = fleet.topic("clients/operator/answers")
    properties = Properties(PacketTypes.PUBLISH)
    properties.ResponseTopic, properties.CorrelationData = answers, str(number).encode()
    manifest = pod(name, WORKLOAD, cpu="1m", memory="1Mi")
    manifest["metadata"]["uid"] = uid = str(uuid.uuid4())
    request = json.dumps({"op": "apply", "object": manifest})
    answered = len(observer.came.get(answers, []))
    running = fleet.topic(f"nodes/n1/pods/default/{name}")
    observer.awaited = ((running, b'"Running"'),)
    began = time.perf_counter()
    sender.paho.publish(fleet.topic("gateways/gw/api"), request, 1, False, properties)
    running = observer.first(running, b'"Running"')
    observer.first(fleet.topic(f"status/pods/default/{name}"), b'"Running"')
    observer.awaited = ((answers, b""),)
    observer.wait(lambda: len(observer.came.get(answers, [])) > answered, f"the answer about {name}")
    accepted, payload = observer.came[answers][answered]
    assert json.loads(payload)["ok"], payload
    stages = {"accepted, durable": accepted}
    requests = fleet.topic("nodes/n1/requests")
    stages["PreBind"] = observer.first(requests, b'"preBind"', uid.encode())
    asked = next(payload for at, payload in observer.came[requests] if at == stages["PreBind"])
    epoch = next(each["epoch"] for each in messages_of(json.loads(asked)) if each.get("uid") == uid)
    for topic, kind, member in (("gateways/gw/answers/n1", "PreBound", "preBound"), ("nodes/n1/requests", "Bind", "bind"),
                                ("gateways/gw/answers/n1", "Bound", "bound")):
        stages[kind] = observer.first(fleet.topic(topic), f'"{member}":"{epoch}"'.encode())
    return {what: at - began for what, at in {**stages, "Running reported": running}.items()}


def spans_of_ctl(fleet, observer, number):
    name = f"ctl-{number}"
    began = time.perf_counter()
    fleet.apply(pod(name, WORKLOAD, cpu="1m", memory="1Mi"))
    applied = time.perf_counter()
    running = observer.first(fleet.topic(f"nodes/n1/pods/default/{name}"), b'"Running"')
    return {"berthctl apply ends": applied - began, "berthctl apply to Running": running - began}


def round_trip(fleet, sender, observer, number):
    topic = fleet.topic(f"clients/operator/bare-{number}")
    began = time.perf_counter()
    sender.paho.publish(topic, b"x" * 300, 1)
    return observer.first(topic) - began


def bare_syncs(folder, count):
    """Seconds to append 4 KiB to a file and fdatasync it."""
    spans = []
    file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(count):
        began = time.perf_counter()
        os.write(file, b"x" * 4096)
        os.fdatasync(file)
        spans.append(time.perf_counter() - began)
    os.close(file)
    return spans


def bare_start():
    """Seconds until the workload's program has been started (exec)."""
    began = time.perf_counter()
    process = subprocess.Popen(WORKLOAD, stdin=subprocess.DEVNULL, start_new_session=True)  # pylint: disable=consider-using-with
    span = time.perf_counter() - began
    process.kill()
    process.wait()
    return span


def pause():
    time.sleep(PAUSE_S)


def measure(folder, pods):
    """Returns [(stage, seconds)] in the order of printing."""
    # It logs little, as the one that berthd runs.
    broker = Broker(folder / "broker", config="log_type none\nlog_type error\nlog_type information\n").start()
    fleet = Fleet(folder, broker.port)
    sender = observer = None
    try:
        fleet.start("n1", capacity={"cpu": "64", "memory": "64Gi", "pods": str(pods + CTL_PODS + 10)})
        sender = Client(broker.port, "operator", protocol=5)
        observer = Observer(broker.port, "watcher")
        for topic in ("nodes/n1/requests", "gateways/gw/answers/n1", "nodes/n1/pods/#", "status/pods/#", "clients/operator/#"):
            observer.subscribe(fleet.topic(topic))
        seen, trips = [], []
        for number in range(pods):
            pause()
            seen.append(spans_of_pod(fleet, sender, observer, f"lone-{number}", number))
            trips.append(round_trip(fleet, sender, observer, number))
        by_ctl = []
        for number in range(CTL_PODS):
            pause()
            by_ctl.append(spans_of_ctl(fleet, observer, number))
        rows = [(what, [spans[what] for spans in seen]) for what in seen[0]]
        rows += [(what, [spans[what] for spans in by_ctl]) for what in by_ctl[0]]
        rows.append(("bare round trip, QoS 1", trips))
    finally:
        for client in (sender, observer):
            if client:
                client.close()
        fleet.stop()
        broker.stop()
    rows.append(("bare sync of 4 KiB", bare_syncs(folder, pods)))
    rows.append(("bare start of the workload", [bare_start() for _ in range(pods)]))
    return rows


def quantile(spans, part):
    return sorted(spans)[int((len(spans) - 1) * part)]


def main():
    parser = argparse.ArgumentParser(description="Measures the latency of a single pod with real processes.")
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=programs.build_folder(), help="a folder on the disk to measure; /tmp may be in memory")
    given = parser.parse_args()
    programs.adopt_orphans()
    before = programs.children()
    try:
        with tempfile.TemporaryDirectory(prefix="lone-", dir=given.folder) as folder:
            rows = measure(Path(folder), given.pods)
    finally:
        programs.end_children_since(before)
    print(f"{'from the request to':28} {'count':>6} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8}")
    for what, spans in rows:
        values = " ".join(f"{quantile(spans, part) * 1e3:>8.2f}" for part in (0.5, 0.99, 1))
        print(f"{what:28} {len(spans):>6} {values}")
    print(f"{len(rows)} passed, 0 failed")


if __name__ == "__main__":
    main()
