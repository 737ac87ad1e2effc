"""The scheduler configuration of the real berthd, and a berthd with out-of-tree plugins."""

import subprocess

import pytest
from fleet import Fleet
from manifests import pod
from programs import Program, program_path

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def run_berthd(*arguments, program="berthd"):
    return subprocess.run([program_path(program), *map(str, arguments)], capture_output=True, text=True, timeout=20,
                          check=False)


def write(folder, text, name="scheduler.yaml"):
    path = folder / name
    path.write_text(HEAD + text, encoding="utf-8")
    return path


class OwnFleet(Fleet):
    """A fleet whose gateway is the program built from tests/integration/own_plugin."""

    def gateway_argv(self, port, extra):
        return [program_path("berthd-battery"), *super().gateway_argv(port, extra)[1:]]


@pytest.fixture
def own_fleet(tmp_path, broker):
    running = OwnFleet(tmp_path, broker.port)
    yield running
    running.stop()


def test_the_printed_configuration_is_printed_unchanged_when_read_again(tmp_path):
    config = write(tmp_path, """
percentageOfNodesToScore: 70
profiles:
- schedulerName: default-scheduler
- schedulerName: spread
  plugins:
    multiPoint:
      enabled: [{name: TaintToleration, weight: 8}]
      disabled: [{name: NodeName}]
""")
    first = run_berthd("--scheduler-config", config, "--print-config")
    assert first.returncode == 0, first.stderr
    assert "name: NodeResourcesFit" in first.stdout and "weight: 8" in first.stdout
    again = tmp_path / "again.yaml"
    again.write_text(first.stdout, encoding="utf-8")
    assert run_berthd("--scheduler-config", again, "--print-config").stdout == first.stdout


def test_an_invalid_scheduler_configuration_stops_berthd_at_start(tmp_path):
    config = write(tmp_path, "extenders: [{urlPrefix: 'http://x'}]\nprofiles:\n- plugins: {score: {enabled: [{name: Bogus}]}}\n")
    (tmp_path / "berthd.yaml").write_text(f"scheduler_config: {config}\n", encoding="utf-8")
    run = Program("berthd", [program_path("berthd"), "--config", tmp_path / "berthd.yaml", "--state-dir",
                             tmp_path / "state"], tmp_path).start()
    assert run.wait(10) == 64
    assert "scheduler.yaml:3:1: extenders: not supported" in run.output()
    assert 'scheduler.yaml:5:32: profiles[0].plugins.score.enabled[0].name: plugin "Bogus" is unknown' in run.output()
    assert not (tmp_path / "state").exists()


def test_each_profile_schedules_the_pods_that_name_it(fleet, tmp_path):
    config = write(tmp_path, """
profiles:
- schedulerName: default-scheduler
- schedulerName: careless
  plugins: {filter: {disabled: [{name: TaintToleration}]}}
""")
    fleet.start_gateway(extra=["--scheduler-config", config])
    fleet.start_agent("n1", taints=["dedicated=camera:NoSchedule"])
    fleet.wait_node("n1")
    fleet.apply(pod("careful"), pod("careless", schedulerName="careless"))
    fleet.wait_running("careless", node="n1")
    fleet.wait_pending("careful", "untolerated taint")
    assert 'no profile "nobody"' in fleet.apply(pod("stray", schedulerName="nobody"), check=False).stderr


def test_an_out_of_tree_plugin_filters_and_scores(own_fleet, tmp_path):
    config = write(tmp_path, """
profiles:
- plugins: {multiPoint: {enabled: [{name: BatteryLevel, weight: 100}]}}
  pluginConfig: [{name: BatteryLevel, args: {minPercent: 30}}]
""")
    own_fleet.start_gateway(extra=["--scheduler-config", config])
    own_fleet.start_agent("low", labels={"example.com/battery": "29"})
    own_fleet.wait_node("low")
    own_fleet.apply(pod("first"))
    own_fleet.wait_pending("first", "battery at 29 %, minimum is 30 %")
    own_fleet.start_agent("half", labels={"example.com/battery": "50"})
    own_fleet.wait_running("first", node="half")
    own_fleet.start_agent("full", labels={"example.com/battery": "95"}, capacity={"cpu": "1", "memory": "64Mi", "pods": "20"})
    own_fleet.wait_node("full")
    own_fleet.apply(pod("second"))
    own_fleet.wait_running("second", node="full")


def test_an_out_of_tree_plugin_is_configured_and_validated_like_the_others(tmp_path):
    config = write(tmp_path, "profiles:\n- plugins: {filter: {enabled: [{name: BatteryLevel}]}}\n")
    done = run_berthd("--scheduler-config", config, "--print-config", program="berthd-battery")
    assert done.returncode == 0, done.stderr
    assert "kind: BatteryLevelArgs\n      minPercent: 20\n" in done.stdout
    config = write(tmp_path, "profiles:\n- pluginConfig:\n  - name: BatteryLevel\n    args: {minPercent: 130}\n")
    done = run_berthd("--scheduler-config", config, "--print-config", program="berthd-battery")
    assert done.returncode == 64
    assert ("scheduler.yaml:6:12: profiles[0].pluginConfig[0].args.minPercent: expected an integer from 0 to 100, got 130"
            in done.stderr)
    done = run_berthd("--scheduler-config", config, "--print-config")
    assert 'plugin "BatteryLevel" is unknown' in done.stderr
