"""berthctl enroll: the accounts, access rules and configuration that it writes, used by the real programs."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import types
from pathlib import Path

import pytest
from broker import Client, mosquitto_path
from manifests import pod
from ports import free_port, free_ports
from programs import Program, program_path
from waiting import wait_until


ROOT = Path(__file__).resolve().parents[2]


class Enrolled:
    """A gateway, a device and an operator configured only by what enroll wrote."""

    def __init__(self, folder, certificate=False, tls=False):
        """Devices that are elsewhere (tls) reach the broker at the machine's name."""
        self.folder, self.certificate, self.tls, self.programs = Path(folder), certificate, tls or certificate, []
        self.host = socket.gethostname() if tls else "127.0.0.1"
        certificates = free_ports(4)
        self.port, self.operators_port = certificates[:2] if certificate or not tls else certificates[2:]

    def enroll(self, name, *options):
        port = self.operators_port if "operator" in options else self.port
        command = [program_path("berthctl"), "enroll", name, "--broker-dir", self.folder / "accounts", "--output",
                   self.folder / name, "--installed-dir", self.folder / name, "--mosquitto-dir", self.folder / "conf.d",
                   "--address", f"{self.host}:{port}", "--no-reload", *options]
        if "--certificate" not in options:
            command.append("--certificate" if self.certificate else "--password")
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def start(self):
        (self.folder / "conf.d").mkdir()
        for name, role in (("gateway", "gateway"), ("operator", "operator"), ("edge-a", "node"), ("edge-b", "node")):
            done = self.enroll(name, "--role", role)
            assert done.returncode == 0, done.stderr
        self.start_broker()
        self.run("berthd", "--config", self.gateway_config(), "--state-dir", self.folder / "state")
        self.run("berth-agent", "--config", self.folder / "edge-a" / "berth-agent.yaml", "--state-dir",
                 self.folder / "device", "--capacity", "cpu=1", "--capacity", "memory=1Gi", "--capacity", "pods=10",
                 "--container-runtime", "none", "--bwrap", "none")
        return self

    def start_broker(self):
        """With the package's configuration."""
        ours = (ROOT / "cross" / "debian" / "mosquitto.conf").read_text(encoding="utf-8")
        ours = ours.replace("/etc/berth/broker", str(self.folder / "accounts"))
        plain = free_ports(2) if self.tls else (self.port, self.operators_port)
        for packaged, port in zip((1883, 1884), plain, strict=True):
            ours = ours.replace(f"listener {packaged}", f"listener {port}")
        if self.tls:
            ours += (self.folder / "conf.d" / "berth.tls.conf").read_text(encoding="utf-8")
        for accounts in ("passwords", "operators"):
            assert (self.folder / "accounts" / accounts).exists()
        config = self.folder / "mosquitto.conf"
        config.write_text(ours + "user root\n", encoding="utf-8")
        self.broker = Program("mosquitto", [mosquitto_path(), "-c", config], self.folder).start()
        self.programs.append(self.broker)
        self.broker.wait_output("running")

    def gateway_config(self):
        own = self.folder / "gateway"
        trust = ({"tls": {"ca_file": f"{own}/ca.crt", "cert_file": f"{own}/gateway.crt", "key_file": f"{own}/gateway.key"}}
                 if self.certificate else {"username": "gateway", "password_file": f"{own}/password"})
        path = self.folder / "berthd.yaml"  # JSON is valid YAML
        if self.tls and not self.certificate:
            trust["tls"] = {"ca_file": f"{own}/ca.crt"}
        path.write_text(json.dumps({"broker": {"host": self.host, "port": self.port, **trust}}), encoding="utf-8")
        return path

    def run(self, name, *arguments):
        self.programs.append(Program(name, [program_path(name), *arguments], self.folder).start())

    def ctl(self, *arguments, stdin=None):
        command = [program_path("berthctl"), "--config", self.folder / "operator" / "berthctl.yaml", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def client(self, account, client_id, port=None):
        """A client with the account's password or certificate and any client id."""
        own = self.folder / account
        authority = types.SimpleNamespace(ca=own / "ca.crt") if self.tls else None
        if self.certificate:
            return Client(port or self.port, client_id, authority=authority,
                          certificate=(own / f"{account}.crt", own / f"{account}.key"))
        password = (own / "password").read_text(encoding="utf-8").strip()
        return Client(port or self.port, client_id, username=account, password=password, authority=authority)

    def credentials(self, account):
        """The flags of berthctl for a connection with another account than the operator's, to the operators' listener."""
        own = self.folder / account
        if self.certificate:
            return ["--cert-file", own / f"{account}.crt", "--key-file", own / f"{account}.key"]
        return ["--username", account, "--password-file", own / "password"]

    def revoke(self, name):
        command = [program_path("berthctl"), "revoke", name, "--broker-dir", self.folder / "accounts", "--mosquitto-dir",
                   self.folder / "conf.d", "--no-reload"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def reload(self, restart):
        """What revoke does with the machine's mosquitto."""
        if restart:
            self.broker.stop()
            self.broker.start()
        else:
            self.broker.kill(signal.SIGHUP)

    def stop(self):
        for program in reversed(self.programs):
            program.stop()


@pytest.fixture(params=["password", "password over TLS", "certificate"])
def enrolled(request, tmp_path, leaves_no_process):
    fleet = Enrolled(tmp_path, request.param == "certificate", request.param == "password over TLS").start()
    yield fleet
    fleet.stop()


def test_gateway_device_and_operator_need_only_what_enroll_writes(enrolled):
    applied = enrolled.ctl("apply", "-f", "-", stdin=json.dumps(pod("web")))
    assert applied.returncode == 0, applied.stderr

    def runs():
        shown = enrolled.ctl("get", "pod", "web", "-o", "json")
        return shown.returncode == 0 and json.loads(shown.stdout)["status"].get("phase") == "Running"

    wait_until(runs, "web to run on edge-a")


def test_an_enrolled_device_takes_requests_of_its_own_gateway_only(tmp_path):
    fleet = Enrolled(tmp_path)
    assert fleet.enroll("edge-a", "--gateway", "north").returncode == 0
    assert "gateway: north\n" in (tmp_path / "edge-a" / "berth-agent.yaml").read_text(encoding="utf-8")
    assert fleet.enroll("operator", "--role", "operator").returncode == 0
    assert "gateway: " not in (tmp_path / "operator" / "berthctl.yaml").read_text(encoding="utf-8")


def test_no_device_ends_the_session_of_another_client(enrolled):
    wait_until(lambda: enrolled.ctl("get", "node", "edge-a").returncode == 0, "edge-a")
    watcher = enrolled.client("operator", "berthctl-watcher", enrolled.operators_port)
    other = enrolled.client("edge-b", "berth-default-edge-b")
    logs = {program.name: program.output() for program in enrolled.programs}
    assert all("link lost" not in text for text in logs.values())
    for taken in ("berth-default-gateway-gateway", "gateway", "berth-default-edge-a", "edge-a", "berthctl-watcher", "operator"):
        enrolled.client("edge-b", taken).close()
        assert enrolled.ctl("get", "nodes").returncode == 0
    assert watcher.connected
    wait_until(lambda: other.times_lost, "the end of edge-b's own session")
    assert all("link lost" not in program.output() for program in enrolled.programs)
    done = enrolled.ctl(*enrolled.credentials("edge-b"), "--timeout", "2", "get", "nodes")
    assert done.returncode == 3 and watcher.connected, done.stderr
    watcher.close()
    other.close()


def test_a_revoked_device_is_cut_off_at_once_and_nobody_else(enrolled):
    own = [*enrolled.credentials("edge-b"), "--broker", f"{enrolled.host}:{enrolled.port}", "--timeout", "3"]
    assert enrolled.ctl(*own, "get", "nodes").returncode == 4  # connected, and may not ask
    live = enrolled.client("edge-b", "live")
    done = enrolled.revoke("edge-b")
    assert done.returncode == 0 and "berthctl forget node edge-b" in done.stdout, done.stderr
    enrolled.reload(restart="restarted" in done.stdout)
    live.wait(lambda: not live.connected, "the end of the live session")
    live.close()
    assert enrolled.ctl(*own, "get", "nodes").returncode == 3
    wait_until(lambda: enrolled.ctl("get", "node", "edge-a").returncode == 0, "the others")
    again = enrolled.revoke("edge-b")
    assert again.returncode == 1 and "edge-b: no such account" in again.stderr


def test_a_second_enrolment_makes_the_first_certificate_invalid(tmp_path, leaves_no_process):
    fleet = Enrolled(tmp_path, certificate=True)
    (tmp_path / "conf.d").mkdir()
    for name, role in (("operator", "operator"), ("edge-a", "node")):
        assert fleet.enroll(name, "--role", role).returncode == 0
    shutil.copytree(tmp_path / "edge-a", tmp_path / "first")
    assert fleet.enroll("edge-a", "--replace").returncode == 0
    fleet.start_broker()
    codes = []
    for folder in ("first", "edge-a"):
        own = tmp_path / folder
        done = fleet.ctl("--broker", f"127.0.0.1:{fleet.port}", "--cert-file", own / "edge-a.crt", "--key-file", own / "edge-a.key",
                         "--timeout", "3", "get", "nodes")
        codes.append(done.returncode)
    assert codes == [3, 4]  # not admitted; admitted, and may not ask
    fleet.stop()


def test_a_device_that_is_enrolled_for_another_address_verifies_the_broker_there(tmp_path, leaves_no_process):
    fleet = Enrolled(tmp_path, certificate=True)
    try:
        fleet.start()
        fleet.host = "127.0.0.2"
        done = fleet.enroll("edge-c")
        assert done.returncode == 0, done.stderr
        fleet.reload(restart=False)
        for name in ("edge-c", "edge-b"):  # and who was enrolled before is not cut off
            argv = [program_path("berth-agent"), "--config", tmp_path / name / "berth-agent.yaml", "--state-dir",
                    tmp_path / f"device-{name}", "--capacity", "cpu=1"]
            fleet.programs.append(Program(name, argv, tmp_path).start())
            fleet.programs[-1].wait_output("mqtt link up")
    finally:
        fleet.stop()


def test_a_device_gets_a_certificate_and_an_operator_a_password_unless_it_is_said_otherwise(tmp_path):
    for name, role, has in (("edge-a", "node", "edge-a.crt"), ("ann", "operator", "password")):
        argv = [program_path("berthctl"), "enroll", name, "--role", role, "--broker-dir", tmp_path / "accounts", "--output",
                tmp_path / name, "--mosquitto-dir", tmp_path / "none", "--no-reload"]
        subprocess.run([str(a) for a in argv], check=True)
        assert (tmp_path / name / has).exists(), name


def accounts_in(fleet, file):
    path = fleet.folder / "accounts" / file
    return [line.split(":")[0] for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def issued_to(fleet, name):
    return [path.parent.name for path in (fleet.folder / "accounts" / "tls").glob(f"*.issued/{name}.crt")]


def revoked_by(fleet, authority):
    return (fleet.folder / "accounts" / "tls" / f"{authority}.revoked").read_text(encoding="utf-8").count("R\t")


@pytest.mark.parametrize("role, file, authority", [("node", "passwords", "ca"), ("operator", "operators", "operators")])
def test_an_account_has_one_credential_whatever_it_was_enrolled_with_before(tmp_path, role, file, authority):
    fleet = Enrolled(tmp_path)
    assert fleet.enroll("edge-a", "--role", role).returncode == 0
    assert accounts_in(fleet, file) == ["edge-a"]
    assert fleet.enroll("edge-a", "--role", role, "--certificate", "--replace").returncode == 0
    assert accounts_in(fleet, file) == [] and issued_to(fleet, "edge-a") == [f"{authority}.issued"]
    assert fleet.enroll("edge-a", "--role", role, "--replace").returncode == 0
    assert accounts_in(fleet, file) == ["edge-a"] and issued_to(fleet, "edge-a") == []
    assert revoked_by(fleet, authority) == 1


def test_an_operator_of_an_earlier_version_leaves_the_passwords_of_devices(tmp_path):
    fleet = Enrolled(tmp_path)
    (tmp_path / "accounts").mkdir()
    (tmp_path / "accounts" / "passwords").write_text("operator:$7$old\nedge-a:$7$kept\n", encoding="utf-8")
    assert fleet.enroll("operator", "--role", "operator").returncode == 0
    assert accounts_in(fleet, "passwords") == ["edge-a"] and accounts_in(fleet, "operators") == ["operator"]


def listeners_in(config):
    """(port, address, whether it has TLS) of each; an empty address is every address."""
    found = []
    for line in config.splitlines():
        key, *values = line.split() or [""]
        if key == "listener":
            found.append([values[0], values[1] if len(values) > 1 else "", False])
        elif key == "certfile":
            found[-1][2] = True
    return [tuple(each) for each in found]


def test_other_machines_are_served_with_tls_only(tmp_path):
    (tmp_path / "conf.d").mkdir()
    packaged = (ROOT / "cross" / "debian" / "mosquitto.conf").read_text(encoding="utf-8")
    assert listeners_in(packaged) == [("1883", "127.0.0.1", False), ("1884", "127.0.0.1", False)]
    (tmp_path / "conf.d" / "berth.conf").write_text(packaged, encoding="utf-8")
    argv = [program_path("berthctl"), "enroll", "edge-a", "--password", "--broker-dir", tmp_path / "accounts", "--output",
            tmp_path / "edge-a", "--mosquitto-dir", tmp_path / "conf.d", "--no-reload"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    written = listeners_in((tmp_path / "conf.d" / "berth.tls.conf").read_text(encoding="utf-8"))
    assert written == [(port, "", True) for port in ("8883", "8884", "8885", "8886")]
    device = (tmp_path / "edge-a" / "berth-agent.yaml").read_text(encoding="utf-8")
    assert "port: 8885\n" in device and "ca_file: /etc/berth/ca.crt\n" in device
    assert (tmp_path / "edge-a" / "ca.crt").exists()


def own_broker(folder):
    """The package's own instance, as cross/debian/rules makes its configuration; returns its directory for TLS listeners."""
    debian = ROOT / "cross" / "debian"
    text = (debian / "mosquitto.conf").read_text(encoding="utf-8") + (debian / "own-mosquitto.conf").read_text(encoding="utf-8")
    (folder / "mosquitto" / "conf.d").mkdir(parents=True)
    (folder / "mosquitto" / "mosquitto.conf").write_text(re.sub(r"(?m)^listener 188", "listener 189", text), encoding="utf-8")
    return folder / "mosquitto" / "conf.d"


def enroll_with(folder, mosquitto_dir, name, *options):
    argv = [program_path("berthctl"), "enroll", name, "--broker-dir", folder / "accounts", "--output", folder / name,
            "--mosquitto-dir", mosquitto_dir, *options]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_the_packages_own_broker_has_ports_beside_those_of_the_machines(tmp_path):
    conf_d = own_broker(tmp_path)
    for arguments, port in ((["edge-a"], 8893), (["edge-b", "--password"], 8895), (["ann", "--role", "operator", "--certificate"], 8894),
                            (["edge-c", "--password", "--address", "127.0.0.1"], 1893),
                            (["bob", "--role", "operator", "--address", "127.0.0.1"], 1894)):
        done = enroll_with(tmp_path, conf_d, *arguments, "--no-reload")
        assert done.returncode == 0 and done.stderr == "", done.stderr
        (config,) = (tmp_path / arguments[0]).glob("*.yaml")
        assert f"port: {port}\n" in config.read_text(encoding="utf-8"), arguments
    written = listeners_in((conf_d / "berth.tls.conf").read_text(encoding="utf-8"))
    assert written == [(port, "", True) for port in ("8893", "8894", "8895", "8896")]


def test_ports_that_somebody_has_set_for_the_broker_are_those_that_accounts_are_told(tmp_path):
    conf_d = own_broker(tmp_path)
    conf = conf_d.parent / "mosquitto.conf"
    conf.write_text(conf.read_text(encoding="utf-8").replace("listener 189", "listener 199"), encoding="utf-8")
    assert enroll_with(tmp_path, conf_d, "bob", "--role", "operator", "--address", "127.0.0.1", "--no-reload").returncode == 0
    assert "port: 1994\n" in (tmp_path / "bob" / "berthctl.yaml").read_text(encoding="utf-8")
    assert enroll_with(tmp_path, conf_d, "edge-a", "--address", "gateway.example:9883", "--no-reload").returncode == 0
    assert enroll_with(tmp_path, conf_d, "edge-b", "--address", "gateway.example", "--no-reload").returncode == 0
    assert "port: 9883\n" in (tmp_path / "edge-b" / "berth-agent.yaml").read_text(encoding="utf-8")


def test_a_port_that_somebody_listens_at_is_refused_before_the_broker_is_told_to_open_it(tmp_path):
    conf_d = own_broker(tmp_path)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = enroll_with(tmp_path, conf_d, "edge-a", "--address", f"gateway.example:{port}")
    assert done.returncode == 1 and f"port {port} is in use" in done.stderr
    assert list(conf_d.iterdir()) == [] and not (tmp_path / "accounts" / "access").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to a group")
def test_the_accounts_are_for_the_group_of_the_broker_whose_directory_hands_it_down(tmp_path):
    group = 12345
    conf_d = own_broker(tmp_path)
    accounts = tmp_path / "accounts"
    accounts.mkdir()
    os.chown(accounts, 0, group)
    accounts.chmod(0o2755)
    assert enroll_with(tmp_path, conf_d, "edge-a", "--no-reload").returncode == 0
    assert enroll_with(tmp_path, conf_d, "edge-b", "--password", "--no-reload").returncode == 0
    for name in ("access", "passwords", "operators", "tls", "tls/server.key", "tls/ca.crl"):
        file = (accounts / name).stat()
        assert file.st_gid == group and file.st_mode & 0o047 == 0o040, name
    for name in ("tls/ca.key", "tls/operators.key"):
        assert (accounts / name).stat().st_mode & 0o077 == 0, name


def test_an_installation_that_serves_other_machines_without_tls_goes_on_with_a_warning(tmp_path):
    conf = tmp_path / "conf.d" / "berth.conf"
    conf.parent.mkdir()
    earlier = "per_listener_settings true\nlistener 1883\nlistener 1884 127.0.0.1\n"
    conf.write_text(earlier, encoding="utf-8")
    done = Enrolled(tmp_path).enroll("edge-a")
    assert done.returncode == 0 and f"warning: {conf}: listener 1883 serves other machines without TLS" in done.stderr
    assert "listener 1884" not in done.stderr and conf.read_text(encoding="utf-8") == earlier


EARLIER_LISTENER = """# Written by berthctl enroll --certificate: devices present a certificate; its common name is the account.
listener 9883
cafile /etc/berth/broker/tls/ca.crt
acl_file /etc/berth/broker/access
"""


def test_listeners_of_an_earlier_version_are_written_again_with_their_port(tmp_path):
    fleet = Enrolled(tmp_path, certificate=True)
    conf = tmp_path / "conf.d" / "berth.tls.conf"
    conf.parent.mkdir()
    for change in (lambda: fleet.enroll("edge-a"), lambda: fleet.revoke("edge-a")):
        conf.write_text(EARLIER_LISTENER, encoding="utf-8")
        done = change()
        assert done.returncode == 0, done.stderr
        text = conf.read_text(encoding="utf-8")
        assert "listener 9883\n" in text and "listener 9884\n" in text and "listener 9885\n" in text and "ca.crl\n" in text and "operators.crl\n" in text


@pytest.mark.parametrize("kept, content", [("berth.conf", "listener 1883\n"), ("berth.tls.conf", "# mine\nlistener 9883\n")])
def test_listeners_that_somebody_else_wrote_are_left_with_a_warning(tmp_path, kept, content):
    fleet = Enrolled(tmp_path, certificate=True)
    conf = tmp_path / "conf.d" / kept
    conf.parent.mkdir()
    conf.write_text(content, encoding="utf-8")
    done = fleet.enroll("edge-a")
    assert done.returncode == 0 and f"warning: {conf}" in done.stderr
    assert conf.read_text(encoding="utf-8") == content and list(conf.parent.iterdir()) == [conf]


def test_a_certificate_that_an_earlier_version_issued_is_told_and_can_be_revoked(tmp_path):
    fleet = Enrolled(tmp_path, certificate=True)
    assert fleet.enroll("edge-a").stderr == ""
    record = tmp_path / "accounts" / "tls" / "ca.issued" / "edge-a.crt"
    record.unlink()
    for state in ("crl", "cnf", "revoked"):
        (tmp_path / "accounts" / "tls" / f"ca.{state}").unlink()
    done = fleet.revoke("edge-a")
    assert done.returncode == 0 and f"install -D edge-a.crt {record}" in done.stderr, done.stderr
    shutil.copy(tmp_path / "edge-a" / "edge-a.crt", record)
    done = fleet.revoke("edge-a")
    assert done.returncode == 0 and done.stderr == "" and revoked_by(fleet, "ca") == 1, done.stderr


def test_fleet_and_gateway_are_those_of_the_configuration_unless_they_are_given(tmp_path):
    config = tmp_path / "berthd.yaml"
    config.write_text("fleet: mine\ngateway: north\nstate_dir: /var/lib/berth\n", encoding="utf-8")
    fleet = Enrolled(tmp_path)
    access = tmp_path / "accounts" / "access"
    assert fleet.enroll("edge-a", "--config", config).returncode == 0
    assert "topic write berth/v1/mine/gateways/north/answers/edge-a\n" in access.read_text(encoding="utf-8")
    assert fleet.enroll("edge-a", "--config", config, "--gateway", "south", "--replace").returncode == 0
    assert "topic write berth/v1/mine/gateways/south/answers/edge-a\n" in access.read_text(encoding="utf-8")
    done = fleet.enroll("edge-a", "--config", tmp_path / "none.yaml")
    assert done.returncode == 2 and "none.yaml" in done.stderr


def test_a_name_has_one_role(tmp_path):
    fleet = Enrolled(tmp_path)
    assert fleet.enroll("edge-a").returncode == 0
    done = fleet.enroll("edge-a", "--role", "operator")
    assert done.returncode == 1 and "edge-a is enrolled as node already: choose another name" in done.stderr
    assert not (tmp_path / "accounts" / "operators").exists()


def test_a_name_that_is_enrolled_already_is_refused_and_keeps_its_password(tmp_path):
    fleet = Enrolled(tmp_path)
    assert fleet.enroll("edge-a").returncode == 0
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = fleet.enroll("edge-a")
    assert done.returncode == 1
    for word in ("edge-a is enrolled already", "--renew", "--replace"):
        assert word in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == kept


def test_a_second_enrolment_replaces_only_password_and_access_of_that_name(tmp_path):
    fleet = Enrolled(tmp_path)
    for name in ("edge-a", "edge-b"):
        assert fleet.enroll(name).returncode == 0
    assert fleet.enroll("edge-a", "--replace").returncode == 0
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


@pytest.mark.parametrize("port, options", [(1883, ["--password"]), (1886, ["--password"]), (2, ["--password"]),
                                            (65535, ["--certificate"]), (1882, ["--certificate", "--role", "operator"])])
def test_a_port_that_the_listeners_with_tls_cannot_have_is_refused_and_no_listener_is_written(tmp_path, port, options):
    (tmp_path / "conf.d").mkdir()
    argv = [program_path("berthctl"), "enroll", "edge-a", *options, "--broker-dir", tmp_path / "accounts", "--output",
            tmp_path / "edge-a", "--mosquitto-dir", tmp_path / "conf.d", "--no-reload", "--address", f"gateway.example:{port}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"--address: port {port} is not free for TLS" in done.stderr and "port 888" in done.stderr
    assert list((tmp_path / "conf.d").iterdir()) == []


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    blocked = tmp_path / "accounts"
    blocked.write_text("a file where the directory should be", encoding="utf-8")
    done = Enrolled(tmp_path).enroll("edge-a")
    assert done.returncode == 1 and str(blocked) in done.stderr
