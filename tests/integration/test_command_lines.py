"""What an operator types: mistakes are named, nothing ends with a signal, and what is valid is carried out."""

import json
import subprocess

import pytest
from manifests import pod
from programs import ROOT, program_path
from waiting import patience

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {}}}\n"
PROGRAMS = ("berthctl", "berthd", "berth-agent")
SYSTEM_ERROR = 71


def run(*argv, stdout=subprocess.PIPE):
    return subprocess.run([str(a) for a in argv], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=patience(None), check=False)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_output_that_cannot_be_written_is_an_error(program, option):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run(program_path(program), option, stdout=full)
    assert done.returncode == SYSTEM_ERROR and "cannot write" in done.stderr


def test_objects_that_cannot_be_shown_are_an_error(fleet):
    fleet.start_gateway()
    argv = [program_path("berthctl"), *fleet.connection("operator", fleet.port), "--fleet", fleet.name, "--gateway",
            fleet.gateway_name, "status"]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run(*argv, stdout=full)
    assert done.returncode == SYSTEM_ERROR and "cannot write the output" in done.stderr


@pytest.mark.parametrize("program, arguments", [
    ("berthctl", ["--broker", "127.0.0.1:1", "status"]),
    ("berthd", []),
    ("berth-agent", ["--node", "n1", "--broker", "127.0.0.1:1"]),
])
def test_a_program_without_descriptors_says_so_and_exits(tmp_path, program, arguments):
    argv = arguments if program == "berthctl" else ["--state-dir", tmp_path / "state", *arguments]
    done = run("prlimit", "--nofile=4", program_path(program), *argv)
    assert done.returncode == SYSTEM_ERROR and "Too many open files" in done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_directory_in_place_of_the_configuration_is_named(tmp_path, program):
    arguments = ["status"] if program == "berthctl" else ["--state-dir", tmp_path / "state"]
    done = run(program_path(program), "--config", tmp_path, *arguments)
    assert done.returncode == (2 if program == "berthctl" else 64)
    assert f"{tmp_path}: cannot read file: Is a directory" in done.stderr


@pytest.mark.parametrize("program, unit", [("berthd", "berth-gateway"), ("berth-agent", "berth-agent")])
def test_systemd_does_not_restart_a_program_whose_configuration_is_invalid(tmp_path, program, unit):
    config = tmp_path / "config.yaml"
    config.write_text("flet: typo\n", encoding="utf-8")
    done = run(program_path(program), "--config", config, "--state-dir", tmp_path / "state")
    lines = (ROOT / "cross" / "debian" / f"{unit}.service").read_text(encoding="utf-8").splitlines()
    assert f"RestartPreventExitStatus={done.returncode}" in lines and done.returncode == 64


def test_the_manifests_of_directories_are_applied_and_deleted(fleet, tmp_path):
    fleet.start_gateway()
    (tmp_path / "shop/below").mkdir(parents=True)
    for name, place in (("a", "a.yaml"), ("b", "b.yml"), ("c", "below/c.yaml"), ("d", "notes.txt")):
        (tmp_path / "shop" / place).write_text(NAMESPACE.format(name), encoding="utf-8")
    assert fleet.ctl("apply", "-f", tmp_path / "shop").stdout == "namespace/a created\nnamespace/b created\n"
    done = fleet.ctl("apply", "-R", "-f", tmp_path / "shop")
    assert done.stdout == "namespace/a unchanged\nnamespace/b unchanged\nnamespace/c created\n"
    done = fleet.ctl("delete", "-f", tmp_path / "shop/a.yaml", tmp_path / "shop/b.yml")
    assert done.stdout == "namespace/b deleted\nnamespace/a deleted\n"


