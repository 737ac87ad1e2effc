"""Invalid input: the daemon logs what it rejected, stays up and keeps placing pods."""

import json
import os
import re
import signal
import sqlite3

import pytest
from invariants import wait_each_runs_once, workloads
from manifests import counted_pod, pod, starts
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from programs import Program, program_path
from stores import PUT, TABLES, seal_entry
from waiting import wait_until

STATE = {"incarnation": "i1", "bootId": "b", "session": "1", "sequence": "1", "heartbeatMs": 60000}
DEEP = "[" * 500 + "]" * 500
BIG = json.dumps(pod("web", labels={"pad": "x" * 1_000_000}))

# name: (topic, payload, what the log line must contain)
REFUSED = {
    "malformed JSON": ("desired/pods/default/web", '{"kind": "Pod", ', "not JSON"),
    "bytes that are not text": ("desired/pods/default/web", b"\xff\xfe\x00garbage", "refused"),
    "a number instead of an object": ("desired/pods/default/web", "7", "expected a JSON object"),
    "deep nesting": ("desired/pods/default/web", DEEP, "nested deeper"),
    "a duplicate key": ("desired/pods/default/web", '{"kind": "Pod", "kind": "Pod"}', "kind"),
    "an unknown kind": ("desired/gadgets/default/web", "{}", "unknown kind"),
    "a topic without a namespace": ("desired/pods/web", "{}", "<namespace>"),
    "a name that differs from the topic's": ("desired/pods/default/web", json.dumps(pod("other")), "metadata.name"),
    "a pod whose command is a number": (
        "desired/pods/default/web", json.dumps({**pod("web"), "spec": {"containers": [{"name": "a", "command": 7}]}}),
        "spec.containers[0].command"),
    "an invalid quantity": ("desired/pods/default/web", json.dumps(pod("web", memory="lots")), "memory"),
    "a node state that is a list": ("nodes/n9/state", "[]", "expected a JSON object"),
    "a node state without an incarnation": ("nodes/n9/state", "{}", "incarnation"),
    "a node state that names another node": ("nodes/n9/state", json.dumps({**STATE, "name": "n1"}), "not the node of the topic"),
    "labels that are a number": ("nodes/n9/state", json.dumps({**STATE, "labels": 7, "allocatable": 9}), "n9/state"),
    "an invalid node name": ("nodes/N_9!/state", json.dumps(STATE), "not a valid node name"),
    "presence without the member online": ("nodes/n9/presence", json.dumps(STATE), "online"),
    "a pod's status without a uid": ("nodes/n1/pods/default/web", "{}", "uid"),
    "an answer of unknown type": ("gateways/gw/answers/n1", json.dumps({"type": "Maybe"}), "type"),
    "an answer that is not JSON": ("gateways/gw/answers/n1", "Bound!", "answers/n1"),
    "an answer with a number as epoch": (
        "gateways/gw/answers/n1", json.dumps({"type": "Bound", "incarnation": "i", "term": "1", "storeId": "s",
                                              "uid": "u", "epoch": 5}), "epoch"),
}


def api_client(connect, port, identity="clerk"):
    """An MQTT 5 client for the gateway's API."""
    return connect(port, identity, protocol=5)


def ask(client, fleet, payload, response_topic):
    properties = Properties(PacketTypes.PUBLISH)
    properties.ResponseTopic = response_topic
    properties.CorrelationData = b"1"
    client.publish(fleet.topic("gateways/gw/api"), payload, properties=properties)


def test_every_rejected_message_is_logged_and_berthd_keeps_running(fleet, connect):
    fleet.start("n1")
    client = connect(fleet.port, "stranger")
    berthd = fleet.programs["berthd"]
    for name, (topic, payload, expected) in REFUSED.items():
        logged = len(berthd.output())
        client.publish(fleet.topic(topic), payload)
        full_topic = fleet.topic(topic)
        wait_until(lambda: any(expected in line and full_topic in line for line in berthd.output()[logged:].splitlines()),
                   f"{expected!r} in the log of berthd after {name}", timeout_s=10)
        assert berthd.alive(), name
    fleet.apply(pod("valid"))
    fleet.wait_running("valid", node="n1")
    wait_each_runs_once(fleet, "valid")
    assert fleet.get("node", "n9") is None and fleet.get("pod", "web") is None


