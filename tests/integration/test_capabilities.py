"""What no node can do is said before anybody is asked (D7), and what only a device sees end is told by it (D6)."""

import json

import pytest

from manifests import pod


def plan(fleet, tmp_path, manifest):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return fleet.ctl("plan", "-f", path, check=False)


def container_of(manifest, **members):
    manifest["spec"]["containers"][0].update(members)
    return manifest


def with_secret():
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    return container_of(pod("web"), env=[{"name": "A", "valueFrom": source}])


@pytest.mark.parametrize("manifest, field", [
    (with_secret(), "spec.containers[0].env[0].valueFrom.secretKeyRef (feature processes/secrets)"),
    (pod("web", volumes=[{"name": "v", "configMap": {"name": "m"}}]), "spec.volumes[0].configMap (feature processes/volumes/configMap)"),
    (container_of(pod("web"), image="nginx:1.27"), "spec.containers[0].image (feature images: install crun or runc"),
    (container_of(pod("web"), livenessProbe={"grpc": {"port": 5000}}),
     "spec.containers[0].livenessProbe.grpc (feature processes/grpcProbes)"),
])
def test_plan_dry_run_and_apply_say_what_the_node_cannot_do(fleet, tmp_path, manifest, field):
    fleet.start("edge-a")
    fleet.wait_node("edge-a")
    reason = "node(s) do not support " + field
    planned = plan(fleet, tmp_path, manifest)
    assert planned.returncode == 1 and reason in planned.stdout + planned.stderr, planned
    tried = fleet.apply(manifest, arguments=["--dry-run"])
    assert "created (dry run)" in tried.stdout and reason in tried.stderr, tried
    assert fleet.get("pod", "web") is None
    fleet.apply(manifest)
    fleet.wait_pending("web", reason)


def test_what_no_device_could_run_is_refused_with_the_field(fleet, tmp_path):
    fleet.start("edge-a")
    fleet.wait_node("edge-a")
    manifest = container_of(pod("web"), volumeMounts=[{"name": "data", "mountPath": "/d"}])
    reason = 'spec.containers[0].volumeMounts[0].name: no volume of spec.volumes is called "data"'
    for done in (plan(fleet, tmp_path, manifest), fleet.apply(manifest, check=False, arguments=["--dry-run"]),
                 fleet.apply(manifest, check=False)):
        assert done.returncode == 2 and reason in done.stderr, done


def test_a_node_shows_what_its_agent_can_do(fleet):
    fleet.start("edge-a")
    fleet.wait_node("edge-a")
    shown = fleet.ctl("describe", "node", "edge-a").stdout
    features = set(shown.replace(",", " ").split())
    assert {"probes", "processes/probes", "processes/volumes/emptyDir", "runtimeClass/process", "volumes/emptyDir"} <= features, shown
    assert not features & {"images", "limits", "processes/limits"}, shown


def test_a_pod_whose_directory_is_missing_runs_once_it_is_there(fleet, tmp_path):
    directory = tmp_path / "data"
    fleet.start("edge-a")
    fleet.wait_node("edge-a")
    fleet.apply(pod("web", volumes=[{"name": "v", "hostPath": {"path": str(directory)}}]))
    fleet.wait_pending("web", f"{directory} does not exist", "(edge-a)")
    directory.mkdir()
    fleet.wait_running("web", node="edge-a")
