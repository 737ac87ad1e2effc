"""transports/schema describes what the programs say: the schemas themselves, the recorded examples, and a fleet at work."""

import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from manifests import LOCAL_CLASS, claim, pod, with_claim
from mqtt_packets import topic_matches
from said import wrong_messages
from schema import FOLDER, Schemas, check_lines
from waiting import wait_until

EXAMPLES = sorted((FOLDER / "examples").glob("*.jsonl"))
ROOT = "berth/v1/f/"
BIND = {"type": "Bind", "gateway": "gw", "term": "1", "storeId": "s", "floor": "1.5", "incarnation": "i", "uid": "u",
        "epoch": "1.5"}
STALE = {"type": "Stale", "incarnation": "i", "term": "1", "storeId": "s", "uid": "u", "epoch": "1.5", "high": "1.7"}
SLOTS = {"type": "Slots", "incarnation": "i", "term": "1", "storeId": "s", "page": 0, "pages": 1, "listId": "7", "slots": []}
DELETE = {"type": "DeleteVolume", "gateway": "gw", "term": "1", "storeId": "s", "floor": "1.5", "incarnation": "i",
          "volume": "pvc-1", "path": "/pool/pvc-1", "epoch": "1.6"}
DELETED = {"type": "VolumeDeleted", "incarnation": "i", "term": "1", "storeId": "s", "volume": "pvc-1", "epoch": "1.6"}
POOLS = [{"class": "fast", "root": "/pool", "capacity": "1Gi"}]
STATE = {"incarnation": "i", "bootId": "b", "session": "1", "sequence": "1", "heartbeatMs": "5000", "protocol": "1.1",
         "allocatable": {"cpu": "2", "memory": "64Mi"}}


@pytest.fixture(scope="module")
def schemas():
    return Schemas()


def without(message, member):
    return {key: value for key, value in message.items() if key != member}


def test_every_schema_is_one_and_every_reference_of_the_channels_leads_to_one(schemas):
    for schema in schemas.files.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for message, reference, _ in (found[1:] for found in schemas.channels):
        file, _, pointer = reference.partition("#/$defs/")
        assert file in schemas.files and (not pointer or pointer in schemas.files[file]["$defs"]), (message, reference)
    used = {reference.partition("#")[0] for _, _, reference, _ in schemas.channels}
    assert used | {"common.json"} == set(schemas.files)
    for operation in schemas.document["operations"].values():
        assert operation["channel"]["$ref"].removeprefix("#/channels/") in schemas.document["channels"]


RIGHT = [("nodes/n1/requests", BIND), ("nodes/n1/requests", {**without(BIND, "uid"), "promiseMs": "5", "items": [{"uid": "a"}]}),
         ("gateways/gw/answers/n1", STALE), ("gateways/gw/answers/n1", SLOTS), ("nodes/n1/state", STATE),
         ("nodes/n1/requests", DELETE), ("nodes/n1/requests", without(DELETE, "path")), ("gateways/gw/answers/n1", DELETED),
         ("nodes/n1/requests", {"via": "k3dj9x", "items": [{"bind": "4"}, {"bind": "2.9"}]}),
         ("nodes/n1/requests", {"via": "k3dj9x", "preBind": "4", "floor": "3", "pod": {"metadata": {"name": "a", "namespace": "b"}, "spec": {}}}),
         ("gateways/gw/answers/n1", {"via": "k3dj9x", "at": "1.7", "items": [{"bound": "4"}, {"preBound": "5", "uid": "u"}]}),
         ("gateways/gw/answers/n1", {**SLOTS, "answersTo": "k3dj9x"}),
         ("gateways/gw/answers/n1", {**SLOTS, "unusedVolumes": ["pvc-1"]}),
         ("gateways/gw/answers/n1", {**SLOTS, "keptVolumes": [{"volume": "pvc-1", "path": "/pool/pvc-1", "bytes": "1"}]}), ("nodes/n1/state", {**STATE, "volumePools": POOLS}),
         ("streams/n1/op/0/down", {"type": "open", "id": "a-1", "limit": "65536", "logs": {"uid": "u", "tail": "5"}}),
         ("streams/n1/op/0/up", {"type": "end", "id": "a-1", "offset": "7", "why": "Done", "exitCode": 3}),
         ("streams/n1/op/0/down", {"type": "open", "id": "a-1", "limit": "65536", "exec": {"uid": "u", "command": ["sh"], "tty": True, "rows": 24}}),
         ("streams/n1/op/0/down", {"type": "open", "id": "a-1", "limit": "65536", "load": {"name": "app:1", "bytes": "1048576"}}),
         ("streams/n1/op/0/down", {"type": "data", "id": "a-1", "offset": "7", "last": True}), ("nodes/n1/state", {**STATE, "streams": ["logs"]}),
         ("nodes/n1/state", without(STATE, "protocol")), ("status/pods/default/web", ""), ("nodes/n1/pods/default/web", "")]


