"""What a device publishes on its own: state, presence, heartbeats, statuses, at each connection."""

from broker import Broker, Client
from kit import CAPACITY, NODE, Device, epoch, need


def check_a_connect_is_announced_behind_the_subscription(device):
    retained = {topic.removeprefix(device.topic("")) for topic, payload in device.client.messages if payload}
    need({"state", "presence", "heartbeat"} <= retained, "state, presence and a heartbeat are published", retained)
    state, presence = device.reported(), device.presence()
    need(state["incarnation"] == presence["incarnation"] and state["session"] == presence["session"],
         "state and presence have one incarnation and session", (state, presence))
    offered = {name: state["allocatable"].get(name) for name in ("cpu", "pods")}
    need(offered == {"cpu": CAPACITY["cpu"], "pods": CAPACITY["pods"]}, f"the kit needs a device that offers {CAPACITY}", offered)


def check_state_and_presence_are_retained(device):
    with Client(device.port, "late-" + device.fleet) as late:
        late.subscribe(device.topic("#"))
        for below in ("state", "presence"):
            late.wait_latest(device.topic(below), lambda value: value and value["incarnation"] == device.incarnation)


def check_the_will_says_offline_in_the_session_that_ended(device):
    session = device.session()
    device.kill()
    device.client.wait(lambda: not device.presence()["online"], "presence offline, published by the broker")
    need(device.session() == session, "the will has the session of its connection", device.presence())
    with Client(device.port, "late-" + device.fleet) as late:
        late.subscribe(device.topic("presence"))
        late.wait_latest(device.topic("presence"), lambda value: value and not value["online"])  # it is retained
    need(device.incarnation == device.reported()["incarnation"], "and the incarnation", device.presence())


def check_incarnation_stays_and_sessions_grow_across_restarts(device):
    incarnation, boot = device.incarnation, device.presence()["bootId"]
    sessions = [device.session()]
    for _ in range(3):
        device.restart()
        sessions.append(device.session())
    need(sessions == sorted(set(sessions)), "each connection has a later session", sessions)
    need((device.incarnation, device.presence()["bootId"]) == (incarnation, boot), "incarnation and bootId stay")


def check_states_of_one_session_have_growing_sequences(device):
    device.list_page(0, 7, report=True)
    device.list_page(0, 8, report=True)
    device.slots()
    states = [int(value["sequence"]) for value in device.client.wait_message(device.topic("state"), count=3)]
    need(states == sorted(set(states)), "each state has a later sequence", states)


def check_a_status_is_published_again_after_a_restart(device):
    device.run(epoch(5), "u1")
    device.wait_status("u1", lambda s: s and s["phase"] == "Running", "Running")
    before = len(device.client.of(device.topic("pods/default/u1")))
    device.restart()
    device.client.wait(lambda: len(device.client.of(device.topic("pods/default/u1"))) > before, "the status again")
    device.wait_status("u1", lambda s: s and s["phase"] == "Running", "Running")


def check_a_device_announces_itself_again_to_a_broker_that_lost_everything(device):
    broker = Broker(device.folder / "broker").start()
    other = Device(device.command, broker.port, device.folder / "other", device.schemas)
    try:
        other.start()
        other.run(epoch(5), "u1")
        session, incarnation = other.session(), other.incarnation
        broker.kill()
        broker.start()
        other.listen()
        other.client.wait(lambda: other.session() > session and other.presence()["online"], "presence in a later session")
        need(other.incarnation == incarnation, "a lost connection is no new life")
        other.client.wait(other.reported, "the state again")
        other.wait_status("u1", lambda s: s and s["phase"] == "Running", "Running again")
        need(other.ask("Bind", epoch(5), "u1")["type"] == "Bound", "and requests are answered again")
        other.check_forms()
    finally:
        other.close()
        broker.stop()


def check_a_device_that_is_wiped_is_another_incarnation(device):
    old = device.incarnation
    device.run(epoch(5), "u1")
    device.wipe()
    device.start()
    need(device.incarnation != old, "a new store has a new incarnation")
    need(device.slots() == {}, "and no slots")
    hello = device.ask_request({**device.request("Bind", epoch(5), "u1"), "incarnation": old})
    need((hello["type"], hello.get("toIncarnation")) == ("Hello", old), "requests for the old one are answered Hello", hello)


def check_a_frozen_device_answers_what_waited_once_it_goes_on(device):
    device.run(epoch(5), "u1")
    device.freeze()
    after = len(device.all_answers())
    requests = [device.pre_bind_of(epoch(6), "u2"), device.request("Bind", epoch(6), "u2"), device.request("Release", epoch(5), "u1"),
                device.pre_bind_of(epoch(6), "u2"), device.request("Release", epoch(7), "u2"), device.pre_bind_of(epoch(6), "u2")]
    for request in requests:
        device.send(request)
    device.thaw()
    need(device.wait_answer(after, requests[2])["type"] == "Released", "the Release that waited is answered")
    need(device.wait_answer(after, requests[4])["type"] == "Released", "and the other one")
    need(device.pre_bind(epoch(7), "u2")["type"] == "Stale", "what was released is over")
    need(device.slots() == {}, f"{NODE} has no slots")
