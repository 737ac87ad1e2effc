"""A TCP proxy between MQTT clients and a broker that can hold, delay, drop and duplicate selected messages, cut
connections, and partition them in one direction. It runs in its own thread; all methods may be called from the test.

    with MqttProxy(broker.port) as proxy:
        binds = proxy.hold(message("down", "berth/v1/+/nodes/n1/requests", type="Bind"))
        ...
        binds.wait(1)        # one message is being held
        binds.release()      # it is delivered now, and later ones pass freely

A QoS 1 message that is held or dropped is acknowledged to its sender at once, as by a broker that loses it
afterwards; when released it is delivered at QoS 0. Rules do not apply to QoS 2. Plain TCP only.
"""

import asyncio
import collections
import threading

from mqtt_packets import MalformedPacket, parse, read_connect, take_packet, topic_matches
from waiting import patience

RECORDED = 20000  # packets kept for count() and wait_seen()


def message(direction=None, topic=None, payload=None, client=None, **fields):
    """A predicate on PUBLISH packets. direction: "up" or "down"; topic: an MQTT filter; client: a client identifier;
    payload: a predicate on the JSON object; fields: members that the JSON object must have. A list of messages matches
    if one of them does."""

    def matches(packet):
        return (packet.kind == "PUBLISH" and direction in (None, packet.direction) and
                client in (None, packet.client) and (topic is None or topic_matches(topic, packet.topic)) and
                any(fields.items() <= each.items() and (payload is None or bool(payload(each)))
                    for each in packet.messages))

    return matches


class Rule:
    """What happens to the messages that a predicate selects. The first rule that selects a message applies."""

    def __init__(self, proxy, matches, action, limit=None, delay_s=0.0, copies=1):
        self.proxy_, self.matches_, self.action_ = proxy, matches, action
        self.limit_, self.delay_s_, self.copies_ = limit, delay_s, copies
        self.touched = []  # every packet it selected, in order
        self.held = collections.deque()

    def wait(self, count=1, timeout_s=None):
        """Waits until the rule has selected `count` messages in total; returns them."""
        self.proxy_.wait_until(lambda: len(self.touched) >= count, f"{count} messages selected by the {self.action_} rule",
                               timeout_s)
        return list(self.touched[:count])

    def release(self, count=None, keep=False):
        """Delivers held messages in order: all, or the first `count`. Releasing all of them ends the rule unless `keep`."""
        self.proxy_.run_(lambda: self.release_now_(count, keep))

    def end(self):
        """Ends the rule; messages it holds are lost."""
        self.proxy_.run_(lambda: self.proxy_.rules_.remove(self) if self in self.proxy_.rules_ else None)

    def release_now_(self, count, keep):
        if not keep and count is None and self in self.proxy_.rules_:
            self.proxy_.rules_.remove(self)
        for _ in range(len(self.held) if count is None else min(count, len(self.held))):
            self.proxy_.inject_(self.held.popleft())

    def selects_(self, packet):
        if packet.qos == 2 or (self.limit_ is not None and len(self.touched) >= self.limit_):
            return False
        return self.matches_(packet)


