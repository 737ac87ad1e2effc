"""A TCP proxy between MQTT clients and a broker that can hold back, delay, drop and repeat chosen messages, cut
connections and partition them one way. It runs in a thread of its own; every method may be called from the test.

    with MqttProxy(broker.port) as proxy:
        binds = proxy.hold(message("down", "berth/v1/+/nodes/n1/requests", type="Bind"))
        ...
        binds.wait(1)        # one has been held back
        binds.release()      # now it goes on its way, and later ones freely

A message of QoS 1 that is held or dropped is acknowledged to its sender at once, as a broker does that loses it
afterwards; when it is let go it travels at QoS 0. QoS 2 passes untouched by rules. Plain TCP only.
"""

import asyncio
import collections
import threading

from mqtt_packets import MalformedPacket, parse, read_connect, take_packet, topic_matches
from waiting import patience

RECORDED = 20000  # packets kept for wait_seen() and failures


def message(direction=None, topic=None, payload=None, client=None, **fields):
    """A predicate on PUBLISH packets. direction "up" or "down"; topic: an MQTT filter; client: its identifier;
    payload: a function of the JSON object; fields: members of the JSON object that must be equal. Of a list of messages
    one is enough."""

    def matches(packet):
        return (packet.kind == "PUBLISH" and direction in (None, packet.direction) and
                client in (None, packet.client) and (topic is None or topic_matches(topic, packet.topic)) and
                any(fields.items() <= each.items() and (payload is None or bool(payload(each)))
                    for each in packet.messages))

    return matches


class Rule:
    """What happens to the messages that a predicate chooses. Rules are asked in the order they were made."""

    def __init__(self, proxy, matches, action, limit=None, delay_s=0.0, copies=1):
        self.proxy_, self.matches_, self.action_ = proxy, matches, action
        self.limit_, self.delay_s_, self.copies_ = limit, delay_s, copies
        self.touched = []  # every packet it chose, in order
        self.held = collections.deque()

    def wait(self, count=1, timeout_s=None):
        """Waits until the rule has chosen `count` messages in all; returns them."""
        self.proxy_.wait_until(lambda: len(self.touched) >= count, f"{count} messages chosen by the {self.action_} rule",
                               timeout_s)
        return list(self.touched[:count])

    def release(self, count=None, keep=False):
        """Lets held messages go in order: all, or the first `count`. Unless `keep`, the rule ends."""
        self.proxy_.run_(lambda: self.release_now_(count, keep))

    def end(self):
        """The rule chooses no more; what it holds is lost."""
        self.proxy_.run_(lambda: self.proxy_.rules_.remove(self) if self in self.proxy_.rules_ else None)

    def release_now_(self, count, keep):
        if not keep and count is None and self in self.proxy_.rules_:
            self.proxy_.rules_.remove(self)
        for _ in range(len(self.held) if count is None else min(count, len(self.held))):
            self.proxy_.inject_(self.held.popleft())

    def wants_(self, packet):
        if packet.qos == 2 or (self.limit_ is not None and len(self.touched) >= self.limit_):
            return False
        return self.matches_(packet)


class Connection:
    """One client's connection and the proxy's own to the broker for it."""

    def __init__(self, proxy, reader, writer):
        self.proxy, self.client, self.level, self.alive = proxy, "", 4, True
        self.readers = {"up": reader, "down": None}
        self.writers = {"down": writer, "up": None}  # by the direction of what is written
        self.stalled = {"up": [], "down": []}  # bytes kept back by a partition
        self.ready = False  # CONNACK has passed

    async def open(self, port):
        self.readers["down"], self.writers["up"] = await asyncio.open_connection("127.0.0.1", port)

    def write(self, direction, raw):
        if not self.alive:
            return
        if self.proxy.is_partitioned_(self.client, direction):
            self.stalled[direction].append(raw)
        else:
            self.writers[direction].write(raw)

    def flush(self):
        for direction, chunks in self.stalled.items():
            if chunks and not self.proxy.is_partitioned_(self.client, direction):
                self.writers[direction].write(b"".join(chunks))
                chunks.clear()

    async def pump(self, direction):
        buffer = bytearray()
        while True:
            data = await self.readers[direction].read(65536)
            if not data:
                return
            buffer += data
            while raw := take_packet(buffer):
                if direction == "up" and raw[0] >> 4 == 1:
                    self.level, self.client = read_connect(raw)
                    self.client = self.client or f"unnamed-{id(self)}"
                    self.proxy.adopt_(self)
                self.proxy.handle_(self, parse(raw, direction, self.client, self.level))

    def abort(self):
        self.alive = False
        for writer in self.writers.values():
            if writer:
                writer.transport.abort()


