"""CPU time of the gateway per heartbeat, and of a fleet that does nothing: the real berthd and a real mosquitto.

    tests/run bench            builds with release flags, then runs this
    BERTH_BUILD=build/bench python3 tests/bench/heartbeats.py [--nodes N] [--every S] [--seconds S] [--windows N] [--protocol V]
                                          [--syscalls]

One client joins for all nodes and reads what they are asked (devices.py). The heartbeats are spread evenly over the time, as those
of a fleet are, so that hardly two of them meet in one turn; they come over a few connections of their own, ready-made. The CPU
time is that of all threads of berthd, from the kernel (schedstat), first without heartbeats and then with them, in windows; printed
are medians, as JSON. Not in it are the comparisons every five minutes, and the first heartbeat of each node, which begins its
routine. `--syscalls` has strace count the gateway's calls afterwards; that needs strace. Targets: 10 us a heartbeat, and 1 % of a core for 10,000 nodes that heartbeat every 10 s.
"""

import argparse
import json
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from broker import Broker  # noqa: E402
from devices import Devices, compact  # noqa: E402
from fleet import Fleet  # noqa: E402
from mqtt_packets import variable_length  # noqa: E402

# Each message in mosquitto's log would cost more than the message itself.
BROKER_LOG = "log_type none\nlog_type information\n"
CONNECTIONS = 8
JOIN_S = 300
REST_S, RESTS = 1.0, 60  # until nothing is left of the nodes' joining


class Listener(Devices):
    """Devices of a version of the protocol; counts the answers to heartbeats."""

    answered = 0

    def __init__(self, fleet, port, nodes, protocol):
        self.protocol = protocol
        super().__init__(fleet, port, nodes)

    def publish_json(self, below, value, retain=False):
        super().publish_json(below, {**value, "protocol": self.protocol} if below.endswith("/state") else value, retain)

    def take_(self, node, payload):
        if payload.get("type") == "Heartbeat":
            self.answered += 1
        else:
            super().take_(node, payload)


def frame(head, body):
    return bytes([head]) + variable_length(len(body)) + body


def text(value):
    return len(value).to_bytes(2, "big") + value.encode()


def connect(port, identity):
    """A connection (MQTT 3.1.1, no keepalive) that only publishes."""
    link = socket.create_connection(("127.0.0.1", port))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(frame(0x10, text("MQTT") + bytes([4, 2, 0, 0]) + text(identity)))
    if link.recv(4) != b"\x20\x02\x00\x00":
        raise AssertionError("the broker refuses a connection")
    return link


class Hearts:
    """Publishes a heartbeat of each node in turn, evenly spread, until it is stopped."""

    def __init__(self, fleet, port, names, every_s):
        self.links = [connect(port, f"heart-{number}") for number in range(CONNECTIONS)]
        self.fleet, self.names, self.gap_s = fleet, names, every_s / len(names)
        self.sent, self.ends = 0, False
        self.thread = threading.Thread(target=self.beat_)

    def packet_(self, number, asks=False):
        name = self.names[number % len(self.names)]
        beat = {"incarnation": f"inc-{name}", "sequence": str(1 + number // len(self.names)), "at": "1.1"}
        if asks:
            beat["answer"] = True
        return frame(0x30, text(self.fleet.topic(f"nodes/{name}/heartbeat")) + compact(beat).encode())

    def beat_(self):
        began = time.monotonic()
        while not self.ends:
            due = int((time.monotonic() - began) / self.gap_s)
            while self.sent < due and not self.ends:
                self.links[self.sent % CONNECTIONS].sendall(self.packet_(self.sent))
                self.sent += 1
            time.sleep(self.gap_s)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        """The last heartbeat of each connection asks for an answer, which shows that those before it were taken."""
        self.ends = True
        self.thread.join()
        for number, link in enumerate(self.links):
            link.sendall(self.packet_(number, asks=True))
            link.close()


def cpu_us(pid):
    """CPU time of all threads of a process."""
    spent = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        spent += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return spent / 1e3


def rest(pid):
    """Waits until the process uses no more CPU time than in the seconds before."""
    last = before = None
    for _ in range(RESTS):
        began = cpu_us(pid)
        time.sleep(REST_S)
        last, before = cpu_us(pid) - began, last
        if before is not None and last < 50_000 and last > before * 0.7:
            return


def in_windows(pid, seconds, windows, count):
    """[(us of CPU, seconds, how much `count` has grown)] of each window."""
    rows = []
    for _ in range(windows):
        cpu, began, counted = cpu_us(pid), time.monotonic(), count()
        time.sleep(seconds)
        rows.append((cpu_us(pid) - cpu, time.monotonic() - began, count() - counted))
    return rows


def count_syscalls(pid, seconds, count):
    """Calls per heartbeat by name, the total first; those of an idle second are in them."""
    counted = count()
    done = subprocess.run(["timeout", "-s", "INT", str(seconds), "strace", "-c", "-f", "-p", str(pid)], capture_output=True, text=True,
                          check=False)
    beats = count() - counted
    rows = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", done.stderr, re.MULTILINE)
    calls = {name: round(int(number) / beats, 2) for number, name in rows}
    return {"total": calls.pop("total", None), **{name: each for name, each in calls.items() if each >= 0.01}}


def measure(folder, given):
    broker = Broker(folder / "broker", config=BROKER_LOG).start()
    fleet = Fleet(folder, broker.port)
    gateway = fleet.start_gateway()
    devices = Listener(fleet, broker.port, given.nodes, given.protocol)
    try:
        devices.join()
        devices.wait(lambda: len(devices.ready) >= given.nodes, f"the status of {given.nodes} nodes", JOIN_S)
        rest(gateway.pid)
        idle = in_windows(gateway.pid, given.seconds, given.windows, lambda: 0)
        with Hearts(fleet, broker.port, devices.names, given.every) as hearts:
            while hearts.sent < given.nodes:
                time.sleep(min(1.0, given.seconds))
            busy = in_windows(gateway.pid, given.seconds, given.windows, lambda: hearts.sent)
            calls = count_syscalls(gateway.pid, given.seconds, lambda: hearts.sent) if given.syscalls else None
        devices.wait(lambda: devices.answered >= CONNECTIONS, "the answers", 30)
    finally:
        devices.close()
        fleet.stop()
        broker.stop()
    quiet = statistics.median(cpu / seconds for cpu, seconds, _ in idle)  # us a second
    each = [(cpu - quiet * seconds) / beats for cpu, seconds, beats in busy]
    shares = [cpu / seconds / 1e4 for cpu, seconds, _ in busy]
    found = {"nodes": given.nodes, "every_s": given.every, "answered": devices.answered, "heartbeats": sum(beats for _, _, beats in busy),
             "us_per_heartbeat": round(statistics.median(each), 2), "us_per_heartbeat_windows": [round(us, 2) for us in each],
             "percent_of_a_core_without": round(quiet / 1e4, 3), "percent_of_a_core_with": round(statistics.median(shares), 3)}
    return found if calls is None else {**found, "syscalls_per_heartbeat": calls}


def main():
    parser = argparse.ArgumentParser(description="Measures the gateway's CPU time per heartbeat.")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two heartbeats of a node")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a window")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--protocol", default="1.10", help="that of the devices; below 1.10 each heartbeat is answered")
    parser.add_argument("--syscalls", action="store_true", help="count the gateway's system calls as well")
    with tempfile.TemporaryDirectory(prefix="heartbeats-") as folder:
        print(json.dumps(measure(Path(folder), parser.parse_args())))
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
