"""A simulated fleet of devices and its operator in one MQTT client; the devices accept every request at once."""

import json
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from broker import Client  # noqa: E402
from mqtt_packets import messages_of  # noqa: E402

ITEMS = 32  # per list of answers


def manifest(name):
    """A manifest of 278 bytes with its uid, like that of bench_store."""
    resources = {"requests": {"cpu": "1m", "memory": "1Mi"}}
    container = {"image": "registry.lan/sensor:1.4", "name": "c", "resources": resources}
    metadata = {"labels": {"app": "sensor"}, "name": name, "namespace": "default", "uid": str(uuid.uuid4())}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def compact(value):
    return json.dumps(value, separators=(",", ":"))


class Devices(Client):
    def __init__(self, fleet, port, nodes):
        self.fleet = fleet
        self.names = [f"node-{number:05}" for number in range(nodes)]
        self.slots = {}  # uid -> (node, epoch, state)
        self.pods = {}  # uid -> name
        self.ready, self.running, self.listed = set(), set(), set()  # topics of statuses; nodes that received a List
        super().__init__(port, "devices")
        self.paho.max_inflight_messages_set(1000)
        for below in ("nodes/+/requests", "status/nodes/#", "status/pods/#"):
            self.subscribe(fleet.topic(below))

    def join(self):
        for name in self.names:
            about = {"incarnation": f"inc-{name}", "bootId": "boot", "session": "1", "sequence": "1"}
            state = {**about, "name": name, "heartbeatMs": "3600000", "labels": {"zone": name[-1]}, "taints": [], "volumes": [],
                     "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
            self.publish_json(f"nodes/{name}/state", state, retain=True)
            self.publish_json(f"nodes/{name}/presence", {**about, "online": True}, retain=True)

    def apply_pods(self, pods):
        for number in range(pods):
            pod = manifest(f"pod-{number:06}")
            self.pods[pod["metadata"]["uid"]] = pod["metadata"]["name"]
            self.publish_json(f"desired/pods/default/{pod['metadata']['name']}", pod, retain=True)

    def publish_json(self, below, value, retain=False):
        self.paho.publish(self.fleet.topic(below), compact(value), 1, retain)

    def on_message_(self, _client, _userdata, received):
        levels = received.topic.removeprefix(self.fleet.root + "/").split("/")
        if levels[0] == "nodes":
            self.take_(levels[1], json.loads(received.payload))
            return
        topics, marker = (self.ready, b'"True"') if levels[1] == "nodes" else (self.running, b'"Running"')
        if marker in received.payload:
            with self.changed:
                topics.add(received.topic)
                self.changed.notify_all()

    def take_(self, node, payload):
        requests = [request for request in messages_of(payload) if request["type"] != "Heartbeat"]
        answers = [self.answer_(node, request) for request in requests]
        for first in range(0, len(answers), ITEMS):
            some = answers[first:first + ITEMS]
            self.publish_json(f"gateways/{requests[0]['gateway']}/answers/{node}", some[0] if len(some) == 1 else {"items": some})

    def answer_(self, node, request):
        answer = {"incarnation": f"inc-{node}"}
        answer.update({key: request[key] for key in ("term", "storeId", "uid", "epoch") if key in request})
        if request["type"] == "List":
            with self.changed:
                self.listed.add(node)
                self.changed.notify_all()
            slots = [{"uid": uid, "epoch": epoch, "state": state} for uid, (at, epoch, state) in self.slots.items() if at == node]
            return {**answer, "type": "Slots", "page": 0, "pages": 1, "listId": request["listId"], "slots": slots}
        if request["type"] == "Release":
            self.slots.pop(request["uid"], None)
            return {**answer, "type": "Released"}
        bound = request["type"] == "Bind"
        self.slots[request["uid"]] = (node, request["epoch"], "running" if bound else "prepared")
        if bound:
            status = {"uid": request["uid"], "epoch": request["epoch"], "incarnation": f"inc-{node}", "slot": "running",
                      "phase": "Running", "containerStatuses": []}
            self.publish_json(f"nodes/{node}/pods/default/{self.pods[request['uid']]}", status, retain=True)
        return {**answer, "type": "Bound" if bound else "PreBound"}
