"""A device under test, and the gateway that the kit plays to it."""

import itertools
import json
import os
import shutil
import signal
import uuid
from pathlib import Path

from broker import Client
from manifests import pod
from mqtt_packets import messages_of
from programs import Program
from waiting import wait_until

GATEWAY, NODE, STORE = "gw", "n1", "store-1"
CAPACITY = {"cpu": "2", "memory": "512Mi", "pods": "20"}  # what the command must make the agent offer


class Failure(AssertionError):
    """What the device did, and what the protocol asks for."""


def need(holds, what, seen=None):
    if not holds:
        raise Failure(what if seen is None else f"{what}; got {seen}")


def epoch(counter, term=1):
    return f"{term}.{counter}"


def order(text):
    term, counter = text.split(".")
    return int(term), int(counter)


class Device:
    """One agent with a store and a fleet of its own. `ask` sends a request and returns the answer."""

    def __init__(self, command, port, folder, schemas):
        self.fleet, self.folder, self.schemas, self.port = "k" + uuid.uuid4().hex[:10], Path(folder), schemas, port
        self.command, self.state = command, self.folder / "state"
        self.folder.mkdir(parents=True, exist_ok=True)
        values = {"broker": f"127.0.0.1:{port}", "port": port, "fleet": self.fleet, "node": NODE, "state": self.state}
        self.program = Program("agent", [part.format(**values) for part in command], self.folder)
        self.root = f"berth/v1/{self.fleet}/"
        self.answers = f"{self.root}gateways/{GATEWAY}/answers/{NODE}"
        self.client = None
        self.listen()
        self.term, self.store, self.floor = 1, STORE, epoch(1)
        self.numbers = itertools.count(1)
        self.wiped = set()  # incarnations

    def listen(self):
        """Connects the kit's own client, again if the broker has restarted; what it heard before is forgotten."""
        if self.client:
            self.client.close()
        self.read_, self.answered_ = 0, []  # how many messages are decoded, and the answers among them
        self.client = Client(self.port, "kit-" + self.fleet)
        self.client.subscribe(self.root + "#")

    # The program -----------------------------------------------------------------------------------------------------

    def start(self):
        """Starts the agent, and waits until it has said everything that it says at a connect."""
        session = self.session()
        self.state.mkdir(parents=True, exist_ok=True)
        beats = len(self.client.of(self.topic("heartbeat")))
        self.program.start()
        self.client.wait(lambda: self.is_up_() and self.session() > session and self.presence()["online"],
                         "presence with a later session")
        self.client.wait(lambda: self.is_up_() and len(self.client.of(self.topic("heartbeat"))) > beats,
                         "the heartbeat of the new session")
        return self

    def is_up_(self):
        need(self.program.alive(), "the command must go on until it is stopped", "it ended")
        return True

    def kill(self, number=signal.SIGKILL):
        self.program.kill(number)

    def restart(self):
        self.kill()
        return self.start()

    def wipe(self):
        """The device loses its store; what it runs stays."""
        self.kill()
        self.wiped.add(self.incarnation)
        shutil.rmtree(self.state)

    def freeze(self):
        os.kill(self.program.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.program.pid, signal.SIGCONT)

    def close(self):
        self.program.stop()
        self.client.close()

    # What it says ----------------------------------------------------------------------------------------------------

    def topic(self, below):
        return f"{self.root}nodes/{NODE}/{below}"

    def presence(self):
        """The last one of the latest session: a will may come late, even that of a store that was wiped."""
        said = [json.loads(payload) for _, payload in self.client.of(self.topic("presence"))]
        said = [presence for presence in said if presence["incarnation"] not in self.wiped]
        return max(said, key=lambda presence: int(presence["session"]) * 2 + (not presence["online"]),
                   default={"session": "0", "online": False})

    def session(self):
        return int(self.presence()["session"])

    def reported(self):
        return self.client.value(self.topic("state"))

    @property
    def incarnation(self):
        return self.presence()["incarnation"]

    def status(self, name):
        """The retained status of a pod; "" when it is cleared or was never there."""
        return self.client.value(self.topic(f"pods/default/{name}")) or ""

    def wait_status(self, name, matches, what):
        self.client.wait(lambda: matches(self.status(name)), f"the status of {name}: {what}")

    def all_answers(self):
        """Every answer since listen(). Each message is decoded once: a check may ask thousands of times."""
        with self.client.changed:
            new = self.client.messages[self.read_:]
            self.read_ += len(new)
        self.answered_ += [answer for topic, payload in new if topic == self.answers
                           for answer in messages_of(json.loads(payload))]
        return self.answered_

    def check_forms(self):
        """Everything that the device sent has the form of transports/schema."""
        for topic, payload in list(self.client.messages):
            if topic == self.topic("requests") or not topic.startswith((self.topic(""), self.answers)):
                continue
            wrong = self.schemas.errors(topic, payload)
            need(not wrong, f"a message on {topic} has a wrong form: {wrong[:2]}", payload[:300])

    # What it is asked ------------------------------------------------------------------------------------------------

    def request(self, kind, at=None, uid=None, **more):
        request = {"type": kind, "gateway": GATEWAY, "term": str(self.term), "storeId": self.store, "floor": self.floor}
        if kind in ("PreBind", "Bind", "Release"):
            request.update(incarnation=self.incarnation, uid=uid, epoch=at)
        return {**request, **more}

    def send(self, *requests):
        """Sends requests, several as a list."""
        self.client.publish(self.topic("requests"), requests[0] if len(requests) == 1 else {"items": list(requests)})

    def send_raw(self, payload):
        self.client.publish(self.topic("requests"), payload)

    def wait_answer(self, after, request, timeout_s=None):
        """The answer that follows the first `after` ones and answers this request."""
        def fits(answer):
            if request["type"] == "List":
                return answer["type"] == "Superseded" or answer.get("listId") == request.get("listId")
            return answer.get("epoch") == request["epoch"] and answer.get("uid", request["uid"]) == request["uid"]

        found = []

        def answered():
            found[:] = [answer for answer in self.all_answers()[after:] if fits(answer)]
            return bool(found)

        self.client.wait(answered, f"the answer to {request['type']} {request.get('epoch', '')}", timeout_s)
        return found[0]

    def ask_request(self, request):
        after = len(self.all_answers())
        self.send(request)
        return self.wait_answer(after, request)

    def ask(self, kind, at=None, uid=None, **more):
        return self.ask_request(self.request(kind, at, uid, **more))

    def manifest(self, name, uid, **more):
        manifest = pod(name, terminationGracePeriodSeconds=1, **more)
        manifest["metadata"]["uid"] = uid
        return manifest

    def pre_bind_of(self, at, uid, manifest=None, promise_ms=60000, **more):
        return self.request("PreBind", at, uid, promiseMs=str(promise_ms), pod=manifest or self.manifest(uid, uid), **more)

    def pre_bind(self, at, uid, manifest=None, **more):
        return self.ask_request(self.pre_bind_of(at, uid, manifest, **more))

    def run(self, at, uid, manifest=None):
        """Places a pod and starts it."""
        placed = self.pre_bind(at, uid, manifest)
        need(placed["type"] == "PreBound", "PreBind of a pod that fits is answered PreBound", placed)
        bound = self.ask("Bind", at, uid)
        need(bound["type"] == "Bound", "Bind of a prepared slot is answered Bound", bound)

    def list_page(self, page, list_id, **more):
        return self.ask("List", page=page, listId=str(list_id), **more)

    def slots(self):
        """All slots, by a complete listing: {uid: slot}."""
        list_id = 1000 + next(self.numbers)
        first = self.list_page(0, list_id)
        need(first["type"] == "Slots" and first["page"] == 0, "List is answered by page 0 of Slots", first)
        pages = [first] + [self.list_page(page, list_id) for page in range(1, first["pages"])]
        return {slot["uid"]: slot for page in pages for slot in page["slots"]}

    def slot(self, uid):
        """(epoch, state) of a pod's slot; None when there is none."""
        found = self.slots().get(uid)
        return (found["epoch"], found["state"]) if found else None

    def wait_no_slot(self, uid, what):
        """Asks again until the pod has no slot."""
        wait_until(lambda: self.slot(uid) is None, what)
