"""An idle fleet writes nothing to flash: heartbeats of many nodes, with the packaged broker settings."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from broker import Client, mosquitto_path
from fleet import Fleet
from mqtt_packets import messages_of
from ports import free_port
from programs import ROOT, Program
from waiting import wait_until

NODES, BEATS = 50, 60
# Debian's default mosquitto.conf, with the test's paths.
DEBIAN = """pid_file {folder}/mosquitto.pid

persistence true
persistence_location {folder}/data/

log_dest file {folder}/log/mosquitto.log

include_dir {folder}/conf.d
"""
ACCESS = "user berthd\ntopic readwrite berth/v1/#\n\nuser crowd\ntopic readwrite berth/v1/#\n"


class PackagedBroker:
    """mosquitto with cross/debian/mosquitto.conf in conf.d; with keeps_files, without its settings for files."""

    def __init__(self, folder, keeps_files):
        self.folder, self.port = Path(folder), free_port()
        for below in ("data", "log", "conf.d"):
            (self.folder / below).mkdir(parents=True)
        passwords = self.folder / "passwords"
        passwords.write_text("berthd:secret\ncrowd:secret\n", encoding="utf-8")
        subprocess.run(["mosquitto_passwd", "-U", passwords], check=True, capture_output=True)
        (self.folder / "access").write_text(ACCESS, encoding="utf-8")
        (self.folder / "mosquitto.conf").write_text(DEBIAN.format(folder=self.folder), encoding="utf-8")
        ours = (ROOT / "cross" / "debian" / "mosquitto.conf").read_text(encoding="utf-8")
        ours = ours.replace("listener 1883", f"listener {free_port()}")
        ours = ours.replace("listener 1884", f"listener {self.port}")
        for accounts in ("passwords", "operators"):
            ours = ours.replace(f"/etc/berth/broker/{accounts}", str(passwords))
        ours = ours.replace("/etc/berth/broker/access", str(self.folder / "access"))
        if keeps_files:
            ours = re.sub(r"^(persistence|log_dest) .*$", "", ours, flags=re.M)
        (self.folder / "conf.d" / "berth.conf").write_text(ours, encoding="utf-8")
        (self.folder / "conf.d" / "test.conf").write_text("user root\n", encoding="utf-8")
        self.program = Program("mosquitto", [mosquitto_path(), "-c", self.folder / "mosquitto.conf"], self.folder).start()

    def files(self):
        """The files it wrote, with sizes, except the pid file, which is written once at start."""
        found = [path for name in ("data", "log") for path in (self.folder / name).iterdir()]
        return {str(path.relative_to(self.folder)): path.stat().st_size for path in found}

    def save_now(self):
        """Saves its database now, as it does by itself every half hour."""
        self.program.kill(signal.SIGUSR1)


class Crowd:
    """Many nodes that run nothing, simulated by one client."""

    def __init__(self, fleet, port):
        self.fleet, self.answered = fleet, {}
        self.client = Client(port, "crowd", password="secret")
        self.client.paho.message_callback_add(fleet.topic("nodes/+/requests"), self.on_request_)
        self.client.subscribe(fleet.topic("nodes/+/requests"))
        self.client.subscribe(fleet.topic("status/nodes/+"))
        self.names = [f"n{number}" for number in range(NODES)]

    def publish(self, node, topic, retain=False, **members):
        about = {"incarnation": f"i-{node}", "bootId": "boot", "session": "1", **members}
        self.client.paho.publish(self.fleet.topic(f"nodes/{node}/{topic}"), json.dumps(about), 1, retain)

    def join(self):
        for node in self.names:
            self.publish(node, "presence", retain=True, sequence="1", online=True)
            self.publish(node, "state", retain=True, sequence="1", heartbeatMs=600000,
                     allocatable={"cpu": "2", "memory": "512Mi", "pods": "20"})
        for node in self.names:
            self.client.wait_latest(self.fleet.topic(f"status/nodes/{node}"),
                                    lambda s: s["conditions"][0]["status"] == "True")

    def beat(self, first, count):
        """Sends heartbeats of every node; returns when the gateway has answered the last of each."""
        for sequence in range(first, first + count):
            for node in self.names:
                self.publish(node, "heartbeat", sequence=str(sequence))
        self.client.wait(lambda: all(self.answered.get(node) == first + count - 1 for node in self.names),
                         "the answers to the last heartbeats", timeout_s=60)

    def on_request_(self, _client, _userdata, received):
        node = received.topic.split("/")[-2]
        # A heartbeat counts as answered once the other requests of its payload are.
        for request in sorted(messages_of(json.loads(received.payload)), key=lambda r: r["type"] == "Heartbeat"):
            self.take_(node, request)

    def take_(self, node, request):
        with self.client.changed:
            if request["type"] == "Heartbeat":
                self.answered[node] = max(self.answered.get(node, 0), int(request["sequence"]))
                self.client.changed.notify_all()
        if request["type"] == "List":
            answer = {"type": "Slots", "incarnation": f"i-{node}", "term": request["term"], "storeId": request["storeId"],
                      "page": 0, "pages": 1, "listId": request["listId"], "slots": []}
            topic = self.fleet.topic(f"gateways/{request['gateway']}/answers/{node}")
            self.client.paho.publish(topic, json.dumps(answer), 1)


def written(program):
    """Bytes that a process has written to disk."""
    text = Path(f"/proc/{program.pid}/io").read_text(encoding="utf-8")
    return int(re.search(r"^write_bytes: (\d+)$", text, re.M).group(1))


@pytest.mark.parametrize("keeps_files", [False, True], ids=["packaged", "debian-defaults"])
def test_an_idle_fleet_writes_nothing_to_flash(tmp_path, leaves_no_process, keeps_files):
    broker = PackagedBroker(tmp_path / "broker", keeps_files)
    fleet = Fleet(tmp_path, broker.port)
    secret = tmp_path / "secret"
    secret.write_text("secret\n", encoding="utf-8")
    fleet.account = lambda identity: ["--username", identity, "--password-file", secret]
    wait_until(lambda: Path(broker.folder / "mosquitto.pid").exists(), "the broker")
    gateway = fleet.start_gateway(extra=["--log-level", "warn"])
    crowd = Crowd(fleet, broker.port)
    try:
        crowd.join()
        for first in (2, 5, 8):  # until all messages caused by joining have been handled
            crowd.beat(first, 1)
        store = fleet.state_dir("berthd")
        before = {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in store.glob("gateway.db*")}
        bytes_before = {program.name: written(program) for program in (broker.program, gateway)}
        files_before = broker.files()
        broker.save_now()
        crowd.beat(10, BEATS)
        broker.save_now()
        crowd.beat(10 + BEATS, 3)  # the broker handles the signal between two messages
        assert {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in store.glob("gateway.db*")} == before
        if keeps_files:  # shows that the test detects writes
            assert broker.files() != files_before and broker.files()["data/mosquitto.db"] > 0
            return
        assert broker.files() == {}
        assert {program.name: written(program) for program in (broker.program, gateway)} == bytes_before
    finally:
        crowd.client.close()
        fleet.stop()
        broker.program.stop()
