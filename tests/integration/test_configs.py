"""ConfigMaps and Secrets: applied, shown to who asks, kept over a kill, brought to the device of their pod, and no Secret in any
file but as sealed, or in a tmpfs."""

import base64
import json
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest
from manifests import pod
from waiting import wait_until

PIN = "correct-horse-battery-staple"
ENCODED = base64.b64encode(PIN.encode()).decode()


def secret(value=PIN, name="tls", **more):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"pin": value}, **more}


def config_map(value, name="app", **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a.conf": value}, **more}


def files_with_secret(fleet):
    """Names of the files of the programs, state and logs, in which the Secret can be read. What the test applies is none."""
    found = []
    for path in fleet.folder.rglob("*"):
        if not path.is_file() or path.name.startswith("manifest-"):
            continue
        content = path.read_bytes()
        if PIN.encode() in content or ENCODED.encode() in content:
            found.append(str(path))
    return found


def test_a_secret_is_shown_to_who_asks_and_is_in_no_file(fleet):
    fleet.start("n1")
    assert "created" in fleet.apply(secret(), config_map("k = v")).stdout
    table = fleet.ctl("get", "secrets").stdout
    assert table.split()[:4] == ["NAME", "TYPE", "DATA", "AGE"]
    assert table.split()[4:7] == ["tls", "Opaque", "1"]
    assert fleet.ctl("get", "cm").stdout.split()[:5] == ["NAME", "DATA", "AGE", "app", "1"]
    described = fleet.ctl("describe", "secret", "tls").stdout
    assert f"{len(PIN)} bytes" in described
    for shown in (table, described):
        assert PIN not in shown and ENCODED not in shown
    assert json.loads(fleet.ctl("get", "secret", "tls", "-o", "json").stdout)["data"]["pin"] == ENCODED

    assert (fleet.state_dir("berthd") / "secrets.key").stat().st_mode & 0o777 == 0o600
    for _ in range(3):
        fleet.kill("berthd")
        fleet.restart("berthd")
        fleet.wait_gateway_ready()
        assert fleet.get("secret", "tls")["data"]["pin"] == ENCODED
        fleet.apply(secret(PIN + "2"))
        fleet.apply(secret())
    assert files_with_secret(fleet) == []


def test_a_secret_cannot_be_read_without_its_key_and_is_not_lost(fleet):
    fleet.start("n1")
    fleet.apply(secret())
    key = fleet.state_dir("berthd") / "secrets.key"
    fleet.kill("berthd")
    aside = key.rename(fleet.folder / "aside.key")
    fleet.restart("berthd")
    fleet.wait_gateway_ready()
    assert "secrets.key" in fleet.ctl("status").stdout
    assert "data" not in json.loads(fleet.ctl("get", "secret", "tls", "-o", "json").stdout)
    refused = fleet.apply(secret(name="other"), check=False)
    assert refused.returncode != 0 and "secrets.key" in refused.stderr
    assert not key.exists()
    fleet.kill("berthd")
    aside.rename(key)
    fleet.restart("berthd")
    fleet.wait_gateway_ready()
    assert fleet.get("secret", "tls")["data"]["pin"] == ENCODED
    assert "created" in fleet.apply(secret(name="other")).stdout


def test_a_config_map_of_a_mebibyte_comes_back_as_it_was_applied(fleet):
    fleet.start("n1")
    value = "".join(f'line {n}: "quoted" \\ ż €\n' for n in range(34_000))[:900_000]
    fleet.apply(config_map(value))
    assert fleet.get("cm", "app")["data"]["a.conf"] == value
    fleet.kill("berthd")
    fleet.restart("berthd")
    fleet.wait_gateway_ready()
    assert json.loads(fleet.ctl("get", "cm", "-o", "json").stdout)["items"][0]["data"]["a.conf"] == value
    refused = fleet.apply(config_map("v" * (1 << 20) + "v"), check=False)
    assert refused.returncode != 0 and "must be at most 1 MiB" in refused.stderr


def test_what_is_immutable_stays(fleet):
    fleet.start("n1")
    fleet.apply(config_map("v", immutable=True))
    refused = fleet.apply(config_map("w", immutable=True), check=False)
    assert refused.returncode != 0 and "data: cannot change" in refused.stderr
    fleet.delete("cm", "app")
    wait_until(lambda: fleet.get("cm", "app") is None, "the ConfigMap is gone")
    assert "created" in fleet.apply(config_map("w", immutable=True)).stdout


def is_tmpfs(path):
    return subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True).stdout.strip() == "tmpfs"


def secrets_below(folder, value):
    """The files of a device that have the value of a Secret."""
    encoded = base64.b64encode(value.encode())
    return [path for path in folder.glob("*/secrets_*") if encoded in path.read_bytes()]


@pytest.mark.skipif(not is_tmpfs("/dev/shm"), reason="without a tmpfs the agent keeps Secrets in memory only")
def test_a_secret_follows_its_pod_to_the_device_and_is_on_no_flash(fleet, request):
    first, second, third = (f"{PIN}-{n}" for n in range(3))
    folder = Path("/dev/shm") / f"berth-{uuid.uuid4()}"
    request.addfinalizer(lambda: shutil.rmtree(folder, ignore_errors=True))

    def secrets_on_devices(value):
        return secrets_below(folder, value)

    fleet.start("n1", extra=("--secret-dir", folder))
    fleet.apply(secret(first), pod("web", imagePullSecrets=[{"name": "tls"}]))
    fleet.wait_running("web", "n1")
    [file] = secrets_on_devices(first)
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700

    fleet.kill("n1")
    fleet.apply(secret(second))
    fleet.restart("n1")
    wait_until(lambda: secrets_on_devices(second) and not secrets_on_devices(first), "the device has the present Secret")
    fleet.kill("berthd")
    fleet.restart("berthd")
    fleet.wait_gateway_ready()
    fleet.apply(secret(third))
    wait_until(lambda: secrets_on_devices(third), "the device has the present Secret")
    assert files_with_secret(fleet) == []

    fleet.delete("pod", "web")
    fleet.wait_gone("web")
    wait_until(lambda: not secrets_on_devices(third), "the Secret left with its pod")


@pytest.mark.skipif(not is_tmpfs("/dev/shm"), reason="without a tmpfs nothing is sealed")
def test_a_device_that_is_to_seal_no_secrets_has_none_on_flash_and_removes_those_it_had(fleet, tmp_path, request):
    folder = Path("/dev/shm") / f"berth-{uuid.uuid4()}"
    request.addfinalizer(lambda: shutil.rmtree(folder, ignore_errors=True))
    config = tmp_path / "agent.yaml"
    config.write_text("secrets: {sealed: off}\n", encoding="utf-8")
    sealed = fleet.state_dir("n1") / "sealed-secrets"
    sealed.mkdir(parents=True)
    (sealed / "earlier").write_bytes(b"sealed")
    fleet.start("n1", extra=("--config", config, "--secret-dir", folder))
    fleet.apply(secret(), pod("web", imagePullSecrets=[{"name": "tls"}]))
    fleet.wait_running("web", "n1")
    assert secrets_below(folder, PIN)
    assert not sealed.exists()