def test_every_invalid_request_is_logged_and_the_agent_keeps_running(fleet, connect):
    fleet.start("n1")
    client = connect(fleet.port, "stranger")
    agent = fleet.programs["n1"]
    for payload in ("Bind!", "[]", "7", DEEP, '{"type": "Dance"}', '{"type": "Bind", "uid": 7}',
                    '{"type": "PreBind", "term": "1", "term": "2"}', "x" * 60_000):
        logged = len(agent.output())
        client.publish(fleet.topic("nodes/n1/requests"), payload)
        wait_until(lambda: len(agent.output()) > logged, f"a log line of the agent about {payload[:40]}", timeout_s=10)
        assert agent.alive()
    fleet.apply(pod("valid"))
    fleet.wait_running("valid", node="n1")


def test_a_payload_of_1_mb_does_no_harm(fleet, connect):
    """The broker drops packets above the maximum size that gateway and agent set in their CONNECT."""
    fleet.start("n1")
    client = connect(fleet.port, "stranger")
    for topic in ("desired/pods/default/web", "nodes/n1/requests", "nodes/n9/state", "gateways/gw/api"):
        client.publish(fleet.topic(topic), BIG)
    just_too_large = json.dumps(pod("web", labels={"pad": "x" * 65_536}))
    client.publish(fleet.topic("desired/pods/default/web"), just_too_large)
    fleet.programs["berthd"].wait_output("too large")
    fleet.apply(pod("valid"))
    fleet.wait_running("valid", node="n1")
    wait_each_runs_once(fleet, "valid")
    assert fleet.get("pod", "web") is None and fleet.get("node", "n9") is None


def test_the_api_answers_bad_requests_with_the_error(fleet, connect):
    fleet.start("n1")
    client = api_client(connect, fleet.port)
    answers = fleet.topic("clients/clerk/answers")
    client.subscribe(answers)
    for payload, expected in (("{", "not JSON"), ("[]", "expected a JSON object"), ('{"op": "dance"}', "dance"),
                           ('{"op": "apply"}', "object"), ('{"op": "apply", "object": {"kind": "Gadget"}}', "Gadget"),
                           ('{"op": "get", "kind": "pod", "name": "none"}', "not found"), (DEEP, "nested deeper")):
        count = len(client.of(answers))
        ask(client, fleet, payload, answers)
        answer = client.wait_message(answers, count=count + 1)[-1]
        assert answer["ok"] is False and expected in answer["error"], (payload, answer)
    assert fleet.programs["berthd"].alive()


def test_a_response_topic_that_is_not_the_clients_own_is_ignored_and_logged(fleet, connect):
    fleet.start("n1")
    client = api_client(connect, fleet.port)
    client.subscribe(fleet.topic("#"))
    own = fleet.topic("clients/clerk/answers")
    for wrong in (fleet.topic("nodes/n1/requests"), fleet.topic("desired/pods/default/web"), "elsewhere/clients/clerk/a"):
        ask(client, fleet, '{"op": "status"}', wrong)
        fleet.programs["berthd"].wait_output(f'{wrong}', timeout_s=10)
        ask(client, fleet, '{"op": "status"}', own)  # answers come in order, so the previous request gets none
        client.wait_message(own)
        client.messages = [m for m in client.messages if m[0] != own]
        assert [p for t, p in client.messages if t == wrong and b'"ready"' in p] == []


@pytest.mark.parametrize("text, where, field", [
    ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: Web_1\nspec:\n  containers: [{name: a}]\n", ":4:", "metadata.name"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: a\n    command: 7\n", ":7:",
     "spec.containers[0].command"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: a\n    resources:\n"
     "      requests:\n        memory: lots\n", ":9:", "memory"),
    ("apiVersion: v1\nkind: Gadget\nmetadata: {name: web}\n", ":2:", "kind"),
    ("apiVersion: v1\nkind: Pod\n  metadata: {name: web}\n", ":3:", ""),
], ids=["name", "command", "quantity", "kind", "yaml"])
def test_an_invalid_manifest_is_refused_with_file_line_and_field(fleet, text, where, field):
    done = fleet.apply(text, check=False)
    assert done.returncode != 0
    assert f"manifest-1.yaml{where}" in done.stderr and field in done.stderr


