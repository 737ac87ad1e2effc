"""The parts of MQTT 3.1.1 and 5 that a proxy must understand: framing, CONNECT, PUBLISH and its PUBACK."""

import json
from dataclasses import dataclass, replace

CONNECT, CONNACK, PUBLISH, PUBACK = 1, 2, 3, 4
NAMES = {1: "CONNECT", 2: "CONNACK", 3: "PUBLISH", 4: "PUBACK", 5: "PUBREC", 6: "PUBREL", 7: "PUBCOMP",
         8: "SUBSCRIBE", 9: "SUBACK", 10: "UNSUBSCRIBE", 11: "UNSUBACK", 12: "PINGREQ", 13: "PINGRESP",
         14: "DISCONNECT", 15: "AUTH"}


class MalformedPacket(Exception):
    """The bytes are not an MQTT packet; the connection must be closed."""


@dataclass(frozen=True)
class Packet:
    """One packet. direction: "up" from a client to the broker, "down" from the broker to a client."""

    direction: str
    client: str  # client identifier of the connection
    kind: str  # "PUBLISH", "CONNECT", ...
    raw: bytes
    topic: str = ""
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    packet_id: int = 0
    id_at: int = 0  # offset of the packet identifier in raw; 0: none

    @property
    def messages(self):
        """The JSON objects in the payload: the payload itself or the items of a list; [{}] if there is none."""
        try:
            value = json.loads(self.payload)
        except ValueError:
            return [{}]
        return messages_of(value) if isinstance(value, dict) else [{}]

    def at_qos_0(self):
        """The same message at QoS 0, so that it can be sent at any time and any number of times."""
        if self.qos == 0:
            return self
        header, rest = split_header(self.raw)
        at = self.id_at - (len(self.raw) - len(rest))
        body = rest[:at] + rest[at + 2:]
        raw = bytes([header & 0b11110001]) + variable_length(len(body)) + body
        return replace(self, raw=raw, qos=0, packet_id=0, id_at=0)

    def puback(self):
        return bytes([PUBACK << 4, 2]) + self.packet_id.to_bytes(2, "big")


def messages_of(value):
    """The messages of a decoded payload (transports/README.md): the items of a list, each completed with the members that
    the list shares; PreBinds completed with the uid of their manifest, and what goes via a name with type and epoch."""
    items = value.get("items") if isinstance(value, dict) else None
    messages = [value]
    if isinstance(items, list):
        shared = {key: each for key, each in value.items() if key != "items"}
        messages = [{**shared, **item} for item in items if isinstance(item, dict)]
    return [with_uid(with_type(message)) for message in messages]


VIA = {"preBind": "PreBind", "bind": "Bind", "preBound": "PreBound", "bound": "Bound"}


def with_type(message):
    if not isinstance(message, dict) or "via" not in message:
        return message
    member = next((each for each in VIA if each in message), None)
    return {**message, "type": VIA[member], "epoch": message[member]} if member else message


def with_uid(message):
    if not isinstance(message, dict) or message.get("type") != "PreBind" or "uid" in message:
        return message
    return {**message, "uid": message["pod"]["metadata"]["uid"]}


def variable_length(number):
    out = bytearray()
    while True:
        number, digit = number >> 7, number & 0x7F
        out.append(digit | (0x80 if number else 0))
        if not number:
            return bytes(out)


def read_length(data, at):
    """Reads a variable byte integer: (value, offset behind it); None if bytes are missing."""
    value = 0
    for index in range(4):
        if at + index >= len(data):
            return None
        value |= (data[at + index] & 0x7F) << (7 * index)
        if not data[at + index] & 0x80:
            return value, at + index + 1
    raise MalformedPacket("variable byte integer longer than 4 bytes")


def split_header(raw):
    _, body_at = read_length(raw, 1)
    return raw[0], raw[body_at:]


def take_packet(buffer):
    """Removes one complete packet from the front of a bytearray; None if it is incomplete."""
    if len(buffer) < 2:
        return None
    length = read_length(buffer, 1)
    if length is None or len(buffer) < length[0] + length[1]:
        return None
    end = length[0] + length[1]
    raw = bytes(buffer[:end])
    del buffer[:end]
    return raw


def read_string(raw, at):
    size = int.from_bytes(raw[at:at + 2], "big")
    if len(raw) < at + 2 + size:
        raise MalformedPacket("a string extends beyond its packet")
    return raw[at + 2:at + 2 + size], at + 2 + size


def read_connect(raw):
    """Returns (protocol level, client identifier) of a CONNECT."""
    _, at = read_length(raw, 1)
    _, at = read_string(raw, at)
    level = raw[at]
    at += 4  # level, flags, keep alive
    if level >= 5:
        size, at = read_length(raw, at)
        at += size
    client, _ = read_string(raw, at)
    return level, client.decode()


def parse(raw, direction, client, level):
    """Parses a complete packet. level: the connection's protocol level."""
    kind = raw[0] >> 4
    if kind != PUBLISH:
        return Packet(direction, client, NAMES.get(kind, "?"), raw)
    _, at = read_length(raw, 1)
    topic, at = read_string(raw, at)
    if level >= 5 and not topic:
        raise MalformedPacket("this proxy does not support topic aliases")
    qos, id_at, packet_id = (raw[0] >> 1) & 3, 0, 0
    if qos:
        id_at, packet_id, at = at, int.from_bytes(raw[at:at + 2], "big"), at + 2
    if level >= 5:
        size, at = read_length(raw, at)
        at += size
    return Packet(direction, client, "PUBLISH", raw, topic.decode(), raw[at:], qos, bool(raw[0] & 1), packet_id, id_at)


def topic_matches(pattern, topic):
    """Whether an MQTT topic filter, which may contain + and #, matches the topic."""
    filters, levels = pattern.split("/"), topic.split("/")
    for index, level in enumerate(filters):
        if level == "#":
            return True
        if index >= len(levels) or level not in ("+", levels[index]):
            return False
    return len(filters) == len(levels)
