"""The .deb packages on a fresh system: they run after installation without configuration and leave the machine's broker
alone, an upgrade keeps state and configuration, a purge leaves nothing behind; and the same where the machine's broker is
joined."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from debian import Debian, run

BUILD = Path(os.environ.get("BERTH_BUILD") or Path(__file__).resolve().parents[2] / "build" / "release")
PACKAGES = ["berth-gateway", "berth-agent", "berth-ctl"]
JOINED = "/etc/mosquitto/conf.d/berth.conf"
# What the package that joined the machine's mosquitto by itself had of its own; the programs are today's.
EARLIER = Path(__file__).parent / "joined"
# Starts the services in the order of their units, and waits until berthctl reports the gateway as ready.
START = r"""
mkdir -p /run/mosquitto && chown mosquitto /run/mosquitto
mosquitto -c /etc/mosquitto/mosquitto.conf &
[ -e /etc/mosquitto/conf.d/berth.conf ] || setpriv --reuid berth-mosquitto --regid berth-mosquitto --clear-groups \
  mosquitto -c /etc/berth/mosquitto/mosquitto.conf &
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


def versioned(package, folder, suffix, change=lambda unpacked: None):
    """The same package with another version number and what `change` makes of its files."""
    unpacked = folder / f"{package}{suffix}"
    run("dpkg-deb", "-R", deb(package), unpacked)
    control = unpacked / "DEBIAN" / "control"
    version = run("dpkg-deb", "-f", deb(package), "Version").strip()
    # The packages depend on each other's exact version.
    control.write_text(control.read_text().replace(f"Version: {version}", f"Version: {version}{suffix}")
                       .replace(f"(= {version})", f"(= {version}{suffix})"))
    change(unpacked)
    made = folder / f"{package}{suffix}.deb"
    run("dpkg-deb", "--root-owner-group", "-b", unpacked, made)
    return made


def newer(package, folder):
    return versioned(package, folder, "+later")


def earlier(package, folder):
    """The package of the versions that joined the machine's mosquitto without asking."""
    def lay_out(unpacked):
        if package != "berth-gateway":
            return
        shutil.rmtree(unpacked / "etc" / "berth" / "mosquitto")
        for name in ("berth-mosquitto.service", "berth-signing.socket", "berth-signing@.service"):
            (unpacked / "lib/systemd/system" / name).unlink()
        (unpacked / "usr/sbin/berth-broker").unlink()
        for script in ("postinst", "prerm", "postrm", "conffiles"):
            shutil.copy(EARLIER / script, unpacked / "DEBIAN")
        shutil.copy(EARLIER / "berthd.yaml", unpacked / "etc" / "berth")

    return versioned(package, folder, "~earlier", lay_out)


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


def listeners(machine, name):
    lines = machine.path(name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("listener")]


def test_a_new_installation_listens_without_tls_on_loopback_only(machine):
    conf = "/etc/berth/mosquitto/mosquitto.conf"
    assert listeners(machine, conf) == ["listener 1893 127.0.0.1", "listener 1894 127.0.0.1"]
    assert list(machine.path("/etc/berth/mosquitto/conf.d").iterdir()) == []


def test_the_machines_mosquitto_is_left_as_debian_made_it(machine):
    assert [file.name for file in machine.path("/etc/mosquitto/conf.d").iterdir()] == ["README"]
    assert machine.run("dpkg", "--verify", "mosquitto") == ""


def test_units_examples_and_readme_are_in_the_packages(machine):
    for package in PACKAGES:
        docs = machine.path(f"/usr/share/doc/{package}")
        assert {"copyright", "README.md.gz"} <= {file.name for file in docs.iterdir()}, package
        assert list((docs / "examples").iterdir()), package
    units = {unit.name for unit in machine.path("/lib/systemd/system").glob("berth*")}
    assert units == {"berth-agent.service", "berth-gateway.service", "berth-mosquitto.service",
                     "berth-signing.socket", "berth-signing@.service"}


def test_secrets_are_not_readable_by_others(machine):
    secrets = ["/etc/berth/gateway/password", "/etc/berth/operator/password", "/etc/berth/broker/passwords",
               "/etc/berth/broker/operators"]
    for secret in secrets:
        assert machine.path(secret).stat().st_mode & 0o007 == 0, secret
    group = machine.run("stat", "-c", "%G", "/etc/berth/broker/passwords").strip()
    assert group == "berth-mosquitto"  # that of another user's broker reads none of them


