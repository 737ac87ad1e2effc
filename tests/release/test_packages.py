"""The .deb packages on a fresh system: they run after installation without configuration, an upgrade keeps state and
configuration, a purge leaves nothing behind."""

import os
import subprocess
from pathlib import Path

import pytest

from debian import Debian, run

BUILD = Path(os.environ.get("BERTH_BUILD") or Path(__file__).resolve().parents[2] / "build" / "release")
PACKAGES = ["berth-gateway", "berth-agent", "berth-ctl"]
# Starts the services in the order of their units, and waits until berthctl reports the gateway as ready.
START = r"""
mkdir -p /run/mosquitto && chown mosquitto /run/mosquitto
mosquitto -c /etc/mosquitto/mosquitto.conf &
install -d -o berth -g berth -m 700 /var/lib/berth
tries=0
until berthctl --config /etc/berth/operator/berthctl.yaml status >/tmp/status 2>&1 && grep "ready  *yes" /tmp/status; do
  tries=$((tries + 1))
  [ $tries -lt 300 ] || { cat /tmp/status; exit 1; }
  kill -0 "$gateway" 2>/dev/null || { setpriv --reuid berth --regid berth --clear-groups berthd --config /etc/berth/berthd.yaml &
    gateway=$!; }
  sleep 0.2
done
echo @answered
wait
"""


def deb(package):
    found = sorted(BUILD.glob(f"{package}_*.deb"))
    assert len(found) == 1, f"expected one {package}_*.deb in {BUILD}, found {len(found)}; build it: cross/build amd64"
    return found[0]


def newer(package, folder):
    """The same package with a later version number."""
    unpacked = folder / package
    run("dpkg-deb", "-R", deb(package), unpacked)
    control = unpacked / "DEBIAN" / "control"
    version = run("dpkg-deb", "-f", deb(package), "Version").strip()
    # The packages depend on each other's exact version.
    control.write_text(control.read_text().replace(f"Version: {version}", f"Version: {version}+later")
                       .replace(f"(= {version})", f"(= {version}+later)"))
    made = folder / f"{package}_later.deb"
    run("dpkg-deb", "--root-owner-group", "-b", unpacked, made)
    return made


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    debian = Debian(tmp_path_factory.mktemp("debian") / "root")
    debian.apt_install(*(deb(package) for package in PACKAGES))
    return debian


def start_services(machine):
    """Starts broker and gateway as their units do, and waits until berthctl reports the gateway as ready."""
    lines = []
    with machine.services(START) as running:
        for line in running.stdout:
            lines.append(line)
            if line.startswith("@answered"):
                return
    pytest.fail("the services exited:\n" + "".join(lines))


def test_an_installed_gateway_works_without_configuration(machine):
    start_services(machine)
    assert machine.path("/var/lib/berth/gateway.db").exists()


def test_a_new_installation_listens_without_tls_on_loopback_only(machine):
    lines = machine.path("/etc/mosquitto/conf.d/berth.conf").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("listener")] == ["listener 1883 127.0.0.1", "listener 1884 127.0.0.1"]
    assert not machine.path("/etc/mosquitto/conf.d/berth.tls.conf").exists()


def test_secrets_are_not_readable_by_others(machine):
    for secret in ("/etc/berth/gateway/password", "/etc/berth/operator/password"):
        if machine.path(secret).exists():
            assert machine.path(secret).stat().st_mode & 0o007 == 0, secret


def test_an_upgrade_keeps_state_accounts_and_edited_configuration(machine, tmp_path):
    kept = ["/var/lib/berth/gateway.db", "/etc/berth/gateway/password", "/etc/berth/berthd.yaml",
            "/etc/mosquitto/conf.d/berth.conf"]
    broker = machine.path("/etc/mosquitto/conf.d/berth.conf")  # as of a version before TLS
    broker.write_text(broker.read_text(encoding="utf-8").replace(" 127.0.0.1\n", "\n"), encoding="utf-8")
    machine.path("/etc/berth/berthd.yaml").write_text(machine.path("/etc/berth/berthd.yaml").read_text() + "# edited\n")
    before = [machine.path(name).read_bytes() for name in kept]
    machine.apt_install(*(newer(package, tmp_path) for package in PACKAGES))
    assert "+later" in machine.run("dpkg-query", "-W", "-f", "${Version}", "berth-gateway")
    assert [machine.path(name).read_bytes() for name in kept] == before
    start_services(machine)


def test_a_purge_leaves_nothing_of_berth_behind(machine):
    machine.run("apt-get", "-qq", "purge", "-y", *PACKAGES)
    left = subprocess.run(["find", *(machine.path(folder) for folder in ("/etc", "/usr", "/var/lib")), "-name", "*berth*",
                           "-not", "-path", "*/dpkg/*", "-not", "-path", "*/apt/*"], capture_output=True, text=True,
                          check=True).stdout
    assert left == ""
