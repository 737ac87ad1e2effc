"""Health, configuration and metrics of the real berthd over HTTP."""

import http.client
import json
import re
import socket

import pytest
from manifests import pod
from mqtt_proxy import message
from programs import Program, program_path
from waiting import patience, wait_until


def address(fleet):
    path = fleet.state_dir("berthd") / "http"
    return wait_until(lambda: path.exists() and path.read_text(encoding="utf-8").strip(), "the address of the status pages")


def get(fleet, page, method="GET"):
    """Requests a page; returns status and body."""
    connection = http.client.HTTPConnection(address(fleet), timeout=patience(10))
    try:
        connection.request(method, page)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def metric(fleet, name, **labels):
    """The value of the sample with exactly these labels; None if there is none."""
    for line in get(fleet, "/metrics")[1].splitlines():
        match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if match and match[1] == name and dict(re.findall(r'(\w+)="([^"]*)"', match[2] or "")) == labels:
            return float(match[3])
    return None


def test_ready_is_reported_once_all_retained_messages_have_arrived(fleet, proxy):
    barrier = proxy.hold(message("down", fleet.topic(f"gateways/{fleet.gateway_name}/fence")))
    fleet.start_gateway(port=proxy.port)
    wait_until(lambda: "[+]broker ok" in get(fleet, "/readyz?verbose")[1], "the link to the broker")
    status, body = get(fleet, "/readyz")
    assert status == 500
    assert "[-]synced failed: retained state is still arriving" in body and body.endswith("readyz check failed\n")
    assert get(fleet, "/livez") == (200, "ok")
    wait_until(lambda: get(fleet, "/readyz?exclude=synced") == (200, "ok"), "everything else")
    barrier.release()
    wait_until(lambda: get(fleet, "/readyz") == (200, "ok"), "readiness")
    assert get(fleet, "/readyz?verbose")[1].endswith("[+]synced ok\nreadyz check passed\n")
    proxy.refuse()
    proxy.cut()
    wait_until(lambda: get(fleet, "/readyz/broker")[0] == 500, "the lost connection to be reported")
    assert get(fleet, "/healthz") == (200, "ok")


def test_metrics_count_a_bound_pod_and_one_that_fits_nowhere(fleet):
    fleet.start("n1")
    fleet.apply(pod("web"), pod("huge", memory="64Gi"))
    fleet.wait_running("web")
    fleet.wait_pending("huge", "memory")
    profile = {"profile": "default-scheduler"}
    assert metric(fleet, "scheduler_schedule_attempts_total", result="scheduled", **profile) == 1
    assert metric(fleet, "scheduler_schedule_attempts_total", result="unschedulable", **profile) >= 1
    assert metric(fleet, "scheduler_scheduling_attempt_duration_seconds_count", result="scheduled", **profile) == 1
    assert metric(fleet, "scheduler_unschedulable_pods", plugin="NodeResourcesFit", **profile) == 1
    assert metric(fleet, "berth_rows", phase="bound") == 1
    assert metric(fleet, "berth_nodes", state="ready") == 1
    assert metric(fleet, "berth_store_commits_total") > 0
    assert metric(fleet, "berth_store_bytes_written_total") > 0
    assert metric(fleet, "berth_messages_total", direction="in") > 0


def test_the_completed_configuration_is_shown(fleet):
    fleet.start_gateway()
    status, body = get(fleet, "/configz")
    assert status == 200
    config = json.loads(body)["kubescheduler.config.k8s.io"]
    assert config["profiles"][0]["schedulerName"] == "default-scheduler"
    assert json.loads(body)["berth"]["fleet"] == fleet.name


def test_slow_clients_and_clients_without_http_do_not_block_others(fleet):
    fleet.start_gateway()
    host, port = address(fleet).rsplit(":", 1)
    silent = [socket.create_connection((host, int(port))) for _ in range(40)]
    for number, connection in enumerate(silent):
        try:
            connection.sendall(b"\x16\x03\x01" if number % 2 else b"GET /metr")
        except OSError:
            pass  # the server has closed it already, as the oldest connection
    assert get(fleet, "/healthz") == (200, "ok")
    assert get(fleet, "/healthz", method="POST")[0] == 405
    for connection in silent:
        connection.close()
    assert fleet.programs["berthd"].alive()


def test_the_status_pages_listen_on_loopback_by_default_and_can_be_turned_off(fleet, free_port):
    fleet.start_gateway()
    assert address(fleet).startswith("127.0.0.1:")
    fleet.kill("berthd", 15)
    fleet.start_gateway(extra=["--http", f"127.0.0.1:{free_port}"])
    wait_until(lambda: address(fleet) == f"127.0.0.1:{free_port}", "the configured port")
    fleet.kill("berthd")
    fleet.start_gateway(extra=["--http", "off"])
    wait_until(lambda: not (fleet.state_dir("berthd") / "http").exists(), "the removal of the address file")


@pytest.mark.parametrize("listen, code, expected", [
    ("taken", 71, "Address already in use"),
    ("nowhere:1:2", 64, "nowhere:1:2"),
    ("localhost", 71, "expected an IP address"),
])
def test_an_address_that_cannot_be_bound_stops_berthd_with_the_reason(tmp_path, broker, free_port, listen, code, expected):
    with socket.create_server(("127.0.0.1", free_port)):
        given = f"127.0.0.1:{free_port}" if listen == "taken" else listen
        run = Program("berthd", [program_path("berthd"), "--state-dir", tmp_path / "state", "--broker",
                                 f"127.0.0.1:{broker.port}", "--http", given], tmp_path).start()
        assert run.wait(20) == code
        assert expected in run.output()