@pytest.mark.parametrize("topic, message", RIGHT)
def test_a_right_message_is_accepted(schemas, topic, message):
    assert schemas.errors(ROOT + topic, message if message == "" else json.dumps(message)) == []


WRONG = [("nodes/n1/requests", {"via": "a"}, "is not valid"), ("nodes/n1/requests", {"via": "a", "bind": "0"}, "bind"),
         ("nodes/n1/requests", {"via": "a", "preBind": "4"}, "is not valid"), ("gateways/gw/answers/n1", {"via": "a" * 17, "bound": "4"}, "via"),
         ("nodes/n1/requests", {**BIND, "type": "Perhaps"}, "type"), ("nodes/n1/requests", {**BIND, "term": 1}, "term"),
         ("nodes/n1/requests", {**BIND, "epoch": "0.0"}, "epoch"), ("nodes/n1/requests", {**BIND, "epoch": "01.5"}, "epoch"),
         ("nodes/n1/requests", without(BIND, "uid"), "'uid' is a required"),
         ("nodes/n1/requests", {**without(BIND, "uid"), "items": [{"uid": "a"}, {}]}, "items[1]: payload: 'uid'"),
         ("nodes/n1/requests", {**BIND, "items": []}, "items"), ("nodes/n1/requests", {**BIND, "items": [BIND] * 33}, "items"),
         ("gateways/gw/answers/n1", {**STALE, "hihg": "1.7"}, "hihg"),
         ("gateways/gw/answers/n1", {**SLOTS, "page": "0"}, "page"), ("gateways/gw/answers/n1", {**SLOTS, "pages": 65}, "pages"),
         ("nodes/n1/requests", without(DELETE, "incarnation"), "'incarnation' is a required"),
         ("gateways/gw/answers/n1", without(DELETED, "volume"), "'volume' is a required"),
         ("nodes/n1/state", {**STATE, "volumePools": [{**POOLS[0], "root": "pool"}]}, "root"),
         ("nodes/n1/state", {**STATE, "protocol": "2"}, "protocol"),
         ("nodes/n1/state", {**STATE, "allocatable": {"cpu": "many"}}, "allocatable.cpu"),
         ("streams/n1/op/0/up", {"type": "open", "id": "a-1", "limit": "1", "logs": {"uid": "u"}}, "is not valid"),
         ("streams/n1/op/0/down", {"type": "open", "id": "a-1", "limit": "65536", "load": {"bytes": 5}}, "is not valid"),
         ("streams/n1/op/0/down", {"type": "credit", "id": "a-1"}, "is not valid"),
         ("nodes/n1/state", "", "empty"), ("nodes/n1/state", '{"a":1,"a":2}', "twice"), ("nodes/n1/mood", {}, "no channel"),
         ("gateways/gw/presence/r", {"state": "gone", "machine": "m", "claim": 1}, "state"),
         ("gateways/gw/presence/r", {"state": "serving", "machine": "m"}, "'claim' is a required"),
         ("leader", {"gateway": "gw", "machine": "m", "storeId": "s"}, "'term' is a required"),
         ("desired/pods/default/web", {"deleted": True}, "'uid' is a required"),
         ("gateways/gw/api", {"op": "get"}, "'kind' is a required"), ("clients/op/answers", {"ok": False}, "'error' is a required")]


@pytest.mark.parametrize("topic, message, member", WRONG)
def test_a_wrong_message_is_rejected_by_the_member_that_is_wrong(schemas, topic, message, member):
    found = schemas.errors(ROOT + topic, message if isinstance(message, str) else json.dumps(message))
    assert found and member in " ".join(found), found


def test_of_a_frame_with_data_the_first_line_is_checked(schemas):
    topic = ROOT + "streams/n1/op/0/up"
    assert schemas.errors(topic, b'{"type":"data","id":"a-1","offset":"0"}\n\xff{\n') == []
    assert schemas.errors(topic, b'{"type":"data","id":"a-1"}\n{"offset":"0"}') != []


def test_a_member_of_a_later_minor_version_is_wrong_in_our_programs_only():
    later = json.dumps({**BIND, "later": 1})
    assert Schemas(strict=False).errors(ROOT + "nodes/n1/requests", later) == []
    assert Schemas().errors(ROOT + "nodes/n1/requests", later) != []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_recorded_exchange_has_the_form_of_the_schemas(schemas, path):
    passed, wrong = check_lines(schemas, path.read_text(encoding="utf-8").splitlines(), path.name)
    assert passed > 3 and not wrong, "\n".join(wrong)


def test_the_examples_show_every_request_and_every_answer():
    text = "".join(path.read_text(encoding="utf-8") for path in EXAMPLES)
    for kind in (*Schemas().files["request.json"]["$defs"], *Schemas().files["answer.json"]["$defs"]):
        assert kind in ("message", "list", "inFull", "viaAName") or f'"type": "{kind}"' in text, f"no example has {kind}"
    for member in ("answersTo", "preBind", "bind", "preBound", "bound"):
        assert f'"{member}": "' in text, f"no example has {member}"


