"""Rules of the handshake that real programs rarely exercise by themselves, tested message by message."""

import pytest
from device import FakeDevice
from invariants import sleepers, wait_each_runs_once, wait_settled
from manifests import counted_pod, pod, starts
from waiting import wait_until


class FakeGateway:
    """Sends hand-written requests to an agent."""

    def __init__(self, fleet, connect, node):
        self.fleet, self.node = fleet, node
        self.client = connect(fleet.port, "fake-gateway")
        self.answers = fleet.topic(f"gateways/gw/answers/{node}")
        self.client.subscribe(self.answers)
        self.client.subscribe(fleet.topic(f"nodes/{node}/state"))
        state = self.client.wait_latest(fleet.topic(f"nodes/{node}/state"), lambda s: s != "")
        self.incarnation = state["incarnation"]
        self.presence = fleet.topic(f"nodes/{node}/presence")
        self.client.subscribe(self.presence)

    def wait_session(self, after):
        """Waits until the agent is connected in a session later than `after`; returns the session."""
        def later(presence):
            return presence != "" and presence["online"] and int(presence["session"]) > after
        return int(self.client.wait_latest(self.presence, later)["session"])

    def ask(self, kind, floor, epoch=None, uid="u1", **more):
        """Sends a request and returns its answer."""
        request = {"type": kind, "gateway": "gw", "term": "1", "storeId": "s", "floor": floor,
                   "incarnation": self.incarnation, **more}
        if epoch:
            request.update({"uid": uid, "epoch": epoch})
        count = len(self.client.of(self.answers))
        self.client.publish(self.fleet.topic(f"nodes/{self.node}/requests"), request)
        return self.client.wait_message(self.answers, count=count + 1)[count]

    def pre_bind(self, floor, epoch, uid="u1"):
        manifest = pod("web")
        manifest["metadata"]["uid"] = uid
        return self.ask("PreBind", floor, epoch, uid, promiseMs="60000", volumes=[], pod=manifest)


def test_an_agent_rejects_epochs_below_the_floor_it_was_given_even_after_a_restart(fleet, connect):
    fleet.start_agent("n1")
    gateway = FakeGateway(fleet, connect, "n1")
    session = gateway.wait_session(0)
    assert gateway.ask("List", "1.100", page=0, listId="7")["type"] == "Slots"
    refused = gateway.pre_bind("1.100", "1.50")
    assert (refused["type"], refused["high"], refused["epoch"]) == ("Stale", "1.100", "1.50")
    assert gateway.ask("Release", "1.100", "1.50")["type"] == "Released"
    fleet.kill("n1")
    fleet.restart("n1")
    gateway.wait_session(session)
    refused = gateway.pre_bind("1.1", "1.60")  # a delayed request, with the floor at the time it was sent
    assert (refused["type"], refused["high"]) == ("Stale", "1.100")
    assert gateway.pre_bind("1.100", "1.100")["type"] == "PreBound"
    with fleet.store("n1") as store:
        assert [slot.value["epoch"] for slot in store.records("slot").values()] == ["1.100"]


def test_a_gateway_hears_with_a_heartbeat_that_a_device_obeys_another_one(fleet, connect):
    assert fleet.observer  # from the first heartbeat on
    fleet.start("n1")
    other = FakeGateway(fleet, connect, "n1")
    other.wait_session(0)
    assert other.ask("List", "0.0", term=str(1 << 40), storeId="another", page=0, listId="7")["type"] == "Slots"
    fleet.programs["berthd"].wait_output("the node obeyed another gateway")  # long before it compares
    beats = fleet.topic("nodes/n1/heartbeat")
    fleet.observer.wait_message(beats, lambda beat: "answer" in beat)
    fleet.observer.wait_latest(beats, lambda beat: "answer" not in beat)


def number(epoch):
    term, counter = epoch.split(".")
    return int(term), int(counter)


def test_a_forgotten_node_gets_no_pod_before_it_has_accepted_a_floor_above_all_epochs_it_ran(fleet):
    fleet.start_gateway()
    device = FakeDevice(fleet, fleet.port, "n1", {"PreBind": lambda r: {"type": "PreBound"},
                                                  "Bind": lambda r: {"type": "Bound"}})
    try:
        fleet.wait_node("n1")
        fleet.apply(pod("web"))
        old = device.wait_asked("Bind")[0]
        fleet.wait_pod("web", lambda s: s.get("nodeName") == "n1")
        device.rules["List"] = lambda request: None
        fleet.ctl("forget", "node", "n1")
        seen = len(device.asked)
        device.publish_presence(True)
        device.client.wait(lambda: any(r["type"] == "List" for r in device.asked[seen:]), "a List")
        device.client.publish(device.topic("heartbeat"), {**device.about_self()})  # its answer comes after all other requests
        device.client.wait(lambda: any(r["type"] == "Heartbeat" for r in device.asked[seen:]), "an answer")
        assert {r["type"] for r in device.asked[seen:]} == {"List", "Heartbeat"}
        listed = next(r for r in device.asked[seen:] if r["type"] == "List")
        assert number(listed["floor"]) > number(old["epoch"])
        slot = {"uid": old["uid"], "epoch": old["epoch"], "state": "running", "pod": pod("web"), "volumes": []}
        device.rules["List"] = lambda request: {"type": "Slots", "page": 0, "pages": 1, "listId": request["listId"],
                                                "slots": [slot]}
        released = device.wait_asked("Release")[0]
        assert (released["uid"], released["epoch"]) == (old["uid"], old["epoch"])
        device.rules["List"] = lambda request: {"type": "Slots", "page": 0, "pages": 1, "listId": request["listId"],
                                                "slots": []}
        device.publish_state()
        second = device.wait_asked("PreBind", 2)[1]
        assert number(second["epoch"]) >= number(second["floor"]) > number(old["epoch"])
        types = [r["type"] for r in device.asked[seen:]]
        assert types.index("Release") < types.index("PreBind")
    finally:
        device.close()


