"""TCP ports for the servers of tests, which nobody else takes between the test's choice and the server's bind().

A port of the kernel's choice (bind to 0, close) is not safe: the kernel gives it to the next outgoing connection. These
are below the kernel's range for outgoing connections, and each process of the tests holds a block of them by a file lock.
"""

import contextlib
import fcntl
import functools
import itertools
import os
import socket
import tempfile
from pathlib import Path

FIRST, BLOCK, BLOCKS = 20000, 100, 100  # 20000..29999; Linux connects from 32768 on (ip_local_port_range)


class PortBlock:
    """The ports of this process, held until it ends."""

    def __init__(self):
        folder = Path(tempfile.gettempdir()) / f"berth-test-ports-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        for number in range(BLOCKS):
            self.lock = open(folder / str(number), "w", encoding="utf-8")  # held by the open file
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.lock.close()
                continue
            self.first = FIRST + number * BLOCK
            self.starts = itertools.cycle(range(BLOCK))
            return
        raise AssertionError(f"all {BLOCKS} blocks of test ports are locked in {folder}")

    def take(self, count):
        """`count` ports that follow each other. Those just given are given again last."""
        for offset in itertools.islice(self.starts, BLOCK):
            ports = tuple(range(self.first + offset, self.first + offset + count))
            if offset + count <= BLOCK and all(free(port) for port in ports):
                for _ in range(count - 1):
                    next(self.starts)
                return ports
        raise AssertionError(f"no {count} ports in a row are free from {self.first} to {self.first + BLOCK - 1}")


def free(port):
    """At any address: a listener on one address is in the way of another on all of them."""
    with contextlib.ExitStack() as probes:
        try:
            for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                probe = probes.enter_context(socket.socket(family))
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers set it; a listener is in the way
                probe.bind((address, port))
        except OSError:
            return False
    return True


@functools.cache
def own_block():
    return PortBlock()


def free_ports(count):
    return own_block().take(count)


def free_port():
    return free_ports(1)[0]
