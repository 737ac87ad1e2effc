"""Who may do what at the broker, over TLS with certificates that `berthctl enroll` issued: every kind of identity on every
kind of topic. What is expected is read from the table in transports/README.md."""

import re
import socket
import ssl
import struct
import types
from pathlib import Path

import pytest
from broker import Authority, Client
from mqtt_packets import topic_matches
from test_enroll import Enrolled
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
FLEET = "berth/v1/default/"
NOT_AUTHORISED = 0x87
OWN = ["state", "presence", "heartbeat", "requests", "pods/default/web", "pods/default", "pods/default/web/more", "other"]
TOPICS = [
    *(f"nodes/{node}/{below}" for node in ("edge-a", "edge-b") for below in OWN),
    *(f"gateways/{gateway}/{below}" for gateway in ("gateway", "another")
      for below in ("answers/edge-a", "answers/edge-b", "api", "presence", "fence")),
    "desired/pods/default/web", "desired/nodes/edge-a", "status/pods/default/web", "events/default", "clients/operator/x",
    "clients/another/x",
    *(f"streams/{node}/{name}/{slot}/{way}" for node in ("edge-a", "edge-b") for name in ("operator", "another") for slot in ("0", "7", "8", "s-1")
      for way in ("down", "up")),
    "streams/edge-a/operator/0/other", "streams/edge-a/operator/0",
]
IDENTITIES = ["gateway", "edge-a", "edge-b", "operator", "stranger"]


def rules():
    """By kind of identity: (filters to publish to, filters to read), as in the table of transports/README.md."""
    table = {}
    text = (ROOT / "transports" / "README.md").read_text(encoding="utf-8")
    for kind, both, publish, subscribe in re.findall(r"^\| (node|operator|gateway)\b[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$", text, re.M):
        filters = [re.findall(r"`([^`]+)`", cell) for cell in (both, publish, subscribe)]
        table[kind] = (filters[0] + filters[1], filters[0] + filters[2])
        if both.strip() == "everything of the fleet":
            table[kind] = (["#"], ["#"])
    return table


def expected(identity, writing):
    kind = {"gateway": "gateway", "operator": "operator", "stranger": None}.get(identity, "node")
    if kind is None:
        return []
    filters = rules()[kind][0 if writing else 1]
    named = [f.replace("<n>", identity).replace("<name>", identity).replace("<gw>", "gateway").replace("<operator>", "operator")
             .replace("<slot>", slot) for f in filters for slot in "01234567"]
    return [topic for topic in TOPICS if any(topic_matches(each, topic) for each in named)]


@pytest.fixture
def guarded(tmp_path, leaves_no_process):
    """The package's broker with its accounts, and without any program of ours."""
    fleet = Enrolled(tmp_path, certificate=True)
    (tmp_path / "conf.d").mkdir()
    for name, role in (("gateway", "gateway"), ("operator", "operator"), ("edge-a", "node"), ("edge-b", "node"),
                       ("stranger", "node")):
        done = fleet.enroll(name, "--role", role)
        assert done.returncode == 0, done.stderr
    # A certificate of the authority, for an account that the ACL does not know.
    access = tmp_path / "accounts" / "access"
    access.write_text(re.sub(r"user stranger\n(.+\n)*", "", access.read_text(encoding="utf-8")), encoding="utf-8")
    fleet.start_broker()
    yield fleet
    fleet.stop()


def connect(fleet, identity):
    own = fleet.folder / identity
    port = fleet.operators_port if identity == "operator" else fleet.port
    client = Client(port, f"matrix-{identity}", protocol=5, authority=types.SimpleNamespace(ca=own / "ca.crt"),
                    certificate=(own / f"{identity}.crt", own / f"{identity}.key"))
    client.codes = {}  # of PUBACKs, which this version of paho does not tell
    handle = client.paho._handle_pubackcomp

    def note_code(command):
        packet = bytes(client.paho._in_packet["packet"])
        client.codes[struct.unpack("!H", packet[:2])[0]] = packet[2] if len(packet) > 2 else 0
        return handle(command)

    client.paho._handle_pubackcomp = note_code
    return client