def test_an_upgrade_keeps_state_accounts_and_edited_configuration(machine, tmp_path):
    kept = ["/var/lib/berth/gateway.db", "/etc/berth/gateway/password", "/etc/berth/berthd.yaml",
            "/etc/berth/mosquitto/mosquitto.conf"]
    machine.path(kept[2]).write_text(machine.path(kept[2]).read_text() + "# edited\n")
    before = [machine.path(name).read_bytes() for name in kept]
    machine.apt_install(*(newer(package, tmp_path) for package in PACKAGES))
    assert "+later" in machine.run("dpkg-query", "-W", "-f", "${Version}", "berth-gateway")
    assert [machine.path(name).read_bytes() for name in kept] == before
    start_services(machine)


def assert_nothing_left(machine):
    left = subprocess.run(["find", *(machine.path(folder) for folder in ("/etc", "/usr", "/var/lib")), "-name", "*berth*",
                           "-not", "-path", "*/dpkg/*", "-not", "-path", "*/apt/*"], capture_output=True, text=True,
                          check=True).stdout
    assert left == ""


def test_a_purge_leaves_nothing_of_berth_behind(machine):
    machine.run("apt-get", "-qq", "purge", "-y", *PACKAGES)
    assert_nothing_left(machine)


def test_an_installation_that_has_joined_the_machines_mosquitto_goes_on_so_after_an_upgrade(machine, tmp_path):
    machine.apt_install(*(earlier(package, tmp_path) for package in PACKAGES))
    start_services(machine)
    kept = ["/var/lib/berth/gateway.db", "/etc/berth/gateway/password", "/etc/berth/operator/berthctl.yaml",
            "/etc/berth/berthd.yaml", JOINED]
    joined = machine.path(JOINED)  # as of a version before TLS
    joined.write_text(joined.read_text(encoding="utf-8").replace("listener 1883 127.0.0.1\n", "listener 1883\n"), encoding="utf-8")
    before = [machine.path(name).read_bytes() for name in kept]
    machine.apt_install(*(deb(package) for package in PACKAGES))
    assert "earlier" not in machine.run("dpkg-query", "-W", "-f", "${Version}", "berth-gateway")
    assert [machine.path(name).read_bytes() for name in kept] == before
    start_services(machine)
    machine.run("berthctl", "enroll", "edge-a", "--output", "/srv/edge-a", "--no-reload")
    assert listeners(machine, "/etc/mosquitto/conf.d/berth.tls.conf") == [f"listener {port}" for port in range(8883, 8887)]
    assert machine.run("stat", "-c", "%G", "/etc/berth/broker/passwords").strip() == "mosquitto"


def test_a_gateway_moves_to_a_broker_of_its_own_and_back_with_its_accounts_and_the_ports_of_its_devices(machine):
    for choice, port, folder, group in (("own", 1893, "/etc/berth/mosquitto/conf.d", "berth-mosquitto"),
                                        ("machine", 1883, "/etc/mosquitto/conf.d", "mosquitto")):
        passwords = machine.path("/etc/berth/broker/passwords").read_bytes()
        machine.run("berth-broker", choice)
        assert f"port: {port}\n" in machine.path("/etc/berth/berthd.yaml").read_text(encoding="utf-8")
        assert listeners(machine, f"{folder}/berth.tls.conf")[0] == "listener 8883"
        assert machine.path("/etc/berth/broker/passwords").read_bytes() == passwords
        assert machine.run("stat", "-c", "%G", "/etc/berth/broker/tls/server.key").strip() == group
        start_services(machine)


def test_a_mosquitto_that_serves_others_is_not_joined_and_nothing_is_changed(machine):
    machine.run("berth-broker", "own")
    others = machine.write("/etc/mosquitto/conf.d/others.conf", "listener 2883\nallow_anonymous true\n")
    before = machine.path("/etc/berth/berthd.yaml").read_bytes()
    done = subprocess.run(["chroot", machine.root, "berth-broker", "machine"], capture_output=True, text=True, check=False)
    others.unlink()
    assert done.returncode == 1 and "others.conf:1:listener 2883" in done.stderr
    assert machine.path("/etc/berth/berthd.yaml").read_bytes() == before and not machine.path(JOINED).exists()


def test_a_purge_of_a_joined_gateway_leaves_nothing_of_berth_behind(machine):
    machine.run("berth-broker", "machine")
    machine.run("apt-get", "-qq", "purge", "-y", *PACKAGES)
    assert_nothing_left(machine)
