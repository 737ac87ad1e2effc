"""A device node written in Python from the protocol (transports/README.md), for answers that no real agent gives."""

import json
import threading

from broker import Client
from mqtt_packets import messages_of


class FakeDevice:
    """Answers requests as `rules` say: {type: function(request) -> members of the answer, or None for no answer}. Unless
    overridden, it lists no slots and releases at once."""

    def __init__(self, fleet, port, node, rules=None, **facts):
        self.fleet, self.node, self.incarnation = fleet, node, f"fake-{node}"
        self.rules = {"List": lambda request: {"type": "Slots", "page": 0, "pages": 1, "listId": request["listId"],
                                               "slots": []},
                      "Release": lambda request: {"type": "Released"}, **(rules or {})}
        self.facts = {"labels": {}, "taints": [], "allocatable": {"cpu": "2", "memory": "512Mi", "pods": "20"},
                      "images": [], "volumes": [], **facts}
        self.sequence = 0
        self.asked = []
        self.client = Client(port, f"fake-{node}")
        self.client.paho.message_callback_add(self.topic("requests"), self.on_request_)
        self.client.subscribe(self.topic("requests"))
        self.publish_presence(True)
        self.publish_state()

    def topic(self, below):
        return self.fleet.topic(f"nodes/{self.node}/{below}")

    def about_self(self):
        self.sequence += 1
        return {"incarnation": self.incarnation, "bootId": "boot", "session": "1", "sequence": str(self.sequence)}

    def publish_presence(self, online):
        self.client.publish(self.topic("presence"), {**self.about_self(), "online": online}, retain=True)

    def publish_state(self, **facts):
        self.facts.update(facts)
        state = {**self.about_self(), "heartbeatMs": 600000, **self.facts}
        self.client.publish(self.topic("state"), state, retain=True)

    def wait_asked(self, kind, count=1):
        """Waits for `count` requests of the type; returns them."""
        self.client.wait(lambda: len([r for r in self.asked if r["type"] == kind]) >= count, f"{count} {kind}")
        return [r for r in self.asked if r["type"] == kind][:count]

    def close(self):
        self.client.close()

    def on_request_(self, _client, _userdata, received):
        for request in messages_of(json.loads(received.payload)):
            self.take_(request)

    def take_(self, request):
        with self.client.changed:
            self.asked.append(request)
            self.client.changed.notify_all()
        rule = self.rules.get(request["type"])
        answer = rule(request) if rule else None
        if answer:
            echo = {key: request[key] for key in ("term", "storeId", "uid", "epoch") if key in request}
            # Not on paho's network thread, where publish() must not block.
            threading.Thread(target=self.answer_, args=(request, {"incarnation": self.incarnation, **echo, **answer})).start()

    def answer_(self, request, answer):
        self.client.paho.publish(self.fleet.topic(f"gateways/{request['gateway']}/answers/{self.node}"),
                                 json.dumps(answer), 1)
