"""Fixtures of the integration tests: a broker, a proxy in front of it, a fleet. A failing test shows its logs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import broker as broker_module  # noqa: E402
import ports  # noqa: E402
import programs  # noqa: E402
from disk import Disk  # noqa: E402
from fleet import EmbeddedFleet, Fleet  # noqa: E402
from mqtt_proxy import MqttProxy  # noqa: E402

LOG_TAIL = 6000


def pytest_configure(config):
    programs.adopt_orphans()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    folder = item.funcargs.get("tmp_path") if hasattr(item, "funcargs") else None
    if report.failed and folder:
        for log in sorted(file for depth in ("*.log", "*/*.log") for file in Path(folder).glob(depth)):  # pods come and go below
            text = log.read_text(encoding="utf-8", errors="replace")
            report.sections.append((f"{log.relative_to(folder)}", text[-LOG_TAIL:]))


@pytest.fixture(autouse=True)
def leaves_no_process():
    """Kills every process that the test started, including workloads that outlived their agent."""
    before = programs.children()
    yield
    programs.end_children_since(before)


@pytest.fixture
def free_port():
    return ports.free_port()


@pytest.fixture
def broker(tmp_path, leaves_no_process):
    running = broker_module.Broker(tmp_path / "broker").start()
    yield running
    running.stop()


@pytest.fixture
def authority(tmp_path):
    return broker_module.Authority(tmp_path / "certificates")


@pytest.fixture
def tls_broker(tmp_path, authority, leaves_no_process):
    """A broker that accepts only clients with a certificate issued by `authority`; the common name is the user name."""
    running = broker_module.Broker(tmp_path / "broker", authority).start()
    yield running
    running.stop()


@pytest.fixture
def proxy(broker):
    with MqttProxy(broker.port) as running:
        yield running


@pytest.fixture
def connect():
    """connect(port, identity, ...) returns a broker.Client, which is closed at the end of the test."""
    clients = []

    def make(port, identity="", **options):
        clients.append(broker_module.Client(port, identity, **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def fleet(tmp_path, broker):
    running = Fleet(tmp_path, broker.port)
    yield running
    running.stop()
    assert running.wrong_messages() == []


@pytest.fixture
def disk(fleet, tmp_path):
    """One that is mounted, until the fleet is stopped."""
    disk = Disk(tmp_path / "disk")
    disk.mount()
    yield disk
    fleet.stop()
    disk.close()


@pytest.fixture
def embedded(tmp_path, leaves_no_process):
    """A fleet that uses the gateway's embedded broker, with accounts for n1 and n2."""
    running = EmbeddedFleet(tmp_path, ["n1", "n2"])
    yield running
    running.stop()
    assert running.wrong_messages() == []
