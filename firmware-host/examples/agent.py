#!/usr/bin/python3
"""A minimal device agent in another language: what transports/README.md asks of one, in one file, for reading.

It only pretends to run pods: a slot that is running is all there is of its pod. Comments that begin with "Here" name the
places where a real agent finds, starts and stops processes. What it could not do it rejects, as a real one would. State is one
JSON file, replaced and synced before anything is answered. Needs paho-mqtt 1.x (Debian: python3-paho-mqtt):

    firmware-host/examples/agent.py --node n1 --fleet default --broker 127.0.0.1:1883 --state-dir /tmp/n1
"""

import argparse
import json
import os
import re
import sys
import time
import uuid
from fractions import Fraction
from pathlib import Path

import paho.mqtt.client as mqtt

MAX_SLOTS, MAX_PAYLOAD, MAX_MANIFEST, PAGE_BYTES = 512, 64 * 1024, 56 * 1024, 58 * 1024
ID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
NUMBER = re.compile(r"0|[1-9][0-9]{0,19}")
QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|[kMGTPE]|[KMGTPE]i)?")
SCALE = {None: 1, "m": Fraction(1, 1000), **{unit: 1000 ** n for n, unit in enumerate("kMGTPE", 1)},
         **{unit + "i": 1024 ** n for n, unit in enumerate("KMGTPE", 1)}}
BAD = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # what reading a bad message raises
FEATURES = []  # of transports/README.md, "Features", all of which undone_of() and why_not() reject
ZERO = [0, 0]  # no epoch; epochs are lists [term, counter], which compare as they should


def form(pattern, value, what):
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"{what}: got {value!r}")
    return value


def number(value):
    if int(form(NUMBER, value, "number")) >= 1 << 64:
        raise ValueError(f"number: got {value}")
    return int(value)


def epoch_of(text):
    term, _, counter = form(re.compile(r"[0-9]+\.[0-9]+"), text, "epoch").partition(".")
    return [number(term), number(counter)]


def text_of(epoch):
    return f"{epoch[0]}.{epoch[1]}"


def without_duplicates(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a member is given twice")
    return dict(pairs)


def messages_of(payload):
    """The messages of a payload, each with the defaults of its list."""
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"{len(payload)} bytes")
    value = json.loads(payload.decode(), object_pairs_hook=without_duplicates)
    items = value.pop("items", [{}])
    if not isinstance(items, list) or not 1 <= len(items) <= 32:
        raise ValueError("items: must be 1 to 32 messages")
    return [{**value, **item} if isinstance(item, dict) else {} for item in items]


def now_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 10**6


def key_of(pod):
    return "/".join(form(NAME, pod["metadata"][member], member) for member in ("namespace", "name"))


def host_ports(pod):
    shared = pod["spec"].get("hostNetwork") is True
    return {(port.get("protocol", "TCP"), port.get("hostPort") or port["containerPort"])
            for container in pod["spec"]["containers"] for port in container.get("ports", []) if port.get("hostPort") or shared}


def undone_of(spec):
    """Members that ask for what this agent does not do: it rejects rather than run something else; empty: none."""
    pod = ("securityContext", "activeDeadlineSeconds", "hostAliases", "runtimeClassName")
    container = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "securityContext")
    asked = [f"spec.{member}" for member in pod if spec.get(member)]
    for number, each in enumerate(spec["containers"]):
        asked += [f"spec.containers[{number}].{member}" for member in container if each.get(member)]
        if any("/" not in resource for resource in each.get("resources", {}).get("limits") or {}):
            asked.append(f"spec.containers[{number}].resources.limits")
        sources = [variable["valueFrom"] for variable in each.get("env", []) if variable.get("valueFrom")]
        fields = [source.get("fieldRef", {}).get("fieldPath", "") for source in sources]
        if each.get("envFrom") or not all(field.startswith("metadata.") or field == "spec.nodeName" for field in fields):
            asked.append(f"spec.containers[{number}].env from elsewhere")
        if not (each.get("image") or ("/" if each.get("command") else "")).startswith("/"):
            asked.append(f"spec.containers[{number}].image")
    return ", ".join(asked)


def quantity(text):
    found = QUANTITY.fullmatch(str(text))
    if not found:
        raise ValueError(f"{text!r} is not a quantity that this agent reads")
    return Fraction(found[1]) * SCALE[found[2]]


def requests_of(pod):
    total = {}
    for container in pod["spec"]["containers"]:
        resources = container.get("resources", {})
        for name, text in {**resources.get("limits", {}), **resources.get("requests", {})}.items():
            total[name] = total.get(name, 0) + quantity(text)
    return total