@pytest.mark.parametrize("program, text, where, field", [
    ("berthd", "fleet: f\n\ntie_seed: soon\n", ":3:", "tie_seed"),
    ("berthd", "fleet: f\nclients:\n- identity: n1\n  role: king\n  password: x\n", ":4:", "role"),
    ("berthd", "fleet: f\nflet: g\n", ":2:", "flet"),
    ("berthd", "fleet: [\n", ":2:", ""),
    ("berth-agent", "fleet: f\nheartbeat_seconds: -1\n", ":2:", "heartbeat_seconds"),
    ("berth-agent", "volumes:\n- name: data\n  path: relative\n  capacity: 1Gi\n", ":3:", "path"),
    ("berth-agent", "capacity:\n  cpu: much\n", ":2:", "cpu"),
    ("berthctl", "broker: b:1\nflet: g\n", ":2:", "flet"),
])
def test_a_broken_configuration_file_is_refused_with_file_line_and_field(tmp_path, program, text, where, field):
    config = tmp_path / "config.yaml"
    config.write_text(text, encoding="utf-8")
    argv = [program_path(program), "--config", config]
    argv += ["status"] if program == "berthctl" else ["--state-dir", tmp_path / "state"]
    run = Program(program, argv, tmp_path).start()
    assert run.wait(10) not in (0, -6, -11)
    assert f"config.yaml{where}" in run.output() and field in run.output()


def test_a_configuration_file_that_is_not_there_is_named(tmp_path):
    for program in ("berthd", "berth-agent"):
        run = Program(program, [program_path(program), "--state-dir", tmp_path, "--config", tmp_path / "none.yaml"],
                      tmp_path).start()
        assert run.wait(10) != 0
        assert "none.yaml" in run.output()


def damage_header(path):
    path.write_bytes(b"not a database " * 1000)