def admits(port, authority, certificate=None, account=None):
    """Whether the broker accepts a session."""
    context = ssl.create_default_context(cafile=str(authority))
    context.check_hostname = False
    if certificate:
        context.load_cert_chain(*map(str, certificate))

    def text(value):
        return struct.pack("!H", len(value)) + value.encode()

    body = text("MQTT") + bytes([4, 0xC2 if account else 0x02, 0, 60]) + text("x") + b"".join(map(text, account or ()))
    try:
        with socket.create_connection(("127.0.0.1", port), 30) as plain, context.wrap_socket(plain) as secured:
            secured.sendall(bytes([0x10, len(body)]) + body)
            return secured.recv(4) == b"\x20\x02\x00\x00"
    except OSError:  # ssl.SSLError is one
        return False


def test_the_table_of_the_protocol_says_something_of_each_role():
    assert set(rules()) == {"gateway", "node", "operator"}
    assert FLEET + "nodes/edge-a/pods/default/web" in [FLEET + topic for topic in expected("edge-a", writing=True)]
    assert len(expected("operator", writing=False)) > 10


def test_no_operator_reads_what_devices_are_asked_since_that_has_the_contents_of_secrets():
    readable = expected("operator", writing=False)
    assert "nodes/edge-a/state" in readable and "nodes/edge-a/requests" not in readable


@pytest.mark.parametrize("identity", IDENTITIES)
def test_an_identity_publishes_and_reads_exactly_what_the_table_allows(guarded, identity):
    client = connect(guarded, identity)
    for topic in TOPICS:
        client.subscribe(FLEET + topic)
    gateway = client if identity == "gateway" else connect(guarded, "gateway")
    for topic in TOPICS:
        gateway.publish(FLEET + topic, "probe")
    client.subscribe("behind/what/came")  # its acknowledgement comes behind what the broker sent before
    readable = {topic.removeprefix(FLEET) for topic, payload in client.of("#") if payload == b"probe"}
    assert sorted(readable) == sorted(expected(identity, writing=False))

    writable = []
    for topic in [*TOPICS, "../another/nodes/edge-a/state"]:
        mid = client.paho.publish(FLEET + topic, "mine", 1).mid
        wait_until(lambda mid=mid: mid in client.codes, f"the acknowledgement on {topic}")
        assert client.codes[mid] in (0, 0x10, NOT_AUTHORISED), (topic, client.codes[mid])
        if client.codes[mid] != NOT_AUTHORISED:
            writable.append(topic)
    allowed = expected(identity, writing=True)
    if identity == "gateway":  # "../" is a level like others, and of its fleet
        allowed = [*allowed, "../another/nodes/edge-a/state"]
    assert sorted(writable) == sorted(allowed)
    client.close()
    if gateway is not client:
        gateway.close()


def test_what_a_device_leaves_retained_on_topics_of_streams_is_bounded(guarded):
    device, gateway = connect(guarded, "edge-a"), connect(guarded, "gateway")
    for name in ("operator", "gateway", "edge-a", *(f"made-up-{i}" for i in range(20))):
        for slot in (*range(20), *(f"x-{i}" for i in range(20))):
            device.publish(f"{FLEET}streams/edge-a/{name}/{slot}/up", "kept", retain=True)
    gateway.subscribe(FLEET + "streams/#")
    gateway.subscribe("behind/what/came")
    assert sorted({topic for topic, _ in gateway.of("#")}) == [f"{FLEET}streams/edge-a/operator/{slot}/up" for slot in range(8)]
    device.close()
    gateway.close()


def test_only_certificates_of_the_listeners_own_authority_are_admitted(guarded, tmp_path):
    def issued(name):
        return tmp_path / name / f"{name}.crt", tmp_path / name / f"{name}.key"

    ca = tmp_path / "edge-a" / "ca.crt"
    devices, operators = guarded.port, guarded.operators_port
    assert admits(devices, ca, issued("edge-a")) and admits(operators, ca, issued("operator"))
    foreign = Authority(tmp_path / "foreign").issue("edge-a")
    for port in (devices, operators):
        assert not admits(port, ca, foreign)
        assert not admits(port, ca)
        assert not admits(port, ca, account=("edge-a", "secret"))
    assert not admits(operators, ca, issued("edge-a"))
    assert not admits(devices, ca, issued("operator"))
