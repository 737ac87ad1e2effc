"""A mosquitto of one's own, and what was made for it while the machine's clock was ahead."""

import socket

import pytest
from test_broker_access import admits
from test_embedded_tls import DAY, build_clock
from test_enroll import Enrolled
from waiting import wait_until


def listens(port):
    with socket.socket() as link:
        return link.connect_ex(("127.0.0.1", port)) == 0


def admitted(fleet, name, port):
    """Whether the broker accepts a session with the certificate of the account."""
    own = fleet.folder / name
    return admits(port, own / "ca.crt", (own / f"{name}.crt", own / f"{name}.key"))


@pytest.mark.parametrize("change", ["revoke", "enroll"])
def test_lists_of_revoked_certificates_from_a_clock_that_was_ahead_are_mended(tmp_path, monkeypatch, leaves_no_process, change):
    fleet = Enrolled(tmp_path, certificate=True)
    try:
        fleet.start()
        for name, role in (("ann", "operator"), ("edge-c", "node"), ("edge-d", "node")):
            assert fleet.enroll(name, "--role", role).returncode == 0
        with monkeypatch.context() as ahead:
            ahead.setenv("LD_PRELOAD", str(build_clock(tmp_path)))
            ahead.setenv("BERTH_CLOCK_AHEAD", str(30 * DAY))
            for name in ("ann", "edge-c"):
                assert fleet.revoke(name).returncode == 0
        fleet.reload(restart=True)
        # mosquitto refuses every certificate of either list, as it must.
        wait_until(lambda: listens(fleet.port), "the broker")
        assert not admitted(fleet, "edge-b", fleet.port) and not admitted(fleet, "operator", fleet.operators_port)
        status = fleet.ctl("status")
        assert status.returncode != 0 and str(fleet.operators_port) in status.stderr, status
        # Of another device: its own list alone has to be written for that.
        done = fleet.revoke("edge-d") if change == "revoke" else fleet.enroll("edge-e")
        assert done.returncode == 0, done.stderr
        if change == "revoke":
            assert "listed while the clock was ahead" in done.stderr and "restarted" in done.stdout
        fleet.reload(restart=True)
        wait_until(lambda: admitted(fleet, "edge-b", fleet.port), "the devices' admission")
        assert admitted(fleet, "operator", fleet.operators_port)
        for name, port in (("edge-c", fleet.port), ("ann", fleet.operators_port)):
            assert not admitted(fleet, name, port), f"{name} stays revoked"
        wait_until(lambda: fleet.ctl("status").returncode == 0, "a status")
    finally:
        fleet.stop()