def damage_pages(path):
    content = bytearray(path.read_bytes())
    for at in range(len(content) // 2, len(content), 64):
        content[at:at + 32] = b"\xa5" * len(content[at:at + 32])
    path.write_bytes(content)


def stores_aside(fleet):
    """Names of the gateway's damaged stores that were set aside, without their logs."""
    found = fleet.state_dir("berthd").glob("gateway.db.aside-*")
    return sorted(path.name for path in found if not path.name.endswith(("-wal", "-shm")))


@pytest.mark.parametrize("damage, end", [(damage_header, "answered"), (damage_pages, "forgotten")],
                         ids=["header-answered", "pages-forgotten"])
def test_a_damaged_store_is_set_aside_and_nothing_is_bound_before_every_node_has_answered(fleet, tmp_path, damage, end):
    fleet.start("n1", "n2")
    names = [f"web-{n}" for n in range(4)]
    fleet.apply(*(counted_pod(name, tmp_path) for name in names))
    before = wait_each_runs_once(fleet, *names)
    assert set(before.values()) == {"n1", "n2"}
    fleet.programs["berthd"].stop()  # a clean stop: everything is in the file
    fleet.kill("n2")  # its pods keep running
    damage(fleet.state_dir("berthd") / "gateway.db")
    fleet.restart("berthd")
    shown = wait_until(lambda: "before pods are placed: n2\n" in (text := fleet.ctl("status", check=False).stdout) and text,
                       "all nodes but n2 to answer")
    assert len(stores_aside(fleet)) == 1
    assert re.search(rf"^set aside +{fleet.state_dir('berthd') / stores_aside(fleet)[0]}$", shown, re.M)
    fleet.apply(counted_pod("late", tmp_path))
    fleet.wait_pending("late", "n2")
    with fleet.store("berthd") as store:
        assert {row.value["node"] for row in store.records("row").values()} == {"n1"}  # only what n1 listed
    if end == "answered":
        fleet.restart("n2")
        after = wait_each_runs_once(fleet, *names, "late")
        assert before.items() <= after.items()
        assert [starts(name, tmp_path) for name in (*names, "late")] == [1] * 5
    else:
        fleet.ctl("forget", "node", "n2")
        fleet.wait_running("late", node="n1")
        for name in names:  # the pods of the forgotten node are placed again
            fleet.wait_pod(name, lambda s: s.get("nodeName") == "n1" and s["phase"] == "Running")
        assert [starts(name, tmp_path) for name in names if before[name] == "n1"] == [1] * 2
    assert "\nset aside " in fleet.ctl("status").stdout  # as long as the file exists


def test_a_store_damaged_again_before_every_node_has_answered_is_set_aside_too(fleet, tmp_path):
    fleet.start("n1", "n2")
    names = [f"web-{n}" for n in range(4)]
    fleet.apply(*(counted_pod(name, tmp_path) for name in names))
    before = wait_each_runs_once(fleet, *names)
    fleet.kill("n2")
    store = fleet.state_dir("berthd") / "gateway.db"
    for damage in (damage_header, damage_pages):
        fleet.programs["berthd"].stop()
        damage(store)
        fleet.restart("berthd")
        wait_until(lambda: "before pods are placed: n2\n" in fleet.ctl("status", check=False).stdout, "adopt mode")
    assert len(stores_aside(fleet)) == 2
    fleet.restart("n2")
    assert wait_each_runs_once(fleet, *names) == before
    assert [starts(name, tmp_path) for name in names] == [1] * 4


def test_a_gateway_that_loses_store_and_own_broker_waits_for_the_nodes_that_have_accounts(embedded, tmp_path):
    """A power cut that damages the store also clears a broker that keeps nothing on flash."""
    embedded.start("n1", "n2")
    names = [f"web-{n}" for n in range(2)]
    embedded.apply(*(counted_pod(name, tmp_path) for name in names))
    before = wait_each_runs_once(embedded, *names)
    embedded.forget_seen()
    for name in ("n1", "n2", "berthd"):
        embedded.kill(name)
    broker = embedded.broker_pid()
    if broker:
        os.kill(broker, signal.SIGKILL)
    for path in embedded.state_dir("berthd").glob("gateway.db*"):
        damage_header(path)  # also its log, which a killed gateway leaves behind
    embedded.restart("berthd")
    embedded.wait_broker()
    wait_until(lambda: "before pods are placed: n1, n2\n" in embedded.ctl("status", check=False).stdout, "adopt mode")
    for name in ("n1", "n2"):
        embedded.restart(name)
    embedded.wait_gateway_ready()
    assert sorted(where.node for where in workloads(embedded.name)) == sorted(before.values())  # orphans keep running
    assert [starts(name, tmp_path) for name in names] == [1] * 2


def test_a_store_that_cannot_be_opened_is_left_where_it_is_and_binds_nothing(fleet):
    store = fleet.state_dir("berthd") / "gateway.db"
    store.mkdir()
    fleet.start_gateway()
    fleet.start_agent("n1")
    shown = wait_until(lambda: fleet.ctl("status", check=False).stdout, "an answer")
    assert "gateway.db" in shown
    refused = fleet.apply(pod("web"), check=False)
    assert refused.returncode != 0 and "not ready" in refused.stderr
    assert store.is_dir() and fleet.programs["berthd"].alive()


def test_a_store_with_invalid_records_is_set_aside_and_its_contents_are_recovered(fleet, tmp_path):
    fleet.start("n1")
    fleet.apply(counted_pod("web", tmp_path))
    before = wait_each_runs_once(fleet, "web")
    fleet.programs["berthd"].stop()
    store = fleet.state_dir("berthd") / "gateway.db"
    with sqlite3.connect(store) as database:
        database.execute("insert into journal (position, changes) select max(position), ? from journal",
                         (seal_entry([(PUT, TABLES["meta"], "gateway", b"{}", 0)]),))
    database.close()
    fleet.restart("berthd")
    fleet.programs["berthd"].wait_output("set aside")
    assert wait_each_runs_once(fleet, "web") == before  # the object from the broker's mirror, its placement from the node
    assert len(stores_aside(fleet)) == 1 and starts("web", tmp_path) == 1


def test_a_store_of_a_newer_program_is_left_alone_and_binds_nothing(fleet):
    fleet.start_gateway()
    fleet.apply(pod("web"))
    fleet.programs["berthd"].stop()
    store = fleet.state_dir("berthd") / "gateway.db"
    with sqlite3.connect(store) as database:
        database.execute("pragma user_version = 9")
    database.close()
    kept = store.read_bytes()
    fleet.restart("berthd")
    wait_until(lambda: "run the newer program" in fleet.ctl("status", check=False).stdout, "the reason")
    assert store.read_bytes() == kept and stores_aside(fleet) == []
    assert fleet.apply(pod("late"), check=False).returncode != 0


@pytest.mark.parametrize("damage", [damage_header, damage_pages], ids=["header", "pages"])
def test_an_agent_whose_store_is_damaged_sets_it_aside_and_stops_what_it_finds_before_it_runs_anything(fleet, tmp_path,
                                                                                                      damage):
    fleet.start("n1")
    fleet.apply(counted_pod("web", tmp_path))
    wait_each_runs_once(fleet, "web")
    fleet.programs["n1"].stop()  # a clean stop: everything is in the file; the pod keeps running
    store = fleet.state_dir("n1") / "agent.db"
    damage(store)
    fleet.restart("n1")
    fleet.programs["n1"].wait_output("set aside")
    wait_each_runs_once(fleet, "web")
    assert starts("web", tmp_path) == 2  # one after the other: the new incarnation does not know the first
    assert len([path for path in store.parent.glob("agent.db.aside-*") if not path.name.endswith(("-wal", "-shm"))]) == 1
