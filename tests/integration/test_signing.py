"""Devices renew their certificates where the authority belongs to root and the gateway does not: `berthd sign` for each
connection to a socket, as the service manager starts it for berth-signing.socket. Real programs, mosquitto and openssl."""

import json
import socket
import subprocess
import threading
import types

import pytest
from programs import program_path
from test_enroll import Enrolled
from test_renewal import DAY, sign_between
from waiting import wait_until


class SigningSocket:
    """Accept=yes of systemd.socket(5): a process for each connection, which is its standard input and output."""

    def __init__(self, path, authority):
        self.path, self.authority, self.served = path, authority, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                if self.authority is None:
                    return
                self.served += 1
                command = [program_path("berthd"), "sign", "--authority-dir", self.authority]
                subprocess.run(command, stdin=connection, stdout=connection, check=False)

    def stop(self):
        self.authority = None
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(str(self.path))
        self.thread.join()
        self.listener.close()


class WithSocket(Enrolled):
    def gateway_config(self):
        path = super().gateway_config()
        config = json.loads(path.read_text(encoding="utf-8"))
        config["broker"]["signing_socket"] = str(self.folder / "signing.sock")
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def run(self, name, *arguments):
        if name == "berth-agent":
            own = types.SimpleNamespace(folder=self.folder, tls=self.folder / "accounts" / "tls")
            sign_between(own, "edge-a", -1000 * DAY, DAY)  # it ends tomorrow
        super().run(name, *arguments)

    def has_renewed(self):
        return (self.folder / "device" / "certificate.pem").exists()

    def told(self):
        return self.ctl("describe", "node", "edge-a").stdout


@pytest.fixture
def site(tmp_path, leaves_no_process):
    site = WithSocket(tmp_path, certificate=True)
    yield site
    site.stop()


def test_a_device_of_a_packaged_broker_renews_its_certificate(site):
    signing = SigningSocket(site.folder / "signing.sock", site.folder / "accounts" / "tls")
    try:
        site.start()
        wait_until(site.has_renewed, "the device to have its next certificate")
        wait_until(lambda: "CertificateRenewed" in site.told(), "the event")
        assert signing.served == 1
        issued = site.folder / "accounts" / "tls" / "ca.issued"
        assert (issued / "edge-a.crt").read_text(encoding="utf-8") in (site.folder / "device" / "certificate.pem").read_text(
            encoding="utf-8")
    finally:
        signing.stop()


def test_without_the_service_the_operator_is_told_what_to_do(site):
    site.start()
    wait_until(lambda: "does not hold the authority of the broker's certificates" in site.told(), "the reason")
    assert "berthctl enroll edge-a --renew" in site.told()
    assert not site.has_renewed()