class MqttProxy:
    def __init__(self, broker_port):
        self.broker_port = broker_port
        self.port = 0
        self.errors = []  # what went wrong inside; raised by close()
        self.seen = collections.deque(maxlen=RECORDED)
        self.rules_, self.connections_, self.by_client_ = [], [], {}
        self.parked_ = collections.defaultdict(list)  # injected messages of clients that are not connected
        self.partitions_ = set()  # (client or None, direction)
        self.refusing_ = False
        self.changed_ = threading.Condition()
        self.loop_ = asyncio.new_event_loop()
        self.thread_ = threading.Thread(target=self.loop_.run_forever, name="mqtt-proxy", daemon=True)
        self.thread_.start()
        self.server_ = self.await_(asyncio.start_server(self.serve_, "127.0.0.1", 0))
        self.port = self.server_.sockets[0].getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close(check=kind is None)

    def close(self, check=True):
        if self.loop_.is_closed():
            return
        self.cut()
        self.await_(self.stop_())
        self.loop_.call_soon_threadsafe(self.loop_.stop)
        self.thread_.join(10)
        self.loop_.close()
        if check and self.errors:
            raise AssertionError(f"inside the proxy: {self.errors[:3]}")

    # Rules -----------------------------------------------------------------------------------------------------------

    def hold(self, matches, limit=None):
        """Keeps matching messages (the first `limit`) until release()."""
        return self.add_(Rule(self, matches, "hold", limit))

    def drop(self, matches, limit=None):
        """Loses matching messages, though their sender is told that they arrived."""
        return self.add_(Rule(self, matches, "drop", limit))

    def duplicate(self, matches, copies=1, limit=None):
        """Delivers matching messages, and `copies` more of each directly behind it."""
        return self.add_(Rule(self, matches, "duplicate", limit, copies=copies))

    def delay(self, matches, delay_s, limit=None):
        """Delivers matching messages delay_s later; others overtake them."""
        return self.add_(Rule(self, matches, "delay", limit, delay_s=delay_s))

    # Links -----------------------------------------------------------------------------------------------------------

    def cut(self, client=None):
        """Ends a client's connection (all without a client) without a DISCONNECT, so that wills fire."""
        self.run_(lambda: [c.abort() for c in list(self.connections_) if client in (None, c.client)])

    def refuse(self, refusing=True):
        """New connections are closed at once until refuse(False)."""
        self.run_(lambda: setattr(self, "refusing_", refusing))

    def partition(self, client=None, direction="both"):
        """Bytes to the broker ("up"), from it ("down") or both stop until heal(); connections stay open."""
        both = ("up", "down") if direction == "both" else (direction,)
        self.run_(lambda: self.partitions_.update((client, one) for one in both))

    def heal(self):
        """Ends every partition; what was kept back on connections that are still open flows."""

        def heal():
            self.partitions_.clear()
            for connection in self.connections_:
                if connection.alive:
                    connection.flush()

        self.run_(heal)

    # What happened ---------------------------------------------------------------------------------------------------

    def clients(self):
        """Identifiers of the clients connected now."""
        with self.changed_:
            return sorted(c.client for c in self.connections_ if c.ready and c.alive)

    def count(self, matches):
        """How many matching packets came to the proxy, whatever a rule did to them."""
        with self.changed_:
            return sum(1 for packet in self.seen if matches(packet))

    def wait_seen(self, matches, count=1, timeout_s=None):
        """Waits until `count` matching packets have come in all; returns them."""
        found = []

        def enough():
            found[:] = [packet for packet in self.seen if matches(packet)]
            return len(found) >= count

        self.wait_until(enough, f"{count} matching packets at the proxy", timeout_s)
        return found[:count]

    def wait_until(self, condition, what, timeout_s=None):
        """Waits for a condition on the proxy's state; asked again after every packet."""
        with self.changed_:
            if not self.changed_.wait_for(condition, patience(timeout_s)):
                raise AssertionError(f"waited in vain for {what}")

    # Inside the loop's thread ----------------------------------------------------------------------------------------

    def await_(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop_).result(30)

    def run_(self, function):
        async def call():
            with self.changed_:
                result = function()
                self.changed_.notify_all()
            return result

        return self.await_(call())

    def add_(self, rule):
        self.run_(lambda: self.rules_.append(rule))
        return rule

    async def stop_(self):
        self.server_.close()
        await self.server_.wait_closed()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def serve_(self, reader, writer):
        connection = Connection(self, reader, writer)
        try:
            if self.refusing_:
                return
            await connection.open(self.broker_port)
            self.connections_.append(connection)
            await self.relay_(connection)
        except (OSError, asyncio.CancelledError):
            pass  # either end went away: an ordinary event here
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(repr(error))
        finally:
            connection.abort()
            with self.changed_:
                if connection in self.connections_:
                    self.connections_.remove(connection)
                if self.by_client_.get(connection.client) is connection:
                    del self.by_client_[connection.client]
                self.changed_.notify_all()

    async def relay_(self, connection):
        pumps = {direction: asyncio.ensure_future(connection.pump(direction)) for direction in ("up", "down")}
        try:
            await asyncio.wait(pumps.values(), return_when=asyncio.FIRST_COMPLETED)
            ended = [direction for direction, pump in pumps.items() if pump.done()]
            # A partition hides the end of a connection too, as from a device that lost its power.
            while connection.alive and any(self.is_partitioned_(connection.client, one) for one in ended):
                await asyncio.sleep(0.02)
            for direction in ended:
                pumps[direction].result()
            connection.flush()
            for writer in connection.writers.values():
                await writer.drain()
                writer.close()
        finally:
            for pump in pumps.values():
                pump.cancel()
            await asyncio.gather(*pumps.values(), return_exceptions=True)

    def is_partitioned_(self, client, direction):
        return (None, direction) in self.partitions_ or (client, direction) in self.partitions_

    def adopt_(self, connection):
        self.by_client_[connection.client] = connection

    def handle_(self, connection, packet):
        with self.changed_:
            self.seen.append(packet)
            rule = self.rule_for_(packet) if packet.kind == "PUBLISH" else None
            if rule is None:
                connection.write(packet.direction, packet.raw)
            else:
                self.apply_(rule, connection, packet)
            if packet.kind == "CONNACK":
                connection.ready = True
                for parked in self.parked_.pop(connection.client, []):
                    self.inject_(parked)
            self.changed_.notify_all()

    def rule_for_(self, packet):
        for rule in self.rules_:
            try:
                if rule.wants_(packet):
                    rule.touched.append(packet)
                    return rule
            except Exception as error:  # pylint: disable=broad-except
                self.errors.append(f"predicate of a {rule.action_} rule: {error!r}")
        return None

    def apply_(self, rule, connection, packet):
        if rule.action_ == "duplicate":
            connection.write(packet.direction, packet.raw)
            for _ in range(rule.copies_):
                connection.write(packet.direction, packet.at_qos_0().raw)
            return
        if packet.qos == 1:  # taken in the receiver's name
            back = "down" if packet.direction == "up" else "up"
            connection.write(back, packet.puback())
        if rule.action_ == "hold":
            rule.held.append(packet)
        elif rule.action_ == "delay":
            self.loop_.call_later(rule.delay_s_, self.inject_, packet)

    def inject_(self, packet):
        """Sends a message on the client's present connection, or on its next one."""
        connection = self.by_client_.get(packet.client)
        if connection and connection.ready and connection.alive:
            connection.write(packet.direction, packet.at_qos_0().raw)
        else:
            self.parked_[packet.client].append(packet)


__all__ = ["MqttProxy", "MalformedPacket", "Rule", "message"]
