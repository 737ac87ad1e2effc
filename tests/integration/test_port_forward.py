"""berthctl port-forward: TCP connections to ports of pods, through a real broker."""

import fcntl
import json
import os
import random
import re
import signal
import socket
import sys
import termios
import threading
from contextlib import contextmanager

import images
import ports
import pytest
from manifests import pod
from programs import Program, program_path
from test_containers import cgroups, registry  # noqa: F401, a fixture
from test_containers import pod as container_pod
from waiting import wait_until

in_containers = pytest.mark.skipif(os.geteuid() != 0 or bool(images.missing()) or not os.path.exists("/usr/lib/cni/bridge"),
                                   reason="needs root, runc, a registry and CNI plugins")


@contextmanager
def forwarding(fleet, *arguments):
    """The local ports, in their order."""
    argv = [program_path("berthctl"), *fleet.connection("operator", fleet.port), "--fleet", fleet.name, "--gateway",
            fleet.gateway_name, "port-forward", *arguments]
    program = Program(f"forward-{len(list(fleet.folder.glob('forward-*.log')))}", argv, fleet.folder).start()
    wanted = sum(":" in each or each.isdigit() for each in arguments)

    def listening():
        found = [int(each) for each in re.findall(r"^Forwarding from [\d.]+:(\d+) -> \d+$", program.output(), re.M)]
        return found if len(found) == wanted else None

    yield wait_until(listening, "its ports"), program
    program.kill(signal.SIGINT)
    program.wait()


class Echo:
    """A server that returns what it got once the other side has said that no more comes, and then that it is over too."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=32)
        self.port = self.listener.getsockname()[1]
        self.accepted = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    @staticmethod
    def answer(connection):
        with connection:
            got = b""
            while part := connection.recv(65536):
                got += part
            connection.sendall(b"%d:" % len(got) + got)


@pytest.fixture
def talker(fleet):
    fleet.start("n1")
    fleet.apply(pod("talker"))
    fleet.wait_phase("talker", "Running")
    return fleet


def unsent_bytes(connection):
    """What the other side has not acknowledged."""
    return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def exchange(port, data):
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        got = b""
        while part := client.recv(65536):
            got += part
        return got


def test_connections_go_both_ways_and_each_way_ends_by_itself(talker):
    server = Echo()
    data = random.Random(3).randbytes(700_000)
    with forwarding(talker, "talker", f":{server.port}") as ((port,), _):
        assert exchange(port, data) == b"700000:" + data
        assert exchange(port, b"") == b"0:"
        assert server.accepted == 2, "no connection was made beside those"


def test_more_connections_at_once_than_a_device_serves_wait_for_each_other(talker):
    server = Echo()
    with forwarding(talker, "pod/talker", f":{server.port}", f":{server.port}") as (local, _):
        clients = [socket.create_connection(("127.0.0.1", local[i % 2]), 60) for i in range(12)]
        for i, client in enumerate(clients):
            client.sendall(b"number %d" % i)
        for i, client in enumerate(clients):
            client.shutdown(socket.SHUT_WR)
            text, got = b"number %d" % i, b""
            while part := client.recv(1024):
                got += part
            assert got == b"%d:" % len(text) + text
            client.close()


def test_a_port_that_nobody_listens_on_closes_the_connection_and_says_so(talker):
    port = ports.free_port()
    with forwarding(talker, "talker", f":{port}") as ((local,), program):
        assert exchange(local, b"") == b""
        program.wait_output(f"port {port}: connect: Connection refused")


def test_what_cannot_be_forwarded_is_told_at_once(talker):
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        taken = occupied.getsockname()[1]
        for arguments, code, words in ((["nobody", "80"], 1, "pod default/nobody not found"),
                                       (["talker", f"{taken}:80"], 71, f"cannot listen on 127.0.0.1:{taken}: Address already in use"),
                                       (["talker", "80:http"], 2, "must be LOCAL:REMOTE, :REMOTE or PORT"),
                                       (["talker", "--address", "somewhere", ":80"], 2, "must be an IPv4 address")):
            done = talker.ctl("port-forward", *arguments, check=False)
            assert done.returncode == code and words in done.stderr, (arguments, done.stderr)


def test_a_client_that_takes_nothing_holds_up_no_other(talker):
    data = random.Random(4).randbytes(300_000)
    server = Echo()
    with forwarding(talker, "talker", f":{server.port}") as ((port,), _), socket.create_connection(("127.0.0.1", port), 60) as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.sendall(data)
        lazy.shutdown(socket.SHUT_WR)
        assert exchange(port, b"quick") == b"5:quick"
        got = b""
        while part := lazy.recv(65536):
            got += part
        assert got == b"300000:" + data


def test_what_a_server_says_before_it_resets_the_connection_arrives_also_at_a_slow_client(talker):
    answer = random.Random(5).randbytes(250_000)
    closed = threading.Event()

    def refuse(listener):
        connection, _ = listener.accept()
        connection.recv(1)  # and leaves the rest unread
        connection.sendall(answer)
        wait_until(lambda: unsent_bytes(connection) == 0, "the answer's arrival at the agent")
        connection.close()
        closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=refuse, args=(listener,), daemon=True).start()
        with forwarding(talker, "talker", f":{listener.getsockname()[1]}") as ((port,), program), socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", port))
            client.sendall(b"x" * 2000)
            assert closed.wait(60)
            got = b""
            while part := client.recv(65536):
                got += part
            assert got == answer
            program.wait_output("Connection reset by peer")


@in_containers
def test_a_pod_with_a_network_of_its_own_is_reached_there(fleet, registry, tmp_path):  # noqa: F811
    networks = tmp_path / "cni"
    networks.mkdir()
    (networks / "10-own.conflist").write_text(json.dumps({
        "cniVersion": "0.4.0", "name": fleet.name, "plugins": [{"type": "loopback"}]}), encoding="utf-8")
    config = tmp_path / "containers.yaml"
    config.write_text(f"containers:\n  insecure_registries: ['{registry.address}']\n  cni_config_dir: {networks}\n", encoding="utf-8")
    fleet.start("n1", extra=["--config", config, "--container-runtime", "auto", "--secret-dir", f"/dev/shm/{fleet.name}"])
    image = registry.push("web:1", {"Cmd": ["httpd", "-f", "-p", "127.0.0.1:8099", "-h", "/www"]}, {"www/index.html": "from inside\n"})
    manifest = container_pod("web", image)
    del manifest["spec"]["hostNetwork"]
    fleet.apply(manifest)
    fleet.wait_phase("web", "Running")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", 8099), 5)
    with forwarding(fleet, "web", ":8099") as ((port,), _):
        assert b"from inside" in exchange(port, b"GET / HTTP/1.0\r\n\r\n")
    fleet.ctl("delete", "pod", "web")
    wait_until(lambda: not cgroups(fleet), "the end of the container")
