"""The embedded broker beyond loopback: TLS by default, enrolment and revocation in berthd's state directory."""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
import types
from pathlib import Path

import pytest
from broker import Client
from fleet import EmbeddedFleet
from manifests import pod
from programs import Program, program_path
from test_broker_access import admits
from test_status_pages import get
from waiting import wait_until


class SecuredFleet(EmbeddedFleet):
    """A gateway whose embedded broker serves all addresses of this machine, and devices that berthctl enrolled."""

    def __init__(self, folder, broker="listen: 0.0.0.0"):
        super().__init__(folder, [])
        self.accounts = self.config.read_text(encoding="utf-8")
        self.configure(broker)

    def configure(self, broker, clients=""):
        self.config.write_text(f"embedded_broker: {{{broker}}}\n{self.accounts}{clients}", encoding="utf-8")

    @property
    def tls(self):
        return self.state_dir("berthd") / "broker" / "tls"

    def enroll(self, name, *options, output=None, command="enroll"):
        argv = [program_path("berthctl"), command, name, "--state-dir", self.state_dir("berthd")]
        if command == "enroll":
            own = output or self.folder / name
            argv += ["--output", own, "--installed-dir", own, *options]
        return subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False)

    def revoke(self, name):
        return self.enroll(name, command="revoke")

    def start_device(self, name):
        """With the configuration that enroll wrote, and nothing else."""
        argv = [program_path("berth-agent"), "--config", self.folder / name / "berth-agent.yaml", "--state-dir",
                self.state_dir(name), "--capacity", "cpu=1", "--capacity", "memory=1Gi", "--capacity", "pods=10",
                "--container-runtime", "none", "--bwrap", "none"]
        return self.start_(name, argv)

    def admits(self, name, output=None):
        """Whether the broker accepts a session with the certificate."""
        own = output or self.folder / name
        return admits(int(self.broker_file("certificate-port")), own / "ca.crt", (own / f"{name}.crt", own / f"{name}.key"))

    def live(self, name):
        own = self.folder / name
        return Client(int(self.broker_file("certificate-port")), name, authority=types.SimpleNamespace(ca=own / "ca.crt"),
                      certificate=(own / f"{name}.crt", own / f"{name}.key"))


@pytest.fixture
def secured(tmp_path, leaves_no_process):
    fleet = SecuredFleet(tmp_path)
    yield fleet
    fleet.stop()


def succeed(done):
    assert done.returncode == 0, done.stderr
    return done