def test_what_is_valid_in_a_bundle_is_applied_and_the_rest_named(fleet, tmp_path):
    fleet.start_gateway()
    bundle = tmp_path / "bundle.yaml"
    bundle.write_text(NAMESPACE.format("a") + "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n---\n" +
                      NAMESPACE.format("B!") + "---\n" + NAMESPACE.format("c"), encoding="utf-8")
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: [\n", encoding="utf-8")
    done = fleet.ctl("apply", "-f", bundle, broken, check=False)
    assert done.returncode == 1
    assert done.stdout == "namespace/a created\nnamespace/c created\n"
    for wrong in ("bundle.yaml:6:1: kind: unknown kind \"Ingress\"", "bundle.yaml:11:", "broken.yaml:2:"):
        assert wrong in done.stderr, wrong
    done = fleet.ctl("apply", "-f", bundle, tmp_path / "none.yaml", check=False)
    assert done.returncode == 2 and "none.yaml: cannot read file" in done.stderr and not done.stdout


def test_plan_answers_for_the_valid_pods_of_a_bundle(fleet, tmp_path):
    fleet.start("n1")
    wrong = pod("wrong")
    wrong["spec"]["containers"][0]["command"] = 7
    path = tmp_path / "pods.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod("web"), wrong]}), encoding="utf-8")
    done = fleet.ctl("plan", "-f", path, check=False)
    assert done.returncode == 1
    assert "n1" in done.stdout and "items[1].spec.containers[0].command" in done.stderr


def misspelt(name):
    manifest = pod(name)
    manifest["spec"]["restartPolcy"] = "Never"
    manifest["spec"]["containers"][0]["env"] = [{"name": "A", "vale": "x"}]
    return manifest


def test_a_misspelt_field_is_refused_unless_it_is_said_otherwise(fleet):
    fleet.start("n1")
    done = fleet.apply(misspelt("web"), check=False)
    assert done.returncode == 2 and "spec.restartPolcy: unknown field; did you mean restartPolicy?" in done.stderr
    assert "spec.containers[0].env[0].vale: unknown field; did you mean value?" in done.stderr
    assert fleet.get("pod", "web") is None
    done = fleet.apply(misspelt("web"), arguments=["--validate=warn"])
    assert "warning: " in done.stderr and "restartPolcy" in done.stderr
    assert "restartPolcy" not in fleet.apply(misspelt("other"), arguments=["--validate=ignore"]).stderr
    conditions = {c["type"]: c.get("message", "") for c in fleet.get("pod", "web")["status"]["conditions"]}
    assert all(field in conditions["UnknownFields"] for field in ("spec.restartPolcy", "env[0].vale"))
    assert "spec.restartPolcy: unknown field" in fleet.ctl("describe", "pod", "web").stdout


def test_create_makes_names_and_refuses_what_exists(fleet, tmp_path):
    fleet.start("n1")
    manifest = pod("web")
    path = tmp_path / "web.json"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert fleet.ctl("create", "-f", path).stdout == "pod/default/web created\n"
    done = fleet.ctl("create", "-f", path, check=False)
    assert done.returncode == 1 and "already exists" in done.stderr
    del manifest["metadata"]["name"]
    manifest["metadata"]["generateName"] = "job-"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    names = {fleet.ctl("create", "-f", path).stdout.split()[0].removeprefix("pod/default/") for _ in range(2)}
    assert len(names) == 2
    for name in names:
        assert len(name) == len("job-") + 5
        fleet.wait_running(name)
    done = fleet.ctl("apply", "-f", path, check=False)
    assert done.returncode == 2 and "only berthctl create makes a name from generateName" in done.stderr


def test_what_get_shows_can_be_applied_again(fleet, tmp_path):
    fleet.start("n1")
    fleet.apply(pod("web"), {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"a": "b"}}},
                {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
                 "provisioner": "kubernetes.io/no-provisioner"})
    fleet.wait_running("web")
    for kind, name in (("pod", "web"), ("node", "n1"), ("storageclass", "local")):
        path = tmp_path / f"{kind}.yaml"
        path.write_text(fleet.ctl("get", kind, name, "-o", "yaml").stdout, encoding="utf-8")
        assert "unknown field" not in fleet.ctl("plan" if kind == "pod" else "apply", "-f", path).stderr
