"""A real mosquitto for one test, optionally with TLS and client certificates, and a client that records what it receives."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import paho.mqtt.client as mqtt
from mqtt_packets import messages_of, topic_matches
from ports import free_port
from programs import Program
from waiting import patience, wait_until


def mosquitto_path():
    for folder in (*os.environ["PATH"].split(":"), "/usr/sbin"):
        if os.access(Path(folder) / "mosquitto", os.X_OK):
            return str(Path(folder) / "mosquitto")
    raise AssertionError("mosquitto is not installed: apt-get install mosquitto")


class Authority:
    """A certificate authority for one test; issues certificates for the broker and for clients."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ca = self.folder / "ca.crt"
        self.openssl_("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                      "-subj", "/CN=berth test authority", "-keyout", "ca.key", "-out", "ca.crt")

    def issue(self, identity, server=False):
        """Issues a certificate with the identity as common name; returns the files (certificate, key)."""
        names = "subjectAltName=DNS:localhost,IP:127.0.0.1" if server else f"subjectAltName=DNS:{identity}"
        (self.folder / f"{identity}.ext").write_text(names + "\n", encoding="utf-8")
        self.openssl_("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                      f"/CN={identity}", "-keyout", f"{identity}.key", "-out", f"{identity}.csr")
        self.openssl_("x509", "-req", "-in", f"{identity}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "2", "-extfile", f"{identity}.ext", "-out", f"{identity}.crt")
        return self.folder / f"{identity}.crt", self.folder / f"{identity}.key"

    def openssl_(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"openssl {arguments[0]}: {done.stderr}"


class Broker:
    """After kill() and start() it has the same port and, unless it is persistent, has lost all state, like the embedded
    broker after a power cut."""

    def __init__(self, folder, authority=None, config="", persistent=False):
        """persistent: keeps sessions and retained messages in `self.saved`, as of its end or of the last save()."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.authority, self.extra, self.persistent = authority, config, persistent
        self.saved = self.folder / "mosquitto.db"
        self.port = self.program = None

    def start(self):
        self.port = self.port or free_port()
        self.program = Program("mosquitto", [mosquitto_path(), "-c", self.write_config_(self.port)], self.folder)
        logged = len(self.program.output())
        self.program.start()
        while self.program.alive() and " running" not in self.program.output()[logged:]:
            threading.Event().wait(0.01)
        if not self.program.alive():
            raise AssertionError(f"mosquitto does not start:\n{self.program.output()[-3000:]}")
        return self

    def write_config_(self, port):
        lines = [f"listener {port} 127.0.0.1", "allow_anonymous true", "persistence false", "max_queued_messages 0",
                 "max_inflight_messages 100", "set_tcp_nodelay true", "log_dest stderr", "log_type all"]
        if self.persistent:
            lines[lines.index("persistence false")] = f"persistence true\npersistence_location {self.folder}/"
        if os.getuid() == 0:
            lines.append("user root")  # it must be able to read the test's folder
        if self.authority:
            certificate, key = self.authority.issue("localhost", server=True)
            lines += [f"cafile {self.authority.ca}", f"certfile {certificate}", f"keyfile {key}",
                      "require_certificate true", "use_identity_as_username true"]
        path = self.folder / "mosquitto.conf"
        path.write_text("\n".join(lines) + "\n" + self.extra, encoding="utf-8")
        return path

    def kill(self):
        self.program.kill()

    def save(self):
        """A persistent broker writes what it has to `self.saved`."""
        self.saved.unlink(missing_ok=True)
        self.program.kill(signal.SIGUSR1)
        wait_until(self.saved.exists, "the broker to save its state")

    def stop(self):
        if self.program:
            self.program.stop()


SENT_BY_TESTS = set()  # hashes of (topic, payload), of all clients of this process


def was_sent_by_a_test(topic, payload):
    return hash((topic, payload)) in SENT_BY_TESTS


def as_bytes(payload):
    return payload if isinstance(payload, (bytes, bytearray)) else (payload or "").encode("utf-8")


class Client:
    """A paho client with blocking calls, for tests that use MQTT directly. Records what it receives."""

    def __init__(self, port, identity="", certificate=None, clean=True, will=None, authority=None, password=None,
                 protocol=4, username=None):
        """With a password, the identity is also the user name, unless there is one."""
        self.changed = threading.Condition()
        self.messages, self.latest, self.connected, self.granted, self.acked = [], {}, 0, set(), set()
        self.vanished, self.refused = False, None
        self.times_lost = 0  # it connects again by itself
        # MQTT 5 (protocol=5) always uses a clean start here.
        self.paho = mqtt.Client(identity, clean_session=clean if protocol < 5 else None, protocol=protocol)
        self.paho.on_connect = lambda c, u, flags, code, *more: self.on_connect_(code)
        self.paho.on_disconnect = lambda *_: self.on_disconnect_()
        self.paho.on_message = self.on_message_
        self.paho.on_subscribe = lambda c, u, mid, *more: self.note_(self.granted, mid)
        self.paho.on_publish = lambda c, u, mid: self.note_(self.acked, mid)
        self.paho.reconnect_delay_set(1, 1)
        self.publish_ = self.paho.publish
        self.paho.publish = self.publish_and_note_
        if will:
            SENT_BY_TESTS.add(hash((will[0], as_bytes(will[1]))))
            self.paho.will_set(*will)
        if password is not None:
            self.paho.username_pw_set(username or identity, password)
        if authority:
            self.paho.tls_set(str(authority.ca), *(str(path) for path in certificate or ()))
        self.paho.connect("localhost" if authority else "127.0.0.1", port, keepalive=60)
        self.paho.loop_start()
        self.wait(lambda: self.connected or self.refused, "the connection")
        if self.refused:
            self.close()
            raise ConnectionRefusedError(str(self.refused))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if not self.vanished:
            self.paho.disconnect()
            self.paho.loop_stop()

    def vanish(self):
        """Closes the socket without a DISCONNECT, and does not reconnect."""
        self.vanished = True
        self.paho.loop_stop()
        self.paho.socket().close()

    def subscribe(self, topic, qos=1):
        _, mid = self.paho.subscribe(topic, qos)
        self.wait(lambda: mid in self.granted, f"the subscription to {topic}")

    def publish(self, topic, payload="", qos=1, retain=False, properties=None):
        """payload: text, bytes, or a value to encode as JSON. Returns once the broker has acknowledged the message."""
        if not isinstance(payload, (str, bytes)):
            payload = json.dumps(payload)
        mid = self.paho.publish(topic, payload, qos, retain, properties).mid
        self.wait(lambda: mid in self.acked, f"the acknowledgement on {topic}")

    def publish_and_note_(self, topic, payload=None, *rest, **named):
        SENT_BY_TESTS.add(hash((topic, bytes(as_bytes(payload)))))
        return self.publish_(topic, payload, *rest, **named)

    def of(self, pattern):
        """(topic, payload) of each message received so far whose topic matches."""
        with self.changed:
            return [(t, p) for t, p in self.messages if topic_matches(pattern, t)]

    def wait_message(self, pattern, matches=lambda value: True, count=1, timeout_s=None):
        """Waits for `count` messages whose topic and value match; returns their values: decoded JSON, or the text where
        it is not JSON."""
        found = []

        def enough():
            found[:] = [v for t, p in self.messages if topic_matches(pattern, t)
                        for v in messages_of(decode(p)) if matches(v)]
            return len(found) >= count

        self.wait(enough, f"{count} messages on {pattern}", timeout_s)
        return found

    def wait_latest(self, topic, matches, timeout_s=None):
        """Waits until the latest message on a topic matches; returns its value."""
        self.wait(lambda: topic in self.latest and matches(decode(self.latest[topic])), f"the state of {topic}", timeout_s)
        with self.changed:
            return decode(self.latest[topic])

    def value(self, topic):
        with self.changed:
            return decode(self.latest[topic]) if topic in self.latest else None

    def wait(self, condition, what, timeout_s=None):
        with self.changed:
            if not self.changed.wait_for(condition, patience(timeout_s)):
                raise AssertionError(f"timed out waiting for {what}")

    def note_(self, where, item):
        with self.changed:
            where.add(item)
            self.changed.notify_all()

    def on_connect_(self, code):
        with self.changed:
            self.connected += code == 0
            self.refused = None if code == 0 else code
            self.changed.notify_all()

    def on_disconnect_(self):
        with self.changed:
            self.times_lost += 1
            self.connected = 0
            self.changed.notify_all()

    def on_message_(self, _client, _userdata, received):
        with self.changed:
            self.messages.append((received.topic, received.payload))
            self.latest[received.topic] = received.payload
            self.changed.notify_all()


def decode(payload):
    try:
        return json.loads(payload)
    except ValueError:
        return payload.decode("utf-8", "replace")