class Store:
    """The durable state. save() returns only when it is on flash; an error ends the agent."""

    def __init__(self, folder):
        self.path = Path(folder) / "agent.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.saved = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        self.state = json.loads(self.saved) if self.saved else {
            "incarnation": "", "boot": "", "session": 0, "gateway": [], "floor": ZERO, "high": {}, "slots": {}}

    def save(self):
        text, fresh = json.dumps(self.state), self.path.with_suffix(".new")
        if text == self.saved:
            return
        try:
            with open(fresh, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            os.replace(fresh, self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        except OSError as error:  # what is on flash now is not known
            sys.exit(f"cannot save: {error}")
        self.saved = text


class Agent:
    def __init__(self, options):
        self.node, self.broker, self.root = options.node, options.broker, f"berth/v1/{options.fleet}/"
        self.capacity = dict(pair.split("=", 1) for pair in options.capacity)
        self.store = Store(options.state_dir)
        self.state, self.slots = self.store.state, self.store.state["slots"]
        self.boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        self.client = mqtt.Client(f"example-{options.fleet}-{options.node}", protocol=mqtt.MQTTv5)
        self.client.on_connect = lambda *_: self.client.subscribe(self.topic("requests"), 1)
        self.client.on_subscribe = lambda *_: self.announce()
        self.client.on_message = lambda _client, _userdata, message: self.on_message(message.payload)
        self.listing, self.sequence, self.cleared, self.beat_at = (None, []), 0, set(), 0

    def start(self):
        for uid, slot in list(self.slots.items()):
            if slot["state"] == "stopping" or (slot["state"] == "prepared" and self.state["boot"] != self.boot):
                self.end(uid)  # Here: go on with the stop first. A reboot ends promises (N5)
            slot["deadline"] = min(slot["deadline"], now_ms() + slot["promiseMs"])
        # Here: find every process that carries a tag of this node, stop those that no slot names, and wait until they are gone
        # (N0); with a new store that is all of them. Then take over those of running slots, and start those that are missing.
        self.state["boot"], self.state["session"] = self.boot, self.state["session"] + 1
        self.state["incarnation"] = self.state["incarnation"] or uuid.uuid4().hex
        self.store.save()

    # Connection ------------------------------------------------------------------------------------------------------

    def run(self):
        self.start()
        host, _, port = self.broker.rpartition(":")
        while True:
            self.client.will_set(self.topic("presence"), json.dumps(self.about(online=False)), 1, True)
            try:
                self.client.connect(host, int(port), keepalive=10, clean_start=True)
                while self.client.loop(0.1) == mqtt.MQTT_ERR_SUCCESS:
                    self.tick()
            except OSError as error:
                print(f"no connection: {error}", file=sys.stderr)
            if self.beat_at:  # that was a session: the next one has another number, on flash before the will that says it
                self.state["session"], self.beat_at = self.state["session"] + 1, 0
                self.store.save()
            self.tick()
            time.sleep(0.2)

    def tick(self):
        for uid in [uid for uid, slot in self.slots.items() if slot["state"] == "prepared" and slot["deadline"] <= now_ms()]:
            self.end(uid)  # N5
        if 0 < self.beat_at <= now_ms():
            self.beat()

    def topic(self, below):
        return f"{self.root}nodes/{self.node}/{below}"

    def about(self, **more):
        return {"incarnation": self.state["incarnation"], "bootId": self.boot, "session": str(self.state["session"]), **more}

    def publish(self, topic, payload, qos=1, retain=True):
        self.client.publish(topic, json.dumps(payload) if payload else "", qos, retain)

    def announce(self):
        self.beat_at = now_ms()
        self.report()
        self.publish(self.topic("presence"), self.about(online=True))
        for key in self.cleared:
            self.clear(key)
        self.cleared = set()
        self.beat()

    def report(self):
        self.sequence += 1
        self.publish(self.topic("state"), self.about(
            sequence=str(self.sequence), heartbeatMs="5000", protocol="1.1", labels={}, taints=[], allocatable=self.capacity,
            images=[], volumes=[], features=FEATURES))
        for uid in self.slots:
            self.publish_status(uid)

    def beat(self):
        self.sequence, self.beat_at = self.sequence + 1, now_ms() + 5000
        self.publish(self.topic("heartbeat"), {"incarnation": self.state["incarnation"], "sequence": str(self.sequence)},
                     0, False)

    def publish_status(self, uid):
        slot = self.slots[uid]
        self.publish(self.topic("pods/" + key_of(slot["pod"])), {
            "uid": uid, "epoch": text_of(slot["epoch"]), "incarnation": self.state["incarnation"], "slot": slot["state"],
            "phase": "Pending" if slot["state"] == "prepared" else "Running"})

    def clear(self, key):
        same = [uid for uid, slot in self.slots.items() if key_of(slot["pod"]) == key]
        if not self.beat_at:
            self.cleared.add(key)
        elif same:
            self.publish_status(same[-1])
        else:
            self.publish(self.topic("pods/" + key), "")

    # Requests --------------------------------------------------------------------------------------------------------

    def on_message(self, payload):
        try:
            requests = messages_of(payload)
        except BAD as error:
            print(f"dropped: {error!r}", file=sys.stderr)
            return
        for request in requests:
            try:
                self.take(request)
            except BAD as error:
                print(f"dropped: {error!r}", file=sys.stderr)

    def take(self, request):
        """N1-N4 and P10. Everything is read before anything changes: a bad request raises, and has done nothing."""
        kind, gateway = request["type"], form(NAME, request["gateway"], "gateway")
        sender, floor = [number(request["term"]), form(ID, request["storeId"], "storeId")], epoch_of(request["floor"])
        take = {"PreBind": self.take_pre_bind, "Bind": self.take_bind, "Release": self.take_release, "List": self.take_list,
                "Heartbeat": lambda *_: None}[kind]
        about, uid, epoch = {}, None, None
        if kind in ("PreBind", "Bind", "Release"):
            named = request if kind != "PreBind" or "uid" in request else request["pod"]["metadata"]
            uid, epoch, _ = form(ID, named["uid"], "uid"), epoch_of(request["epoch"]), request["incarnation"]
            about = {"uid": uid, "epoch": request["epoch"]}
            if epoch == ZERO:
                raise ValueError("epoch: 0.0 means none")
        if kind == "PreBind" and (number(request["promiseMs"]) < 0 or not isinstance(request["pod"], dict)):
            raise ValueError("pod: must be an object")
        if kind == "List" and (type(request["page"]) is not int or request["page"] < 0 or number(request["listId"]) < 0):
            raise ValueError("page: must be a whole number")
        proof = form(ID, request["proof"], "proof") if kind == "List" and "proof" in request else None

        def answer(what, identity=sender, **more):
            self.store.save()
            self.publish(f"{self.root}gateways/{gateway}/answers/{self.node}",
                         {"type": what, "incarnation": self.state["incarnation"], "term": str(identity[0]),
                          "storeId": identity[1], **about, **more}, 1, False)

        obeyed = self.state["gateway"]
        if request.get("incarnation", self.state["incarnation"]) != self.state["incarnation"]:
            return answer("Hello", toIncarnation=form(ID, request["incarnation"], "incarnation"))
        if obeyed and sender != obeyed and sender[0] <= obeyed[0]:
            return answer("Superseded", obeyed, **({"proof": self.state["proof"]} if self.state.get("proof") else {}))
        if sender != obeyed:
            self.note_obeyed(obeyed)
        if sender != obeyed or proof:
            self.state["proof"] = proof
        self.state["gateway"], self.state["floor"] = sender, max(self.state["floor"], floor)
        self.drop_high()
        self.store.save()
        take(answer, uid, epoch, request)

    def note_obeyed(self, obeyed):
        """N1: the last four gateways obeyed before of which there was a proof, for the listings."""
        if self.state.get("proof"):
            last = {"storeId": obeyed[1], "proof": self.state["proof"]}
            before = [each for each in self.state.get("before", []) if each != last]
            self.state["before"] = [*before, last][-4:]

    def drop_high(self):
        high = self.state["high"]
        for uid in [uid for uid in high if uid not in self.slots and high[uid] < self.state["floor"]]:
            del high[uid]

    def raise_high(self, uid, epoch):
        """Nothing up to the epoch that this returns runs later, once saved. Below the floor nothing is stored."""
        if epoch >= self.state["floor"]:
            self.state["high"][uid] = max(self.state["high"].get(uid, ZERO), epoch)
        return text_of(max(self.state["floor"], self.state["high"].get(uid, ZERO), epoch))

    def take_pre_bind(self, answer, uid, epoch, request):
        slot = self.slots.get(uid)
        if slot and slot["epoch"] == epoch:
            return answer("PreBound") if slot["state"] != "stopping" else None
        if epoch < self.state["floor"] or epoch <= self.state["high"].get(uid, ZERO):
            return answer("Stale", high=self.raise_high(uid, epoch))
        self.raise_high(uid, epoch)
        if slot and slot["state"] != "prepared":
            return answer("Rejected", reason=f"epoch {text_of(slot['epoch'])} of this pod is still {slot['state']} here")
        if slot:
            self.end(uid)
        if reason := self.why_not(request["pod"], request.get("volumes")):
            return answer("Rejected", reason=reason)
        # Here: with something to prepare, (epoch, preparing) is saved first, and PreBound leaves once prepared is saved.
        promise = int(request["promiseMs"])
        self.slots[uid] = {"epoch": epoch, "state": "prepared", "pod": request["pod"], "promiseMs": promise,
                           "deadline": now_ms() + promise}
        answer("PreBound")
        self.publish_status(uid)

    def why_not(self, pod, volumes):
        """Why the pod is not admitted; empty: it is."""
        others = [slot["pod"] for slot in self.slots.values()]
        try:
            key_of(pod)
            if len(json.dumps(pod)) > MAX_MANIFEST:
                return "pod: must be at most 56 KiB"
            for member in ("volumes", "initContainers", "overhead"):
                if pod["spec"].get(member) or volumes:
                    return f"spec.{member}: not supported by this node"
            if undone := undone_of(pod["spec"]):
                return f"{undone}: not supported by this node"
            if len(others) >= min(MAX_SLOTS, int(self.capacity["pods"])):
                return "too many pods"
            if taken := host_ports(pod) & set().union(*map(host_ports, others)):
                return f"host port {taken.pop()} is taken"
            for resource, asked in requests_of(pod).items():
                free = quantity(self.capacity.get(resource, "0")) - sum(requests_of(held).get(resource, 0) for held in others)
                if asked > free:
                    return f"insufficient {resource}: {float(asked):g} asked, {float(free):g} free"
        except BAD as error:
            return f"pod: {error!r}"
        return ""

    def take_bind(self, answer, uid, epoch, _request):
        slot = self.slots.get(uid)
        if not slot or slot["epoch"] != epoch:
            return answer("Stale", high=self.raise_high(uid, epoch))
        if slot["state"] == "prepared":
            slot["state"] = "running"
            self.store.save()
            # Here: fork a process that waits, save its pid and start time, and only then let it run.
            self.publish_status(uid)
        answer("Bound")

    def take_release(self, answer, uid, epoch, _request):
        self.raise_high(uid, epoch)
        if uid in self.slots and self.slots[uid]["epoch"] <= epoch:
            self.slots[uid]["state"] = "stopping"
            self.store.save()
            # Here: SIGTERM, after the grace period SIGKILL, and go on only when nothing of it is left.
            self.end(uid)
        answer("Released")

    def end(self, uid):
        key = key_of(self.slots.pop(uid)["pod"])
        self.drop_high()
        self.store.save()
        self.clear(key)

    def take_list(self, answer, _uid, _epoch, request):
        page, key = request["page"], [request["listId"], *self.state["gateway"]]
        if self.listing[0] != key or page >= len(self.listing[1]):
            pages, space = [[]], PAGE_BYTES  # frozen here: which slots there are, and on which page
            for uid, slot in self.slots.items():
                size = len(json.dumps(slot["pod"])) + 500
                if size > space and pages[-1]:
                    pages, space = [*pages, []], PAGE_BYTES
                pages[-1].append((uid, slot["epoch"]))
                space -= size
            self.listing, page = (key, pages), 0
        slots = [{"uid": uid, "epoch": text_of(epoch), "state": self.slots[uid]["state"], "pod": self.slots[uid]["pod"]}
                 for uid, epoch in self.listing[1][page] if uid in self.slots and self.slots[uid]["epoch"] == epoch]
        before = {"obeyedBefore": self.state["before"]} if page == 0 and self.state.get("before") else {}
        answer("Slots", page=page, pages=len(self.listing[1]), listId=request["listId"], slots=slots, **before)
        if request.get("report") is True:
            self.report()


def main():
    parser = argparse.ArgumentParser(description="A minimal device agent for Berth, which pretends to run pods.")
    for name, value in (("node", None), ("fleet", "default"), ("broker", "127.0.0.1:1883"), ("state-dir", None)):
        parser.add_argument("--" + name, default=value, required=value is None)
    parser.add_argument("--capacity", action="append", help="resource=quantity; default: cpu=2 memory=512Mi pods=20")
    options = parser.parse_args()
    options.capacity = options.capacity or ["cpu=2", "memory=512Mi", "pods=20"]
    Agent(options).run()


if __name__ == "__main__":
    main()