class Connection:
    """One client's connection and the proxy's own to the broker for it."""

    def __init__(self, proxy, reader, writer):
        self.proxy, self.client, self.level, self.alive = proxy, "", 4, True
        self.readers = {"up": reader, "down": None}
        self.writers = {"down": writer, "up": None}  # by the direction of the data
        self.stalled = {"up": [], "down": []}  # bytes held back by a partition
        self.ready = False  # CONNACK has been forwarded

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

    async def forward(self, direction):
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
                    self.proxy.register_(self)
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
        self.errors = []  # internal errors; raised by close()
        self.seen = collections.deque(maxlen=RECORDED)
        self.rules_, self.connections_, self.by_client_ = [], [], {}
        self.pending_ = collections.defaultdict(list)  # injected messages for clients that are not connected
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
            raise AssertionError(f"errors in the proxy: {self.errors[:3]}")

    # Rules -----------------------------------------------------------------------------------------------------------

    def hold(self, matches, limit=None):
        """Holds matching messages (at most the first `limit`) until release()."""
        return self.add_(Rule(self, matches, "hold", limit))

    def drop(self, matches, limit=None):
        """Drops matching messages, but acknowledges them to their sender."""
        return self.add_(Rule(self, matches, "drop", limit))

    def duplicate(self, matches, copies=1, limit=None):
        """Delivers matching messages, each followed by `copies` duplicates."""
        return self.add_(Rule(self, matches, "duplicate", limit, copies=copies))

    def delay(self, matches, delay_s, limit=None):
        """Delivers matching messages delay_s later; other messages overtake them."""
        return self.add_(Rule(self, matches, "delay", limit, delay_s=delay_s))

    # Links -----------------------------------------------------------------------------------------------------------

    def cut(self, client=None):
        """Aborts a client's connection (or all of them) without a DISCONNECT, so that the broker publishes the will."""
        self.run_(lambda: [c.abort() for c in list(self.connections_) if client in (None, c.client)])

    def refuse(self, refusing=True):
        """Closes new connections at once, until refuse(False)."""
        self.run_(lambda: setattr(self, "refusing_", refusing))

    def partition(self, client=None, direction="both"):
        """Stops data to the broker ("up"), from it ("down") or both, until heal(); connections stay open."""
        both = ("up", "down") if direction == "both" else (direction,)
        self.run_(lambda: self.partitions_.update((client, one) for one in both))

    def heal(self):
        """Ends all partitions, and forwards the data held back on connections that are still open."""

        def heal():
            self.partitions_.clear()
            for connection in self.connections_:
                if connection.alive:
                    connection.flush()

        self.run_(heal)

    # Observations ----------------------------------------------------------------------------------------------------

    def clients(self):
        """Identifiers of the clients that are connected."""
        with self.changed_:
            return sorted(c.client for c in self.connections_ if c.ready and c.alive)

    def count(self, matches):
        """How many matching packets have reached the proxy, whatever rules did to them."""
        with self.changed_:
            return sum(1 for packet in self.seen if matches(packet))

    def wait_seen(self, matches, count=1, timeout_s=None):
        """Waits until `count` matching packets have reached the proxy in total; returns them."""
        found = []

        def enough():
            found[:] = [packet for packet in self.seen if matches(packet)]
            return len(found) >= count

        self.wait_until(enough, f"{count} matching packets at the proxy", timeout_s)
        return found[:count]

    def wait_until(self, condition, what, timeout_s=None):
        """Waits for a condition on the proxy's state, evaluated after every packet."""
        with self.changed_:
            if not self.changed_.wait_for(condition, patience(timeout_s)):
                raise AssertionError(f"timed out waiting for {what}")

    # On the loop's thread --------------------------------------------------------------------------------------------

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
            pass  # one end closed the connection: a normal event here
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
        tasks = {direction: asyncio.ensure_future(connection.forward(direction)) for direction in ("up", "down")}
        try:
            await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_COMPLETED)
            ended = [direction for direction, task in tasks.items() if task.done()]
            # A partition also hides that a connection was closed, as with a device that lost power.
            while connection.alive and any(self.is_partitioned_(connection.client, one) for one in ended):
                await asyncio.sleep(0.02)
            for direction in ended:
                tasks[direction].result()
            connection.flush()
            for writer in connection.writers.values():
                await writer.drain()
                writer.close()
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    def is_partitioned_(self, client, direction):
        return (None, direction) in self.partitions_ or (client, direction) in self.partitions_

    def register_(self, connection):
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
                for pending in self.pending_.pop(connection.client, []):
                    self.inject_(pending)
            self.changed_.notify_all()

    def rule_for_(self, packet):
        for rule in self.rules_:
            try:
                if rule.selects_(packet):
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
        if packet.qos == 1:  # acknowledged on behalf of the receiver
            back = "down" if packet.direction == "up" else "up"
            connection.write(back, packet.puback())
        if rule.action_ == "hold":
            rule.held.append(packet)
        elif rule.action_ == "delay":
            self.loop_.call_later(rule.delay_s_, self.inject_, packet)

    def inject_(self, packet):
        """Sends a message on the client's current connection, or on its next one."""
        connection = self.by_client_.get(packet.client)
        if connection and connection.ready and connection.alive:
            connection.write(packet.direction, packet.at_qos_0().raw)
        else:
            self.pending_[packet.client].append(packet)


__all__ = ["MqttProxy", "MalformedPacket", "Rule", "message"]
