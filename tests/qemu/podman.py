"""tests/qemu/podman.py ARCH: what twenty idle containers of podman take in the guest, for comparison with containers.py, which
does the same with berth-agent: memory of what stays beside the containers, and the time to start them. podman is in the guest
if it was made with BERTH_GUEST_PACKAGES=podman. The last line of output is "N passed, N failed"."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from container_guest import PIDS, kib, run_cases, uptime  # noqa: E402

CONTAINERS = 20
PODMAN = ("TMPDIR=/tmp podman --root /state/podman --runroot /run/podman --cgroup-manager cgroupfs --runtime crun --events-backend none "
          "--tmpdir /run/podman-tmp")


def twenty(made):
    guest = made.guest
    pulled = guest.run(f"{PODMAN} pull --quiet --tls-verify=false {made.image}; echo exit $?", 300)
    assert pulled[-1] == "exit 0", pulled
    began = uptime(guest)
    for number in range(CONTAINERS):
        started = guest.run(f"{PODMAN} run --detach --network host --name idle-{number} {made.image} sleep 100000; echo exit $?", 300)
        assert started[-1] == "exit 0", started
    took = uptime(guest) - began
    monitors = guest.run(PIDS.format(name="conmon"))
    assert len(monitors) == CONTAINERS, monitors
    pids = " ".join(monitors)
    return (f"podman: {CONTAINERS} containers started one after the other in {took:.1f} s; their conmons take "
            f"{kib(guest, 'Pss', pids)} KiB (Pss), {kib(guest, 'Private_Dirty', pids)} KiB private; podman itself does not stay")


if __name__ == "__main__":
    sys.exit(run_cases([twenty]))