def test_the_examples_speak_the_present_version_of_the_protocol():
    header = (FOLDER.parent.parent / "core" / "handshake" / "protocol.h").read_text(encoding="utf-8")
    present = ".".join(re.search(r"kProtocol\{(\d+), (\d+)\}", header).groups())
    text = "".join(path.read_text(encoding="utf-8") for path in EXAMPLES)
    assert set(re.findall(r'"protocol": "([^"]*)"', text)) == {present}


def record(fleet, name, *patterns):
    """With BERTH_RECORD=<folder>, writes what was sent on these topics to <folder>/<name>.jsonl."""
    if not os.environ.get("BERTH_RECORD"):
        return
    with open(Path(os.environ["BERTH_RECORD"]) / f"{name}.jsonl", "w", encoding="utf-8") as out:
        for topic, payload in fleet.observer.messages:
            below = topic.removeprefix(fleet.root + "/")
            if any(topic_matches(pattern, below) for pattern in patterns):
                text = payload.decode().replace(str(fleet.folder), "/srv").replace(os.environ["PATH"], "/usr/bin:/bin")
                has_bytes = "\n" in text.strip()  # behind a line, in a stream
                out.write(json.dumps({"topic": f"berth/v1/example/{below}",
                                      "payload": text if has_bytes or not text else json.loads(text)}) + "\n")


def test_everything_that_the_programs_of_a_fleet_send_has_the_form_of_the_schemas(fleet, schemas):
    assert fleet.observer  # subscribes before anything is sent
    often = fleet.folder / "berth-agent.yaml"
    often.write_text("heartbeat_seconds: 1\n", encoding="utf-8")
    fleet.start("n1", extra=["--config", often], volumes=[f"data={fleet.folder}/data:1Gi"], labels={"zone": "a"}, taints=["slow=yes:PreferNoSchedule"])
    fleet.apply(LOCAL_CLASS, claim("store"), with_claim(pod("web"), "store"), pod("once", ["echo", "done"], restartPolicy="Never"),
                pod("large", memory="900Gi"), pod("bad", ["/nonexistent/program"]))
    fleet.wait_running("web", "n1")
    fleet.wait_phase("once", "Succeeded")
    fleet.wait_pending("large", "Insufficient memory")
    rejected = fleet.topic("gateways/gw/answers/n1")
    fleet.observer.wait_message(rejected, lambda answer: answer.get("type") == "Rejected")
    for verb in (["status"], ["get", "pods"], ["get", "nodes"], ["describe", "pod", "web"], ["get", "events"], ["explain", "pod", "large"],
                 ["get", "pod", "none"], ["waiting"], ["allow", "none"], ["reject", "none"]):
        fleet.ctl(*verb, check=False)
    fleet.observer.wait_message(rejected, lambda answer: answer.get("type") == "Released")
    fleet.kill("n1")
    fleet.restart("n1")
    fleet.observer.wait_message(rejected, lambda answer: answer.get("type") == "Kept")
    fleet.delete("pod", "web")
    fleet.wait_gone("web")
    fleet.kill("berthd")
    fleet.restart("berthd")
    listed = len(fleet.observer.of(rejected))
    wait_until(lambda: len(fleet.observer.of(rejected)) > listed, "answers to the restarted gateway")
    # The restarted gateway is another one to the device, whose next heartbeat asks it for an answer.
    fleet.observer.wait_message(fleet.topic("nodes/n1/requests"), lambda request: request.get("type") == "Heartbeat")
    fleet.ctl("forget", "node", "n1")
    fleet.observer.wait_latest(fleet.topic("status/nodes/n1"), lambda status: status == "")
    lines = [json.dumps({"topic": topic, "payload": payload.decode()}) for topic, payload in fleet.observer.messages
             if topic != fleet.observer_barrier]
    passed, wrong = check_lines(schemas, lines, "sent")
    assert passed > 50 and not wrong, "\n".join(wrong[:10])
    kinds = {schemas.channel_of(json.loads(line)["topic"])[0] for line in lines}
    assert kinds >= {"request", "answer", "nodeState", "nodePresence", "nodeHeartbeat", "podReport", "gatewayPresence", "leader", "barrier",
                     "apiRequest", "apiAnswer", "desired", "podStatus", "nodeStatus", "claimStatus", "event"}
    record(fleet, "fleet", "nodes/#", "gateways/#", "leader", "status/#", "events/#", "desired/#")


def test_what_the_programs_of_every_test_said_is_checked_and_what_a_test_sent_is_not(broker, connect):
    topic, wrong = "berth/v1/checked/nodes/n1/requests", {"type": "Bind", "gateway": 7}
    payload = json.dumps(wrong).encode()
    found = wrong_messages("berth/v1/checked", [(topic, payload), (topic, payload)])
    assert len(found) >= 1 and found[0].startswith(f"{topic}: "), found
    connect(broker.port, "a").publish(topic, wrong)
    assert wrong_messages("berth/v1/checked", [(topic, payload), ("berth/v1/checked/desired/pods/default/x", b"{}")]) == []
