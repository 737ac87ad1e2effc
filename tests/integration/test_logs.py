"""berthctl logs: from a real device through a real broker, with and without a gateway."""

import json
import re
import signal
import subprocess

import pytest
from broker import Broker
from fleet import Fleet
from manifests import pod
from programs import Program, program_path
from test_schema import record
from waiting import wait_until

COUNTER = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done"


def script(name, text, **more):
    return pod(name, command=("sh", "-c", text), **more)


def logs(fleet, *arguments, check=True):
    return fleet.ctl("logs", *arguments, check=check)


def follow(fleet, *arguments, port=None):
    """A berthctl that follows, with its standard output in a file."""
    argv = [program_path("berthctl"), *fleet.connection("operator", port or fleet.port), "--fleet", fleet.name, "--gateway",
            fleet.gateway_name, "logs", "-f", *arguments]
    return Program(f"follow-{len(list(fleet.folder.glob('follow-*.log')))}", argv, fleet.folder).start()


def numbers(text):
    return [int(each) for each in re.findall(r"^line (\d+)$", text, re.M)]


def test_logs_of_a_pod_that_runs_has_crashed_or_has_finished(fleet):
    assert fleet.observer  # subscribes before anything is sent
    fleet.start("n1")
    fleet.apply(script("talker", "echo out; echo err >&2; echo again; exec sleep 1000"),
                script("job", "echo done", restartPolicy="Never"),
                script("crasher", "read -r id rest < /proc/self/stat; echo run of $id; exit 3", restartPolicy="Always"))
    fleet.wait_running("talker")
    wait_until(lambda: sorted(logs(fleet, "talker").stdout.split()) == ["again", "err", "out"], "what talker wrote")
    assert logs(fleet, "pod/talker", "--tail", "1", "-c", "main").stdout in ("again\n", "err\n")
    assert logs(fleet, "talker", "--tail", "0").stdout == ""
    assert logs(fleet, "talker", "--since", "1h").stdout.count("\n") == 3
    times = logs(fleet, "talker", "--timestamps").stdout.splitlines()
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (out|err|again)", line) for line in times), times

    fleet.wait_phase("job", "Succeeded")
    wait_until(lambda: fleet.pod_on("job", "n1") is None, "the release of its slot")
    assert logs(fleet, "job").stdout == "done\n", "its output is kept while the object is there"
    assert logs(fleet, "-f", "job").stdout == "done\n", "and there is nothing to wait for"

    fleet.wait_pod("crasher", lambda s: s["containerStatuses"][0]["restartCount"] >= 2)
    both = logs(fleet, "crasher").stdout, logs(fleet, "crasher", "--previous").stdout
    assert all(re.fullmatch(r"run of \d+\n", text) for text in both), both
    record(fleet, "streams", "streams/#")


def test_what_there_is_not_is_told(fleet):
    fleet.start("n1")
    fleet.apply(script("talker", "echo out; exec sleep 1000"), pod("huge", cpu="100"))
    fleet.wait_running("talker")
    fleet.wait_pending("huge", "cpu")
    for arguments, words in ((["nobody"], "pod default/nobody not found"), (["huge"], "is on no node yet"),
                             (["talker", "-c", "side"], "container side is not in pod default/talker, which has main"),
                             (["talker", "-p"], "previous terminated container main in pod default/talker not found")):
        done = logs(fleet, *arguments, check=False)
        assert done.returncode == 1 and words in done.stderr, (arguments, done.stderr)
    fleet.kill("n1")
    fleet.observer.wait(lambda: not (fleet.observer.value(fleet.topic("nodes/n1/presence")) or {}).get("online"), "the will")
    done = logs(fleet, "talker", check=False)
    assert done.returncode == 1 and "node n1 is not connected" in done.stderr