@pytest.mark.parametrize("payload", [{"deleted": True, "uid": "of-another"}, ""], ids=["wrong-uid", "empty"])
def test_an_empty_payload_or_a_delete_of_another_uid_deletes_nothing_and_the_mirror_is_restored(fleet, tmp_path, connect,
                                                                                           payload):
    fleet.start("n1")
    fleet.apply(counted_pod("web", tmp_path))
    wait_each_runs_once(fleet, "web")
    topic = fleet.topic("desired/pods/default/web")
    fleet.observer.wait_latest(topic, lambda o: isinstance(o, dict) and "spec" in o)
    seen = len(fleet.observer.of(topic))
    connect(fleet.port, "operator-by-hand").publish(topic, payload, retain=True)
    fleet.observer.wait(lambda: len(fleet.observer.of(topic)) >= seen + 2, "the mirror")
    shown = fleet.observer.wait_latest(topic, lambda o: isinstance(o, dict) and "spec" in o)
    assert shown["metadata"]["name"] == "web"
    wait_each_runs_once(fleet, "web")
    assert starts("web", tmp_path) == 1


def test_a_retained_tombstone_with_the_right_uid_deletes_the_pod_and_is_cleared(fleet, tmp_path, connect):
    fleet.start("n1")
    fleet.apply(counted_pod("web", tmp_path))
    wait_each_runs_once(fleet, "web")
    uid = fleet.get("pod", "web")["metadata"]["uid"]
    topic = fleet.topic("desired/pods/default/web")
    connect(fleet.port, "operator-by-hand").publish(topic, {"deleted": True, "uid": uid}, retain=True)
    fleet.wait_gone("web")
    fleet.observer.wait_latest(topic, lambda o: o == "")
    assert wait_settled(fleet) == {} and sleepers(fleet.name) == {}
    fleet.kill("berthd")
    fleet.restart("berthd")  # the pod does not come back
    wait_until(lambda: fleet.ctl("status", check=False).returncode == 0, "the gateway")
    assert fleet.get("pod", "web") is None


def test_a_slot_without_a_row_is_released_and_a_row_without_a_slot_is_bound_again(fleet):
    fleet.start_gateway().wait_output("in step with the broker")  # no longer in adopt mode, in which the slot would be kept
    with fleet.store("berthd") as store:
        first_term = store.records("meta")["gateway"].value["term"].split(".")[0]
    given = f"{first_term}.2"  # in that term this gateway has given, and ended, what has such an epoch
    ghost = {"uid": "ghost", "epoch": given, "state": "running", "pod": pod("ghost"), "volumes": []}
    slots = [ghost]
    device = FakeDevice(fleet, fleet.port, "n1", {
        "PreBind": lambda r: {"type": "PreBound"}, "Bind": lambda r: {"type": "Bound"},
        "List": lambda r: {"type": "Slots", "page": 0, "pages": 1, "listId": r["listId"], "slots": list(slots)}})
    try:
        released = device.wait_asked("Release")[0]
        assert (released["uid"], released["epoch"]) == ("ghost", given)
        slots.clear()
        fleet.wait_node("n1")
        fleet.apply(pod("web"))
        first = device.wait_asked("Bind")[0]
        fleet.wait_pod("web", lambda s: s.get("nodeName") == "n1")
        device.client.publish(device.topic("presence"), {**device.about_self(), "session": "2", "online": True}, retain=True)
        again = device.wait_asked("Bind", 2)[1]  # its listing lacks the slot: the gateway asks again and concludes nothing
        assert (again["uid"], again["epoch"]) == (first["uid"], first["epoch"])
        with fleet.store("berthd") as store:
            assert [(row.value["node"], row.phase) for row in store.records("row").values()] == [("n1", "bound")]
    finally:
        device.close()


def test_a_retained_manifest_with_another_uid_stops_the_old_pod_and_then_starts_the_new_one(fleet, tmp_path, connect):
    fleet.start("n1", "n2")
    operator = connect(fleet.port, "operator-by-hand")
    for number, uid in enumerate(("u-1", "u-2"), 1):
        manifest = counted_pod("web", tmp_path)
        manifest["metadata"]["uid"] = uid
        operator.publish(fleet.topic("desired/pods/default/web"), manifest, retain=True)
        wait_until(lambda uid=uid: (shown := fleet.get("pod", "web")) and shown["metadata"]["uid"] == uid and
                   shown["status"].get("phase") == "Running", f"the pod with uid {uid}")
        wait_until(lambda count=number: starts("web", tmp_path) == count, f"the start of uid {uid}")
    wait_each_runs_once(fleet, "web")
    assert list(wait_settled(fleet)) == ["u-2"]
    assert starts("web", tmp_path) == 2
    shown = fleet.observer.wait_latest(fleet.topic("desired/pods/default/web"), lambda o: isinstance(o, dict))
    assert shown["metadata"]["uid"] == "u-2"