def test_a_device_needs_only_what_enroll_wrote_and_speaks_tls(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    secured.start_device("n1")
    secured.wait_node("n1")
    secured.apply(pod("web"))
    secured.wait_running("web", node="n1")
    text = (secured.folder / "n1" / "berth-agent.yaml").read_text(encoding="utf-8")
    assert "cert_file" in text and f"port: {secured.broker_file('certificate-port')}" in text
    assert f"fleet: {secured.name}" in text


def test_no_port_of_devices_speaks_without_tls(secured):
    secured.start_gateway()
    for port in ("port", "certificate-port"):
        assert not plaintext_answer(int(secured.broker_file(port))), port


def plaintext_answer(port):
    """Whether the broker answers a CONNECT that is not encrypted, in whatever way."""
    try:
        with socket.create_connection(("127.0.0.1", port), 30) as plain:
            plain.sendall(b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01x")
            return plain.recv(4)[:1] == b"\x20"
    except OSError:
        return False


def test_the_authority_is_made_once_privately_and_is_in_the_backup(secured):
    secured.start_gateway()
    made = {path.name: path.read_bytes() for path in secured.tls.glob("*.crt")}
    assert set(made) == {"ca.crt", "server.crt"}
    for path in secured.tls.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    saved = secured.folder / "saved.tar"
    subprocess.run([program_path("berthctl"), "backup", saved, "--state-dir", secured.state_dir("berthd")], check=True)
    listed = subprocess.run(["tar", "-tf", saved], capture_output=True, text=True, check=True).stdout
    assert "broker/tls/ca.key" in listed and "broker/tls/ca.crl" in listed
    secured.kill("berthd")
    secured.restart("berthd")
    secured.wait_broker()
    assert {path.name: path.read_bytes() for path in secured.tls.glob("*.crt")} == made


def test_enrolled_accounts_outlive_berthd_and_those_that_left_the_configuration_do_not(secured):
    secured.configure("listen: 0.0.0.0", "  - {identity: old, role: node, password: x}\n")
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    succeed(secured.enroll("n2", "--password"))
    succeed(secured.enroll("ann", "--role", "operator"))
    secured.configure("listen: 0.0.0.0")
    secured.programs["berthd"].stop()
    secured.restart("berthd")
    secured.wait_broker()
    for name in ("n1", "n2"):
        secured.start_device(name)
        secured.wait_node(name)
    done = subprocess.run([program_path("berthctl"), "--config", secured.folder / "ann" / "berthctl.yaml", "--fleet",
                           secured.name, "--gateway", secured.gateway_name, "get", "nodes"],
                          capture_output=True, text=True, check=False)
    assert succeed(done).stdout.count("Ready") >= 2
    assert "user old" not in secured.broker_file("access") and "old:" not in secured.broker_file("passwords")


def test_a_revoked_device_is_cut_off_at_once_and_the_others_come_back(secured):
    secured.start_gateway()
    for name in ("n1", "n2"):
        succeed(secured.enroll(name))
    secured.start_device("n2")
    secured.wait_node("n2")
    live = secured.live("n1")
    before = secured.broker_pid()
    assert "berthctl forget node n1" in succeed(secured.revoke("n1")).stdout
    live.wait(lambda: not live.connected, "the end of the live session")
    live.close()
    secured.wait_broker(after=before)
    wait_until(lambda: secured.admits("n2"), "the other device's admission")
    assert not secured.admits("n1")
    again = secured.revoke("n1")
    assert again.returncode == 1 and "n1: no such account" in again.stderr


def test_a_revoked_operator_is_cut_off_at_once(secured):
    secured.start_gateway()
    succeed(secured.enroll("ann", "--role", "operator"))
    password = (secured.folder / "ann" / "password").read_text(encoding="utf-8").strip()
    live = Client(secured.port, "live", username="ann", password=password)
    succeed(secured.revoke("ann"))
    live.wait(lambda: not live.connected, "the end of the live session")
    live.close()
    with pytest.raises(ConnectionRefusedError):
        Client(secured.port, "again", username="ann", password=password)
    gateway = secured.revoke(secured.gateway_name)
    assert gateway.returncode == 1 and "is the gateway itself" in gateway.stderr


def test_a_second_enrolment_makes_the_first_certificate_invalid(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    first = secured.folder / "first"
    shutil.copytree(secured.folder / "n1", first)
    assert secured.admits("n1", first)
    before = secured.broker_pid()
    succeed(secured.enroll("n1", "--replace"))
    secured.wait_broker(after=before)
    wait_until(lambda: secured.admits("n1"), "the new certificate")
    assert not secured.admits("n1", first)


def test_on_loopback_devices_use_passwords_and_no_authority_is_made(secured):
    secured.configure("listen: 127.0.0.1")
    secured.start_gateway()
    assert not secured.tls.exists() and not secured.broker_file("certificate-port")
    refused = secured.enroll("n1", "--certificate")
    assert refused.returncode == 2 and "embedded_broker.listen" in refused.stderr and not (secured.folder / "n1").exists()
    succeed(secured.enroll("n1", "--address", "127.0.0.1"))
    secured.start_device("n1")
    secured.wait_node("n1")


@pytest.mark.parametrize("credential", ["--certificate", "--password"])
def test_a_device_that_is_enrolled_for_another_address_verifies_the_broker_there(secured, credential):
    secured.start_gateway()
    succeed(secured.enroll("n0"))
    live = secured.live("n0")
    port = secured.broker_file("certificate-port" if credential == "--certificate" else "port")
    succeed(secured.enroll("n1", credential, "--address", f"127.0.0.2:{port}"))
    agent = secured.start_device("n1")
    secured.wait_node("n1")
    assert live.connected  # its session goes on
    live.close()
    # Whoever makes the certificate again names the address.
    secured.programs["berthd"].stop()
    (secured.tls / "server.names").unlink()
    (secured.tls / "server.crt").unlink()
    secured.restart("berthd")
    secured.wait_broker()
    agent.stop()
    secured.restart("n1").wait_output("mqtt link up")
    secured.wait_node("n1")


def test_an_address_that_a_certificate_of_your_own_does_not_name_is_refused(secured):
    secured.start_gateway()
    own = secured.folder / "server"
    own.mkdir()
    shutil.copy(secured.tls / "server.key", own)
    sign_for(secured, "server", 2000, "subjectAltName=DNS:gateway.example")
    shutil.copy(own / "server.crt", secured.tls)
    before = (secured.tls / "server.crt").read_bytes()
    refused = secured.enroll("n1", "--address", "other.example:1")
    assert refused.returncode == 1 and "berthctl: --address: " in refused.stderr
    assert "server.crt does not name other.example" in refused.stderr and "subjectAltName" in refused.stderr
    refused = secured.enroll("n1", "--address", "no_name.example:1")
    assert refused.returncode == 2 and "cannot stand in the broker's certificate" in refused.stderr
    assert "n1" not in (secured.state_dir("berthd") / "broker" / "access").read_text(encoding="utf-8").split()
    succeed(secured.enroll("n1", "--address", "gateway.example:1"))
    assert (secured.tls / "server.crt").read_bytes() == before


def test_an_installation_from_before_tls_keeps_its_devices_until_it_is_told_otherwise(secured):
    clients = "  - {identity: n1, role: node, password: secret-n1}\n"
    secured.configure("listen: 127.0.0.1", clients)
    secured.start_gateway()
    secured.programs["berthd"].stop()
    # As versions before TLS left it: devices' listener on all addresses, and no authority.
    conf = secured.state_dir("berthd") / "broker" / "mosquitto.conf"
    conf.write_text(conf.read_text(encoding="utf-8").replace(" 127.0.0.1", " 0.0.0.0", 1), encoding="utf-8")
    secured.configure("listen: 0.0.0.0", clients)
    for _ in range(2):
        secured.restart("berthd")
        secured.wait_broker()
        secured.programs["berthd"].wait_output("without encryption")
        Client(secured.devices_port, "n1", username="n1", password="secret-n1").close()
        secured.programs["berthd"].stop()
    secured.configure("listen: 0.0.0.0, insecure_plaintext: false", clients)
    secured.restart("berthd")
    secured.wait_broker()
    assert not plaintext_answer(secured.devices_port)
    assert admits(secured.devices_port, secured.tls / "ca.crt", account=("n1", "secret-n1"))


def test_a_gateway_without_the_openssl_program_names_it(secured, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("mosquitto", "mosquitto_passwd"):
        (tools / name).symlink_to(shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin"))
    argv = ["/usr/bin/env", f"PATH={tools}", *secured.gateway_argv(None, ())]
    program = Program("berthd", argv, secured.folder).start()
    program.wait_output("openssl is not installed: install the package openssl")
    wait_until(lambda: not program.alive(), "the end of berthd")


def test_a_state_directory_without_an_embedded_broker_is_named(secured):
    done = secured.enroll("n1")
    assert done.returncode == 1 and "no embedded broker has run here" in done.stderr
    assert not (Path(secured.folder) / "n1").exists()


def test_a_configured_account_is_not_enrolled(secured):
    secured.configure("listen: 0.0.0.0", "  - {identity: n1, role: node, password: x}\n")
    secured.start_gateway()
    done = secured.enroll("n1")
    assert done.returncode == 1 and "remove it from clients" in done.stderr


def test_a_renewed_certificate_works_beside_the_earlier_one_until_both_are_revoked(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    refused = secured.enroll("n2", "--renew")
    assert refused.returncode == 1 and "n2 has no certificate that could be renewed" in refused.stderr
    live = secured.live("n1")
    renewed = [secured.folder / f"renewed-{number}" for number in range(2)]
    for output in renewed:
        succeed(secured.enroll("n1", "--renew", output=output))
    assert live.connected and sorted(path.name for path in renewed[0].iterdir()) == ["ca.crt", "n1.crt", "n1.key"]
    live.close()
    everything = [secured.folder / "n1", *renewed]
    assert all(secured.admits("n1", own) for own in everything)
    before = secured.broker_pid()
    succeed(secured.revoke("n1"))
    secured.wait_broker(after=before)
    assert not any(secured.admits("n1", own) for own in everything)


def sign_for(fleet, name, days, extensions=""):
    """The gateway's authority signs the key of a device again, for some days (negative: it has expired)."""
    own = fleet.folder / name
    (own / "extensions").write_text(extensions, encoding="utf-8")
    for command in (["req", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}", "-out", "request"],
                    ["x509", "-req", "-in", "request", "-CA", fleet.tls / "ca.crt", "-CAkey", fleet.tls / "ca.key", "-set_serial",
                     "7", "-days", str(days), "-extfile", "extensions", "-out", f"{name}.crt"]):
        subprocess.run(["openssl", *map(str, command)], cwd=own, check=True, capture_output=True)


def test_a_node_whose_certificate_expires_within_30_days_says_so_until_it_has_another(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    sign_for(secured, "n1", 29)
    secured.start_device("n1")
    secured.wait_node("n1")

    def expiring():
        conditions = {c["type"]: c for c in secured.get("node", "n1")["status"]["conditions"]}
        return conditions.get("CertificateExpiring", {}).get("message", "")

    wait_until(lambda: "berthctl enroll n1 --renew" in expiring(), "the condition")
    assert "CertificateExpiring" in secured.ctl("describe", "node", "n1").stdout
    secured.observer.wait_message(secured.topic("events/default"), lambda e: e.get("reason") == "CertificateExpiring")
    succeed(secured.enroll("n1", "--renew"))
    secured.programs["n1"].stop()
    secured.restart("n1")
    secured.wait_node("n1")
    wait_until(lambda: not expiring(), "the end of the condition")


def test_the_brokers_certificate_is_made_again_when_it_nears_its_end_or_lacks_a_name(secured):
    secured.start_gateway()
    assert "valid until" in secured.ctl("status", "--state-dir", secured.state_dir("berthd")).stdout

    def restarted():
        secured.programs["berthd"].stop()
        secured.restart("berthd")
        secured.wait_broker()
        return (secured.tls / "server.crt").read_bytes()

    def names(certificate):
        shown = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], input=certificate, capture_output=True, check=True)
        return set(re.findall(rb"(?:DNS|IP Address):[^,\s]+", shown.stdout))

    first = (secured.tls / "server.crt").read_bytes()
    again = restarted()
    assert again == first or names(again) - names(first)  # a bridge of another test is an address of this machine
    (secured.folder / "server").mkdir()
    shutil.copy(secured.tls / "server.key", secured.folder / "server" / "server.key")
    sign_for(secured, "server", 600)
    shutil.copy(secured.folder / "server" / "server.crt", secured.tls / "server.crt")
    ending = (secured.tls / "server.crt").read_bytes()
    second = restarted()
    assert second not in (first, ending)
    secured.configure("listen: 0.0.0.0, names: [berth.example]")
    third = restarted()
    assert third != second
    assert {b"DNS:berth.example", b"IP Address:127.0.0.1"} <= names(third)


def test_a_new_certificate_of_the_broker_is_taken_without_ending_a_session(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    live = secured.live("n1")

    def presented():
        return ssl.get_server_certificate(("127.0.0.1", int(secured.broker_file("port"))))

    before = presented()
    (secured.folder / "server").mkdir()
    shutil.copy(secured.tls / "server.key", secured.folder / "server" / "server.key")
    sign_for(secured, "server", 900)
    shutil.copy(secured.folder / "server" / "server.crt", secured.tls / "server.crt")
    os.kill(secured.broker_pid(), signal.SIGHUP)
    wait_until(lambda: presented() != before, "the new certificate")
    assert live.connected
    live.close()


# Preloaded library: the wall clock is ahead by BERTH_CLOCK_AHEAD seconds.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
static long ahead(void) {
  const char *seconds = getenv("BERTH_CLOCK_AHEAD");
  return seconds ? atol(seconds) : 0;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += ahead();
  return result;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""
DAY = 86_400


def build_clock(folder):
    library = folder / "clock.so"
    library.with_suffix(".c").write_text(CLOCK, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, library.with_suffix(".c"), "-ldl"], check=True)
    return library


def test_a_device_whose_clock_is_not_set_judges_expiry_by_the_time_that_the_gateway_tells(secured, monkeypatch):
    library = build_clock(secured.folder)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    secured.programs["berthd"].stop()
    server = secured.folder / "server"
    server.mkdir()
    for ending in ("key", "crt"):
        shutil.copy(secured.tls / f"server.{ending}", server / f"server.{ending}")
    valid = (server / "server.crt").read_bytes()
    # By the gateway's clock it will have expired, and not on the day that the programs were built.
    names = (secured.tls / "server.names").read_text(encoding="utf-8")
    sign_for(secured, "server", 10, f"subjectAltName={names}")
    expired = (server / "server.crt").read_bytes()
    monkeypatch.setenv("BERTH_CLOCK_AHEAD", str(20 * DAY))
    secured.restart("berthd")
    secured.wait_broker()

    def present(certificate):
        (secured.tls / "server.crt").write_bytes(certificate)
        os.kill(secured.broker_pid(), signal.SIGHUP)
        presented = ssl.PEM_cert_to_DER_cert(certificate.decode())
        port = int(secured.broker_file("port"))
        wait_until(lambda: ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port))) == presented, "the certificate")

    monkeypatch.setenv("BERTH_CLOCK_AHEAD", str(-int(time.time())))
    present(expired)
    agent = secured.start_device("n1")
    agent.wait_output("the clock is behind")
    secured.wait_node("n1")
    known = secured.state_dir("n1") / "time"
    wait_until(known.exists, "the time that the gateway told")
    assert abs(int(known.read_text(encoding="utf-8")) / 1000 - time.time() - 20 * DAY) < DAY
    agent.stop()
    secured.restart("n1")
    agent.wait_output("certificate verify failed")
    present(valid)
    started = len(agent.output())
    wait_until(lambda: "mqtt link up" in agent.output()[started:], "a connection with the valid certificate")


def test_what_was_made_while_the_clock_was_ahead_is_made_again(secured, monkeypatch):
    library = build_clock(secured.folder)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    secured.start_gateway()
    for name in ("n1", "n2"):
        succeed(secured.enroll(name))
    first = (secured.tls / "server.crt").read_bytes()
    secured.programs["berthd"].stop()
    monkeypatch.setenv("BERTH_CLOCK_AHEAD", str(4 * 365 * DAY))
    secured.restart("berthd")
    secured.wait_broker()
    succeed(secured.revoke("n2"))
    assert (secured.tls / "server.crt").read_bytes() != first
    secured.programs["berthd"].stop()
    monkeypatch.setenv("BERTH_CLOCK_AHEAD", "0")
    secured.restart("berthd")
    secured.wait_broker()
    assert "the list of revoked certificates was made while the clock was ahead" in secured.programs["berthd"].output()
    secured.start_device("n1")
    secured.wait_node("n1")
    assert not secured.admits("n2")


def test_an_authority_made_while_the_clock_was_ahead_is_named(secured, monkeypatch):
    library = build_clock(secured.folder)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("BERTH_CLOCK_AHEAD", str(4 * 365 * DAY))
    secured.start_gateway()
    secured.programs["berthd"].stop()
    monkeypatch.setenv("BERTH_CLOCK_AHEAD", "0")
    secured.restart("berthd")
    secured.wait_broker()
    assert "valid only from" in secured.ctl("status", "--state-dir", secured.state_dir("berthd"), check=False).stdout
    assert "[-]certificates failed: the authority" in get(secured, "/readyz")[1]


def test_a_device_judges_expiry_by_a_time_that_has_come_if_its_clock_is_behind(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    known = secured.state_dir("n1") / "time"
    in_ten_years = int(time.time() * 1000) + 10 * 365 * 86_400_000
    known.write_text(f"{in_ten_years}\n", encoding="utf-8")
    secured.start_device("n1")
    secured.programs["n1"].wait_output("the clock is behind")
    secured.programs["n1"].wait_output("certificate verify failed")
    secured.programs["n1"].stop()
    assert known.read_text(encoding="utf-8").strip() == str(in_ten_years)
    known.unlink()
    secured.restart("n1")
    secured.wait_node("n1")
    secured.programs["n1"].stop()
    assert abs(int(known.read_text(encoding="utf-8")) / 1000 - time.time()) < 31 * 86_400
