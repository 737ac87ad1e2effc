"""What is shown of pods: the state of their containers, what they wrote, and events, across restarts."""

import json
import re
import signal

from invariants import wait_settled
from manifests import pod
from waiting import wait_until


def status_of(fleet, name):
    return fleet.get("pod", name)["status"]


def output_files(fleet, node):
    return sorted(fleet.state_dir(node).glob("output/*/*"))


def events(fleet, *arguments):
    return json.loads(fleet.ctl("get", "events", *arguments, "-o", "json").stdout)["items"]


def reasons(fleet, name):
    return [event["reason"] for event in events(fleet) if event["involvedObject"]["name"] == name]


def test_a_pod_that_crashes_is_shown_with_its_last_run_and_counts_on_across_agent_and_keeper(fleet):
    fleet.start("n1")
    crashing = pod("web", command=("sh", "-c", "exit 3"))
    crashing["spec"]["initContainers"] = [{"name": "first", "command": ["sh", "-c", "exit 0"]}]
    fleet.apply(crashing)
    fleet.wait_pod("web", lambda s: s.get("containerStatuses", [{}])[0].get("restartCount", 0) >= 2)
    fleet.kill("n1")
    fleet.restart("n1")
    fleet.wait_pod("web", lambda s: s["containerStatuses"][0].get("restartCount", 0) >= 3)
    status = status_of(fleet, "web")
    assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 3
    assert status["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "Error"
    first = status["initContainerStatuses"][0]
    assert first["state"]["terminated"]["reason"] == "Completed" and first["ready"] and first["restartCount"] == 0
    shown = fleet.ctl("describe", "pod", "web").stdout
    for line in ("Init Containers:", "Last State:", "Terminated", "Exit Code:", "Restart Count:", "Back-off restarting failed"):
        assert line in shown, shown
    back_off = [event for event in events(fleet) if event["reason"] == "BackOff"]
    assert len(back_off) == 1 and back_off[0]["count"] >= 2 and back_off[0]["source"]["host"] == "n1"
    started = {event["message"]: event["count"] for event in events(fleet) if event["reason"] == "Started"}
    assert started["Started container first"] == 1 and started["Started container main"] >= 2


def test_the_events_of_a_pod_tell_what_its_device_does_with_it(fleet, tmp_path):
    program = tmp_path / "program"  # there, so that the pod is taken, and of no use
    program.write_text("#!/nonexistent\n", encoding="utf-8")
    program.chmod(0o755)
    fleet.start("n1")
    fleet.apply(pod("web"), pod("bad", command=(str(program),)))
    fleet.wait_running("web")
    wait_until(lambda: "Failed" in reasons(fleet, "bad"), "the failure to start")
    (failed,) = [event for event in events(fleet) if event["reason"] == "Failed"]
    assert failed["type"] == "Warning" and failed["message"].startswith("Error: container main: "), failed
    assert reasons(fleet, "web") == ["Scheduled", "Started"]
    fleet.delete("pod", "web")
    wait_until(lambda: reasons(fleet, "web") == ["Scheduled", "Started", "Killing"], "the pod to be stopped")


def test_what_a_finished_pod_wrote_is_kept_until_its_object_goes(fleet):
    fleet.start("n1")
    fleet.apply(pod("job", command=("sh", "-c", "echo said; exit 3"), restartPolicy="Never"))
    fleet.wait_phase("job", "Failed")
    wait_settled(fleet)
    (kept,) = output_files(fleet, "n1")
    assert re.fullmatch(r"\S+Z stdout F said\n", kept.read_text())
    for name in ("n1", "berthd"):
        fleet.kill(name)
        fleet.restart(name)
    fleet.wait_node("n1")
    wait_settled(fleet)
    status = status_of(fleet, "job")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3 and status["nodeName"] == "n1"
    assert output_files(fleet, "n1") == [kept]
    fleet.delete("pod", "job")
    wait_until(lambda: not output_files(fleet, "n1"), "the output to go with the object")


def test_what_a_finished_pod_wrote_goes_though_its_node_was_away_when_the_object_went(fleet):
    fleet.start("n1")
    fleet.apply(pod("job", command=("sh", "-c", "echo said"), restartPolicy="Never"))
    fleet.wait_phase("job", "Succeeded")
    wait_settled(fleet)
    assert output_files(fleet, "n1")
    fleet.kill("n1")
    fleet.delete("pod", "job")
    fleet.wait_gone("job")
    fleet.restart("n1")
    wait_until(lambda: not output_files(fleet, "n1"), "the output to go once the node is back")


def test_events_survive_a_restart_of_the_gateway(fleet):
    fleet.start("n1")
    fleet.apply(pod("big", cpu="900"))
    fleet.wait_pending("big")
    wait_until(lambda: "FailedScheduling" in reasons(fleet, "big"), "the event")
    assert "RegisteredNode" in reasons(fleet, "n1")
    fleet.kill("berthd", signal.SIGTERM)
    fleet.restart("berthd")
    fleet.wait_node("n1")
    assert "FailedScheduling" in reasons(fleet, "big") and "RegisteredNode" in reasons(fleet, "n1")
    table = fleet.ctl("get", "events").stdout.splitlines()
    assert table[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert any("pod/big" in line for line in table[1:])
    assert fleet.ctl("get", "events", "-n", "elsewhere").stdout == ""
    assert "FailedScheduling" in fleet.ctl("describe", "pod", "big").stdout
