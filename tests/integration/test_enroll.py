"""berthctl enroll: the accounts, access rules and configuration that it writes, used by the real programs."""

import json
import subprocess
from pathlib import Path

import pytest
from broker import free_port, mosquitto_path
from manifests import pod
from programs import Program, program_path
from waiting import wait_until


class Enrolled:
    """A gateway, a device and an operator configured only by what enroll wrote."""

    def __init__(self, folder, certificate=False):
        self.folder, self.certificate, self.programs = Path(folder), certificate, []
        self.port = free_port()

    def enroll(self, name, *options):
        command = [program_path("berthctl"), "enroll", name, "--broker-dir", self.folder / "accounts", "--output",
                   self.folder / name, "--installed-dir", self.folder / name, "--mosquitto-dir", self.folder / "conf.d",
                   "--address", f"127.0.0.1:{self.port}", "--no-reload", *options]
        if self.certificate:
            command.append("--certificate")
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def start(self):
        (self.folder / "conf.d").mkdir()
        for name, role in (("gateway", "gateway"), ("operator", "operator"), ("edge-a", "node")):
            done = self.enroll(name, "--role", role)
            assert done.returncode == 0, done.stderr
        self.start_broker()
        self.run("berthd", "--config", self.gateway_config(), "--state-dir", self.folder / "state")
        self.run("berth-agent", "--config", self.folder / "edge-a" / "berth-agent.yaml", "--state-dir",
                 self.folder / "device", "--capacity", "cpu=1", "--capacity", "memory=1Gi", "--capacity", "pods=10")
        return self

    def start_broker(self):
        accounts = self.folder / "accounts"
        lines = [f"acl_file {accounts}/access", "persistence false", "user root", "log_dest stderr"]
        if self.certificate:
            lines.append((self.folder / "conf.d" / "berth-tls.conf").read_text(encoding="utf-8"))
        else:
            lines += [f"listener {self.port} 127.0.0.1", "allow_anonymous false", f"password_file {accounts}/passwords"]
        config = self.folder / "mosquitto.conf"
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.broker = Program("mosquitto", [mosquitto_path(), "-c", config], self.folder).start()
        self.programs.append(self.broker)
        self.broker.wait_output("running")

    def gateway_config(self):
        own = self.folder / "gateway"
        trust = ({"tls": {"ca_file": f"{own}/ca.crt", "cert_file": f"{own}/gateway.crt", "key_file": f"{own}/gateway.key"}}
                 if self.certificate else {"username": "gateway", "password_file": f"{own}/password"})
        path = self.folder / "berthd.yaml"  # JSON is valid YAML
        path.write_text(json.dumps({"broker": {"host": "127.0.0.1", "port": self.port, **trust}}), encoding="utf-8")
        return path

    def run(self, name, *arguments):
        self.programs.append(Program(name, [program_path(name), *arguments], self.folder).start())

    def ctl(self, *arguments, stdin=None):
        command = [program_path("berthctl"), "--config", self.folder / "operator" / "berthctl.yaml", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def stop(self):
        for program in reversed(self.programs):
            program.stop()


@pytest.fixture(params=["password", "certificate"])
def enrolled(request, tmp_path, leaves_no_process):
    fleet = Enrolled(tmp_path, request.param == "certificate").start()
    yield fleet
    fleet.stop()


def test_gateway_device_and_operator_need_only_what_enroll_writes(enrolled):
    applied = enrolled.ctl("apply", "-f", "-", stdin=json.dumps(pod("web")))
    assert applied.returncode == 0, applied.stderr

    def runs():
        shown = enrolled.ctl("get", "pod", "web", "-o", "json")
        return shown.returncode == 0 and json.loads(shown.stdout)["status"].get("phase") == "Running"

    wait_until(runs, "web to run on edge-a")


def test_a_second_enrolment_replaces_only_password_and_access_of_that_name(tmp_path):
    fleet = Enrolled(tmp_path)
    for name in ("edge-a", "edge-b", "edge-a"):
        assert fleet.enroll(name).returncode == 0
    accounts = tmp_path / "accounts"
    names = [line.split(":")[0] for line in (accounts / "passwords").read_text(encoding="utf-8").splitlines()]
    users = [line for line in (accounts / "access").read_text(encoding="utf-8").splitlines() if line.startswith("user")]
    assert sorted(names) == ["edge-a", "edge-b"]
    assert sorted(users) == ["user edge-a", "user edge-b"]


@pytest.mark.parametrize("name, expected", [("Edge_A", "NAME"), ("a b", "NAME")])
def test_an_invalid_node_name_is_refused_and_nothing_is_written(tmp_path, name, expected):
    done = Enrolled(tmp_path).enroll(name)
    assert done.returncode == 2 and expected in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    blocked = tmp_path / "accounts"
    blocked.write_text("a file where the directory should be", encoding="utf-8")
    done = Enrolled(tmp_path).enroll("edge-a")
    assert done.returncode == 1 and str(blocked) in done.stderr
