"""A device that lies at full speed: what it says, and the flood."""

import contextlib
import itertools
import json
import socket
import threading

from device import FakeDevice
from mqtt_packets import variable_length
from waiting import patience, wait_until

BATCH = 100  # messages between two acknowledgements


class Flood(FakeDevice):
    """Answers each List with slots that nobody gave, and comes at once with a new incarnation, so that it is asked again."""

    def __init__(self, fleet, port, node):
        self.numbers = itertools.count(1)
        super().__init__(fleet, port, node, {"List": self.flood_, "Release": lambda request: None})

    def flood_(self, request):
        number, known_as = next(self.numbers), self.incarnation
        self.incarnation = f"flood-{number}"
        slots = [{"uid": f"made-up-{number}-{slot}", "epoch": "1.2", "state": "running", "pod": {}, "volumes": []}
                 for slot in range(30)]
        answer = {"type": "Slots", "incarnation": known_as, "term": request["term"], "storeId": request["storeId"], "page": 0,
                  "pages": 1, "listId": request["listId"], "slots": slots}
        # Not on paho's network thread, where publish() must not block.
        threading.Thread(target=self.answer_and_come_again_, args=(request, answer)).start()

    def answer_and_come_again_(self, request, answer):
        self.answer_(request, answer)
        self.client.paho.publish(self.topic("presence"), json.dumps({**self.about_self(), "online": True}), 1)


def state(device, **facts):
    return {**device.about_self(), "heartbeatMs": 600000, **device.facts, **facts}


def changing_state(device, number):
    volumes = [{"name": f"v{number % 7}", "path": "/tmp", "capacity": "1Gi"}]
    return device.topic("state"), state(device, labels={"change": str(number)}, volumes=volumes), False


def another_host_name(device, number):
    return device.topic("state"), state(device, labels={"kubernetes.io/hostname": f"n{number % 3}"}), False


def much_capacity(device, number):
    offered = {"cpu": str(100_000 + number % 5), "memory": "512Mi", "pods": "20"}
    return device.topic("state"), state(device, allocatable=offered), False


def new_incarnation(device, number):
    device.incarnation = f"life-{number}"
    return device.topic("presence"), {**device.about_self(), "online": True}, False


def junk_status(device, number):
    report = {"incarnation": device.incarnation, "uid": f"nobody-{number}", "epoch": "1.1", "status": {"phase": "Running"},
              "sequence": str(number)}
    return device.topic(f"pods/default/nobody-{number % 50}"), report, False


def large_retained_status(device, number):
    return device.topic(f"pods/default/large-{number % 500}"), {"junk": "x" * 60_000}, True


def malformed(device, number):
    payload = [b"", b"{", b"[" * 1000, b'{"items":[1,2]}', b"\xff\xfe", b'{"type":"Bound","epoch":17}'][number % 6]
    topics = [device.topic("state"), device.topic("heartbeat"), device.fleet.topic(f"gateways/gw/answers/{device.node}")]
    return topics[number % 3], payload, False


def huge_term(device, number):
    """To a List if there was one, else unasked."""
    asked = next((request for request in reversed(device.asked) if request["type"] == "List"), {})
    gateway = asked.get("gateway", "gw")
    answer = {"type": "Superseded", "incarnation": device.incarnation, "term": str(2**61 + number), "storeId": "lie"}
    return device.fleet.topic(f"gateways/{gateway}/answers/{device.node}"), answer, False


def forged_proof(device, number):
    """A rollback of the gateway that nobody's key has proven: of its own store, and of another one."""
    asked = next((request for request in reversed(device.asked) if request["type"] == "List"), {})
    term = int(asked.get("term", "1")) + 1 + number
    store = asked.get("storeId", "lie") if number % 2 else "lie"
    proof = f"{term}.{number:032x}" if number % 3 else asked.get("proof", "1.lie")
    answer = {"type": "Superseded", "incarnation": device.incarnation, "term": str(term), "storeId": store, "proof": proof}
    return device.fleet.topic(f"gateways/{asked.get('gateway', 'gw')}/answers/{device.node}"), answer, False


def renewal(device, number):
    text = f"-----BEGIN CERTIFICATE REQUEST-----\n{number:064x}\n-----END CERTIFICATE REQUEST-----\n"
    answer = {"type": "Renew", "incarnation": device.incarnation, "request": text}
    return device.fleet.topic(f"gateways/gw/answers/{device.node}"), answer, False


# By what is said: makes the message of this number, (topic, payload, retained).
LIES = {"states that change": changing_state, "host name of another": another_host_name,
        "100,000 CPUs": much_capacity, "new incarnations": new_incarnation, "statuses of nobody's pods": junk_status,
        "large retained statuses": large_retained_status, "malformed messages": malformed, "huge terms": huge_term,
        "forged proofs": forged_proof, "requests for certificates": renewal}
TAKEOVER = "connections under the client ids of others"  # with the device's own account


ACCEPTED = b"\x20\x02\x00\x00"  # CONNACK


def connect_packet(client_id, account, password):
    texts = b"".join(len(text).to_bytes(2, "big") + text.encode() for text in (client_id, account, password))
    body = b"\x00\x04MQTT\x04\xc2\x00\x3c" + texts  # 3.1.1; user name, password, clean session; keepalive 60 s
    return bytes([0x10]) + variable_length(len(body)) + body


def take_over(fleet, account, goes_on):
    """Connects to each port of an embedded broker while goes_on(number of connections), under the client ids of the
    others; returns how many were accepted. The local port refuses the account of a device."""
    password = fleet.broker_file(f"password/{account}")
    ids = ["n1", f"berth-{fleet.name}-n1", fleet.gateway_name, f"berth-{fleet.name}-gateway-{fleet.gateway_name}", "operator"]
    accepted = 0
    for number in itertools.count():
        if not goes_on(number):
            break
        with contextlib.suppress(ConnectionError), \
                socket.create_connection(("127.0.0.1", (fleet.devices_port, fleet.port)[number % 2]), patience()) as link:
            link.sendall(connect_packet(ids[number % len(ids)], account, password))
            accepted += link.recv(4) == ACCEPTED
    return accepted


def tell(device, lie, goes_on):
    """Publishes as fast as the broker takes it while goes_on(number of messages); returns how many there were."""
    device.client.paho.max_inflight_messages_set(BATCH)
    for number in itertools.count():
        if not goes_on(number):
            return number
        topic, payload, retained = LIES[lie](device, number)
        text = payload if isinstance(payload, bytes) else json.dumps(payload)
        sent = device.client.paho.publish(topic, text, 1, retained)
        if number % BATCH < BATCH - 1:
            continue
        try:
            sent.wait_for_publish(patience())
        except RuntimeError:  # a broker at its memory limit threw this client out
            wait_until(device.client.paho.is_connected, "the next connection of the device that lies")
    return 0
