"""What an agent takes of the processor while its containers do nothing (as root).

    BERTH_BUILD=build/release python3 tests/bench/idle.py [--pods N] [--seconds S]

The real agent, gateway and broker; N containers of an image that sleep. The scheduler's account of the agent (schedstat).
"""

import argparse
import tempfile
import time
from pathlib import Path

from lone import end_containers, lone_pod, runs_containers  # first: it adds the folder of the integration tests

import programs
from broker import Broker
from fleet import Fleet

SETTLE_S = 20  # after the last start: images are reported, the memory of the start is given back


def milliseconds(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6


def measure(folder, pods, seconds):
    """Milliseconds of processor time in so many seconds."""
    broker = Broker(folder / "broker").start()
    fleet = Fleet(folder, broker.port)
    end_registry = lambda: None  # noqa: E731
    try:
        image, flags, end_registry = runs_containers(fleet, folder)
        fleet.start("n1", extra=flags, capacity={"cpu": "64", "memory": "64Gi", "pods": str(pods + 10)})
        names = [f"idle-{number}" for number in range(pods)]
        fleet.apply(*[lone_pod(name, image) for name in names])
        for name in names:
            fleet.wait_running(name)
        time.sleep(SETTLE_S)
        pid = fleet.programs["n1"].pid
        before = milliseconds(pid)
        time.sleep(seconds)
        return milliseconds(pid) - before
    finally:
        end_containers(fleet)
        fleet.stop()
        end_registry()
        broker.stop()


def main():
    parser = argparse.ArgumentParser(description="Measures what an idle agent takes of the processor.")
    parser.add_argument("--pods", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    programs.adopt_orphans()
    before = programs.children()
    try:
        with tempfile.TemporaryDirectory(prefix="idle-", dir=programs.build_folder()) as folder:
            took = measure(Path(folder), given.pods, given.seconds)
    finally:
        programs.end_children_since(before)
    print(f"{given.pods} containers: {took:.1f} ms in {given.seconds} s, {took / given.seconds / 10:.4f} % of a core")


if __name__ == "__main__":
    main()