def test_a_device_of_an_earlier_version_is_told_from_one_that_does_not_answer(fleet, connect):
    fleet.start("n1")
    fleet.apply(script("talker", "echo out; exec sleep 1000"))
    fleet.wait_running("talker")
    fleet.wait_phase("talker", "Running")
    fleet.kill("n1", signal.SIGSTOP)
    done = logs(fleet, "--timeout", "1", "talker", check=False)
    assert done.returncode == 4 and "node n1 did not answer within 1 s" in done.stderr
    fleet.kill("n1", signal.SIGCONT)
    state = fleet.observer.value(fleet.topic("nodes/n1/state"))
    assert "logs" in state["streams"] and "exec" in state["streams"]
    older = {**state, "protocol": "1.12", "sequence": str(int(state["sequence"]) + 1)}
    del older["streams"]
    connect(fleet.port, "older").publish(fleet.topic("nodes/n1/state"), json.dumps(older), retain=True)
    done = logs(fleet, "talker", check=False)
    assert done.returncode == 1 and "node n1 serves no logs: its agent speaks protocol 1.12; upgrade" in done.stderr


def test_an_acl_of_an_earlier_version_is_named_as_what_may_be_wrong(tmp_path, leaves_no_process):
    access = tmp_path / "access"
    rights = "".join(f"topic readwrite berth/v1/+/{below}/#\n" for below in ("nodes", "gateways", "desired", "status", "clients", "events"))
    access.write_text(rights + "topic readwrite berth/v1/+/leader\ntopic readwrite barrier\n", encoding="utf-8")
    access.chmod(0o644)
    # As in the package's configuration; without a limit mosquitto 2.0.11 ends the session of whom it refuses.
    earlier = Broker(tmp_path / "broker", config=f"acl_file {access}\nmax_queued_messages 100000\n").start()
    fleet = Fleet(tmp_path, earlier.port)
    try:
        fleet.start("n1")
        fleet.apply(script("talker", "echo out; exec sleep 1000"))
        fleet.wait_running("talker")
        fleet.wait_phase("talker", "Running")
        done = logs(fleet, "--timeout", "1", "talker", check=False)
        assert done.returncode == 4
        assert "node n1 did not answer within 1 s (broker refused a message, reason Not authorized" in done.stderr
        assert "enrolled by an earlier version may not: enroll them again with --replace" in done.stderr
    finally:
        fleet.stop()
        earlier.stop()


def test_of_several_containers_the_first_is_shown_and_named(fleet):
    fleet.start("n1")
    two = script("two", "echo one; exec sleep 1000")
    two["spec"]["containers"].append({**two["spec"]["containers"][0], "name": "side",
                                      "command": ["sh", "-c", "echo two; exec sleep 1000"]})
    fleet.apply(two)
    fleet.wait_running("two")
    wait_until(lambda: logs(fleet, "two").stdout == "one\n", "its output")
    assert 'Defaulted container "main" out of: main, side' in logs(fleet, "two").stderr
    wait_until(lambda: logs(fleet, "two", "-c", "side").stdout == "two\n", "that of the other")


def test_logs_need_no_gateway(fleet):
    fleet.start("n1")
    fleet.apply(script("talker", "echo out; exec sleep 1000"))
    fleet.wait_running("talker")
    fleet.wait_phase("talker", "Running")
    fleet.kill("berthd")
    wait_until(lambda: logs(fleet, "talker").stdout == "out\n", "its output")


def test_a_follower_goes_on_over_a_restart_of_broker_agent_and_its_own_link(fleet, broker, proxy):
    fleet.start("n1")
    fleet.apply(script("counter", COUNTER))
    fleet.wait_running("counter")
    followers = [follow(fleet, "counter"), follow(fleet, "counter", port=proxy.port)]

    def all_have(number):
        wait_until(lambda: all((numbers(each.output()) or [0])[-1] >= number for each in followers), f"line {number}")

    def last():
        return max((numbers(each.output()) or [0])[-1] for each in followers)

    all_have(20)
    proxy.cut()
    all_have(last() + 20)
    fleet.forget_seen()
    broker.kill()
    broker.start()
    all_have(last() + 20)
    fleet.kill("n1")
    fleet.restart("n1")
    all_have(last() + 20)
    for each in followers:
        seen = numbers(each.output())
        assert seen == list(range(1, len(seen) + 1)), "no line is lost or shown twice"
        each.kill(signal.SIGINT)
        assert each.wait() == 130


