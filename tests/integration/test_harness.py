"""The test harness itself: broker, programs, waiting."""

import os
import signal
import socket
import ssl
from pathlib import Path

import pytest
from broker import Authority
from manifests import counted_pod, starts
from ports import FIRST, PortBlock
from programs import Program, children, end_children_since
from waiting import wait_until


def test_a_killed_broker_comes_back_on_its_port_without_any_state(broker, connect):
    connect(broker.port, "a").publish("t/kept", "x", retain=True)
    port = broker.port
    broker.kill()
    broker.start()
    client = connect(port, "b")
    client.subscribe("t/#")
    client.publish("t/mark", "1")
    client.wait_message("t/mark")
    assert client.of("t/kept") == []


def test_a_tls_broker_takes_the_name_from_the_certificate(tls_broker, authority, connect):
    client = connect(tls_broker.port, "x", authority=authority, certificate=authority.issue("node-1"))
    client.publish("t", "x")
    wait_until(lambda: "u'node-1'" in tls_broker.program.output(), "the certificate's name in the broker's log")


def test_a_tls_broker_refuses_a_stranger(tls_broker, authority, tmp_path):
    context = ssl.create_default_context(cafile=authority.ca)
    context.load_cert_chain(*Authority(tmp_path / "stranger").issue("node-1"))
    with socket.create_connection(("127.0.0.1", tls_broker.port)) as plain, pytest.raises(ssl.SSLError):
        with context.wrap_socket(plain, server_hostname="localhost") as stranger:
            stranger.recv(1)


def test_a_program_is_killed_restarted_and_its_log_kept(tmp_path):
    program = Program("echo", ["/bin/sh", "-c", "echo started $$; exec sleep 1000"], tmp_path).start()
    program.wait_output("started")
    program.kill()
    assert program.wait() == -signal.SIGKILL
    program.start()
    wait_until(lambda: program.output().count("started") == 2, "the second start")
    program.stop()
    assert not program.alive()


def test_a_program_that_exits_early_is_reported_at_once(tmp_path):
    program = Program("false", ["/bin/sh", "-c", "echo no such broker; exit 3"], tmp_path).start()
    with pytest.raises(RuntimeError, match="no such broker"):
        program.wait_output("ready")


def test_processes_that_outlive_their_parent_are_found_and_ended(tmp_path):
    before = children()
    parent = Program("agent", ["/bin/sh", "-c", "setsid sleep 1000 & echo $!; exec sleep 1000"], tmp_path).start()
    orphan = int(wait_until(parent.output, "the pid of the orphan"))
    parent.kill()
    wait_until(lambda: orphan in children(), "the orphan to be reparented")
    assert end_children_since(before) >= 1
    with pytest.raises(ProcessLookupError):
        os.kill(orphan, 0)


def test_a_timeout_reports_what_was_awaited_and_the_last_failure(monkeypatch):
    monkeypatch.setenv("BERTH_TEST_PATIENCE", "0.001")

    def never():
        assert 1 == 2, "one is not two"

    with pytest.raises(AssertionError, match="timed out waiting for a miracle.*one is not two"):
        wait_until(never, "a miracle")


def test_a_pod_that_runs_twice_at_the_same_time_is_detected(tmp_path):
    command = counted_pod("web", tmp_path)["spec"]["containers"][0]["command"]
    first = Program("first", command, tmp_path).start()
    wait_until(lambda: starts("web", tmp_path) == 1, "the first start")
    first.kill()
    second = Program("second", command, tmp_path).start()
    wait_until(lambda: starts("web", tmp_path) == 2, "the second start, after the first has exited")
    Program("third", command, tmp_path).start()
    with pytest.raises(AssertionError, match="S4"):
        wait_until(lambda: (tmp_path / "web").read_text().count("started") == 3, "the third start")
        starts("web", tmp_path)
    assert second.alive()


def test_no_port_is_given_to_two_processes_of_tests_or_by_the_kernel_to_an_outgoing_connection():
    one, other = PortBlock(), PortBlock()
    assert not set(one.take(100)) & set(other.take(100))
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    assert FIRST <= max(one.take(100)) < lowest


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::"])
def test_a_port_that_somebody_listens_at_is_passed_over(address):
    block = PortBlock()
    first, second, third = block.take(3)
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # an earlier server's connections may be in TIME_WAIT
        listener.bind((address, second))
        listener.listen()
        given = block.take(97) + block.take(1) + block.take(1)
        assert given[-2:] == (first, third)
