"""Latency of a single pod with real processes, from an operator's request until it runs, beside what the hardware allows.

    tests/run bench            builds with release flags, then runs this
    BERTH_BUILD=build/release python3 tests/bench/lone.py [--pods N] [--folder FOLDER] [--containers]

mosquitto on loopback, berthd, berth-agent, a request as sent by berthctl (the API), and an observer that receives the answer and
the statuses from the broker. Pods are applied one after another, each when gateway and device have published the final status of
the one before. For comparison, in the same run: plain QoS 1 round trips between the same two clients, plain syncs of 4 KiB, and
plain starts of the same workload. --containers (as root): pods are containers of an image that the device has, in the machine's
network; beside them, the OCI runtime alone starts the same program in the same files.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

import images  # noqa: E402
import programs  # noqa: E402
from broker import Broker, Client  # noqa: E402
from fleet import Fleet  # noqa: E402
from manifests import pod  # noqa: E402
from mqtt_packets import messages_of  # noqa: E402
from paho.mqtt.packettypes import PacketTypes  # noqa: E402
from paho.mqtt.properties import Properties  # noqa: E402

WORKLOAD = ("sleep", "100000")
PAUSE_S = 0.03  # between two pods: trailing work, such as the agent's preparation for the next pod, must not count for that one
LOOK_S = 0.005  # between two looks at what the observer wrote
CTL_PODS = 20
LONGEST_S = 60  # for one stage
OBSERVED = ("nodes/n1/requests", "gateways/gw/answers/n1", "nodes/n1/pods/#", "status/pods/#", "clients/operator/#")


class Observer:
    """Notes when each message arrived. It is mosquitto_sub that writes a file, since it shares two cores with what is
    measured: a client in Python, woken for each message, took a third of a pod's time."""

    def __init__(self, port, topics, folder):
        self.file = folder / "messages"
        argv = ["stdbuf", "-oL", "mosquitto_sub", "-p", str(port), "-F", r"%U\t%t\t%p"]
        with self.file.open("wb") as output:
            self.process = subprocess.Popen([*argv, *(word for topic in topics for word in ("-t", topic))], stdout=output)
        self.came = {}  # by topic: [(seconds since 1970, payload)]
        self.read = 0

    def look(self):
        with self.file.open("rb") as file:
            file.seek(self.read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.read += len(line)
                at, topic, payload = line.rstrip(b"\n").split(b"\t", 2)
                self.came.setdefault(topic.decode(), []).append((float(at), payload))

    def wait(self, seen, what):
        """Looks every few milliseconds until seen() returns something, and returns that."""
        deadline = time.monotonic() + LONGEST_S
        while not (found := seen()):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {LONGEST_S} s for {what}")
            time.sleep(LOOK_S)
            self.look()
        return found

    def first(self, topic, *parts):
        """Waits for the first message on the topic that contains all of `parts`; returns its time of arrival."""
        return self.wait(lambda: next((at for at, payload in self.came.get(topic, []) if all(part in payload for part in parts)), 0),
                         f"{parts} on {topic}")

    def close(self):
        self.process.terminate()
        self.process.wait()


def lone_pod(name, image):
    made = pod(name, WORKLOAD, cpu="1m", memory="1Mi")
    if image:
        made["spec"]["hostNetwork"] = True
        made["spec"]["containers"][0]["image"] = image
    return made


def spans_of_pod(fleet, sender, observer, made, number):
    """Seconds from the request to each stage."""
    answers = fleet.topic("clients/operator/answers")
    properties = Properties(PacketTypes.PUBLISH)
    properties.ResponseTopic, properties.CorrelationData = answers, str(number).encode()
    name = made["metadata"]["name"]
    made["metadata"]["uid"] = uid = str(uuid.uuid4())
    request = json.dumps({"op": "apply", "object": made})
    answered = len(observer.came.get(answers, []))
    began = time.time()
    sender.paho.publish(fleet.topic("gateways/gw/api"), request, 1, False, properties)
    running = observer.first(fleet.topic(f"nodes/n1/pods/default/{name}"), b'"Running"')
    observer.first(fleet.topic(f"status/pods/default/{name}"), b'"Running"')
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


def spans_of_ctl(fleet, observer, made):
    name = made["metadata"]["name"]
    began = time.time()
    fleet.apply(made)
    applied = time.time()
    running = observer.first(fleet.topic(f"nodes/n1/pods/default/{name}"), b'"Running"')
    return {"berthctl apply ends": applied - began, "berthctl apply to Running": running - began}


def round_trip(fleet, sender, observer, number):
    topic = fleet.topic(f"clients/operator/bare-{number}")
    began = time.time()
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


def bare_container(folder, number):
    """Seconds that the OCI runtime needs by itself to start the workload, in a bundle of its own."""
    bundle = folder / f"bundle-{number}"
    (bundle / "rootfs" / "bin").mkdir(parents=True)
    shutil.copy(images.BUSYBOX, bundle / "rootfs" / "bin" / WORKLOAD[0])
    subprocess.run(["runc", "spec", "--bundle", bundle], check=True)
    spec = json.loads((bundle / "config.json").read_text())
    spec["process"].update(terminal=False, args=list(WORKLOAD))
    (bundle / "config.json").write_text(json.dumps(spec))
    name = f"{folder.name}-{number}"
    began = time.perf_counter()
    subprocess.run(["runc", "run", "--detach", "--bundle", bundle, name], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    span = time.perf_counter() - began
    subprocess.run(["runc", "delete", "--force", name], check=True)
    return span


def runs_containers(fleet, folder):
    """An image in a registry, and the flags of a device that may pull it; a function ends the registry."""
    registry = images.Registry(folder / "registry")
    config = folder / "containers.yaml"
    config.write_text(f"containers: {{insecure_registries: ['{registry.address}'], cni_config_dir: {folder}/cni}}\n")
    flags = ["--config", config, "--container-runtime", "auto", "--secret-dir", Path("/dev/shm") / fleet.name]
    return registry.push("tools:1", {}), flags, registry.stop


def end_containers(fleet):
    """Which outlive their agent."""
    subprocess.run(["sh", "-c", f"kill -9 $(cat $(find /sys/fs/cgroup -path '*berth/{fleet.name}.n1/*' -name cgroup.procs))"], check=False)


def pause():
    time.sleep(PAUSE_S)


def measure(folder, pods, with_containers):
    """Returns [(stage, seconds)] in the order of printing."""
    # It logs little, as the one that berthd runs.
    broker = Broker(folder / "broker", config="log_type none\nlog_type error\nlog_type information\n").start()
    fleet = Fleet(folder, broker.port)
    sender = observer = None
    image, flags, end_registry = None, [], lambda: None
    try:
        if with_containers:
            image, flags, end_registry = runs_containers(fleet, folder)
        fleet.start("n1", extra=flags, capacity={"cpu": "64", "memory": "64Gi", "pods": str(pods + CTL_PODS + 10)})
        fleet.close_observer()
        sender = Client(broker.port, "operator", protocol=5)
        observer = Observer(broker.port, [fleet.topic(topic) for topic in OBSERVED], folder)
        sender.publish(fleet.topic("clients/operator/ready"), "1", retain=True)
        observer.first(fleet.topic("clients/operator/ready"))  # it has subscribed
        spans_of_pod(fleet, sender, observer, lone_pod("first", image), -1)  # which the image comes with
        seen, trips = [], []
        for number in range(pods):
            pause()
            seen.append(spans_of_pod(fleet, sender, observer, lone_pod(f"lone-{number}", image), number))
            trips.append(round_trip(fleet, sender, observer, number))
        by_ctl = []
        for number in range(CTL_PODS):
            pause()
            by_ctl.append(spans_of_ctl(fleet, observer, lone_pod(f"ctl-{number}", image)))
        rows = [(what, [spans[what] for spans in seen]) for what in seen[0]]
        rows += [(what, [spans[what] for spans in by_ctl]) for what in by_ctl[0]]
        rows.append(("bare round trip, QoS 1", trips))
    finally:
        for client in (sender, observer):
            if client:
                client.close()
        if with_containers:
            end_containers(fleet)
        fleet.stop()
        end_registry()
        broker.stop()
    rows.append(("bare sync of 4 KiB", bare_syncs(folder, pods)))
    starts = [bare_container(folder, number) if with_containers else bare_start() for number in range(pods)]
    rows.append(("bare start of the workload", starts))
    return rows


def quantile(spans, part):
    return sorted(spans)[int((len(spans) - 1) * part)]


def main():
    parser = argparse.ArgumentParser(description="Measures the latency of a single pod with real processes.")
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=programs.build_folder(), help="a folder on the disk to measure; /tmp may be in memory")
    parser.add_argument("--containers", action="store_true", help="pods are containers of an image that the device has")
    given = parser.parse_args()
    programs.adopt_orphans()
    before = programs.children()
    try:
        with tempfile.TemporaryDirectory(prefix="lone-", dir=given.folder) as folder:
            rows = measure(Path(folder), given.pods, given.containers)
    finally:
        programs.end_children_since(before)
    print(f"{'from the request to':28} {'count':>6} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8}")
    for what, spans in rows:
        values = " ".join(f"{quantile(spans, part) * 1e3:>8.2f}" for part in (0.5, 0.99, 1))
        print(f"{what:28} {len(spans):>6} {values}")
    print(f"{len(rows)} passed, 0 failed")


if __name__ == "__main__":
    main()