def test_a_follower_ends_with_the_container(fleet, tmp_path):
    fleet.start("n1")
    mark = tmp_path / "mark"
    fleet.apply(script("job", f"echo begun; while ! test -e {mark}; do sleep 0.05; done; echo over", restartPolicy="Never"))
    fleet.wait_running("job")
    follower = follow(fleet, "job")
    follower.wait_output("begun")
    mark.touch()
    assert follower.wait() == 0
    assert follower.output() == "begun\nover\n"


def test_a_flood_is_cut_says_so_and_delays_no_bind(fleet):
    fleet.start("n1", capacity={"cpu": "8", "memory": "1Gi", "pods": "50"})
    fleet.apply(*(script(f"flood-{i}", "exec yes 0123456789") for i in range(2)))
    for i in range(2):
        fleet.wait_running(f"flood-{i}")
    followers = [follow(fleet, f"flood-{i}") for i in range(2)]
    for each in followers:
        each.wait_output("bytes a second (logs.bytes_per_second)")
    names = [f"web-{i}" for i in range(5)]
    fleet.apply(*(pod(name) for name in names))
    for name in names:
        fleet.wait_running(name)
    folder = next((fleet.state_dir("n1") / "pods").glob("*@*/main.log")).parent
    assert sum(each.stat().st_size for each in folder.glob("*.log*")) <= 2 * 256 * 1024
    for each in followers:
        each.kill(signal.SIGINT)


def test_a_ninth_stream_is_refused_clearly(fleet):
    fleet.start("n1")
    fleet.apply(script("talker", "echo out; exec sleep 1000"))
    fleet.wait_running("talker")
    followers = [follow(fleet, "talker") for _ in range(8)]
    for each in followers:
        each.wait_output("out")
    done = logs(fleet, "talker", check=False)
    assert done.returncode == 1 and "serves at most 8 streams at once" in done.stderr
    for each in followers:
        each.kill(signal.SIGINT)
        each.wait()
    assert logs(fleet, "talker").stdout == "out\n", "a stream that its reader leaves is free at once"


def test_a_closed_pipe_ends_a_follower(fleet):
    fleet.start("n1")
    fleet.apply(script("counter", COUNTER))
    fleet.wait_running("counter")
    argv = [program_path("berthctl"), *fleet.connection("operator", fleet.port), "--fleet", fleet.name, "--gateway",
            fleet.gateway_name, "logs", "-f", "counter"]
    with subprocess.Popen([str(each) for each in argv], stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"line 1\n"
        running.stdout.close()
        assert running.wait(30) == 71


@pytest.fixture
def spied(embedded):
    embedded.start("n1", "n2")
    embedded.apply(script("secret", "echo secret; exec sleep 1000", nodeName="n1"))
    embedded.wait_running("secret")
    return embedded


def test_neither_a_device_nor_another_operator_reads_or_opens_a_stream(spied):
    wait_until(lambda: logs(spied, "secret").stdout == "secret\n", "its output")
    uid = spied.get("pod", "secret")["metadata"]["uid"]
    opening = json.dumps({"type": "open", "id": "x-1", "limit": "65536", "logs": {"uid": uid}})
    own = spied.topic("streams/n1/observer/0")
    with spied.client("observer", "another-operator") as operator:
        operator.subscribe(spied.topic("streams/#"))
        operator.publish(spied.topic("streams/n1/operator/0/down"), opening)
        assert logs(spied, "secret").stdout == "secret\n"
        operator.publish(own + "/down", opening)
        operator.wait_message(own + "/up", lambda said: True)
        operator.wait(lambda: any(payload.endswith(b"secret\n") for _, payload in operator.of(own + "/up")), "its own stream")
        assert not operator.of(spied.topic("streams/n1/operator/#")), "of one under another name it sees nothing"
    spied.kill("n2")
    with spied.client("n2") as device:
        device.subscribe(spied.topic("streams/#"))
        device.publish(spied.topic("streams/n1/n2/0/down"), opening)
        device.publish(spied.topic("streams/n1/operator/0/down"), opening)
        assert logs(spied, "secret").stdout == "secret\n"
        device.subscribe("behind/what/came")
        assert not device.of("#")
