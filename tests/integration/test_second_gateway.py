"""A second gateway of one fleet at one broker: one serves, the other one waits and says for whom (P13)."""

import json
import urllib.request

import pytest
from invariants import assert_one_place, wait_each_runs_once
from manifests import counted_pod, starts
from programs import Program
from waiting import wait_until

TAKEOVER = "takeover_after_seconds: 10\n"


class Second:
    """A gateway with a machine's state of its own."""

    def __init__(self, fleet, name, config=""):
        self.fleet, self.folder = fleet, fleet.state_dir("second-" + name)
        path = fleet.folder / f"second-{name}.yaml"
        path.write_text(config, encoding="utf-8")
        argv = fleet.gateway_argv(fleet.port, ["--config", path])
        argv[argv.index("--state-dir") + 1] = self.folder
        argv[argv.index("--gateway") + 1] = name
        self.program = fleet.programs["second"] = Program("second", argv, fleet.folder)
        self.program.start()

    def readiness(self):
        address = (self.folder / "http").read_text(encoding="utf-8").strip()
        try:
            with urllib.request.urlopen(f"http://{address}/readyz?verbose") as page:
                return page.read().decode()
        except urllib.error.HTTPError as failed:
            return failed.read().decode()


@pytest.mark.parametrize("name", ["other", "gw"])
def test_a_second_gateway_waits_and_disturbs_nothing(fleet, tmp_path, name):
    fleet.start("n1", "n2")
    pods = [f"pod-{n}" for n in range(4)]
    fleet.apply(*(counted_pod(pod, tmp_path) for pod in pods))
    wait_each_runs_once(fleet, *pods)

    second = Second(fleet, name)
    second.program.wait_output("another gateway serves this fleet; waiting")
    assert '[-]leadership failed: gateway "gw" at 127.0.0.1 serves fleet' in second.readiness()
    fleet.delete("pod", "pod-0")
    fleet.apply(counted_pod("later", tmp_path))
    expected = [*pods[1:], "later"]
    wait_each_runs_once(fleet, *expected)
    if name == "other":
        fleet.gateway_name = name
        refused = fleet.ctl("get", "pods", check=False)
        fleet.gateway_name = "gw"
        assert refused.returncode and 'this gateway does not serve: gateway "gw" at 127.0.0.1' in refused.stderr, refused

    fleet.kill("second")
    wait_each_runs_once(fleet, *expected)
    assert_one_place(fleet.name)
    assert {pod: starts(pod, tmp_path) for pod in expected} == {pod: 1 for pod in expected}
    assert "another gateway" not in fleet.programs["berthd"].output()


def test_a_second_gateway_takes_over_and_the_first_one_follows_it_later(fleet, tmp_path):
    config = tmp_path / "berthd.yaml"
    config.write_text(TAKEOVER, encoding="utf-8")
    fleet.start_gateway(extra=["--config", config])
    for node in ("n1", "n2"):
        fleet.start_agent(node)
        fleet.wait_node(node)
    early = [f"early-{n}" for n in range(4)]
    fleet.apply(*(counted_pod(pod, tmp_path) for pod in early))
    placed = wait_each_runs_once(fleet, *early)
    second = Second(fleet, "gw", TAKEOVER)
    second.program.wait_output("another gateway serves this fleet; waiting")

    fleet.kill("berthd")
    second.program.wait_output("another gateway has served the fleet")
    second.program.wait_output("adopt mode has ended")
    fleet.apply(counted_pod("during", tmp_path))
    fleet.wait_running("during")
    fleet.restart("berthd").wait_output("another gateway serves this fleet; waiting")
    assert_one_place(fleet.name)

    fleet.kill("second")
    fleet.programs["berthd"].wait_output("another gateway has served the fleet")
    wait_until(lambda: json.loads(fleet.ctl("status", "-o", "json").stdout)["ready"], "the first gateway to serve again")
    found = wait_each_runs_once(fleet, *early, "during")
    assert {pod: found[pod] for pod in early} == placed
    assert_one_place(fleet.name)
    assert {pod: starts(pod, tmp_path) for pod in (*early, "during")} == {pod: 1 for pod in (*early, "during")}
