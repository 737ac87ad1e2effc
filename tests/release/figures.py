"""What the README says of the programs' sizes and memory."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 0.10  # of a size that is told


def _rows():
    """{program: [cells of its row in the amd64 table, cells of its row in the ARM table]}."""
    rows = {}
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        found = re.match(r"\| `(berthd|berth-agent|berthctl)` \|(.*)\|$", line)
        if found:
            rows.setdefault(found[1], []).append([cell.strip() for cell in found[2].split("|")])
    return rows


def stated_bytes(program, arch, semi_static=False):
    """The stripped size that the README tells; arch: amd64, arm64 or armhf."""
    native, arm = _rows()[program]
    cell = native[0] if arch == "amd64" else arm[3] if semi_static else arm[0].split("/")[arch == "armhf"]
    return float(cell.split()[0]) * 2**20


def is_as_stated(program, arch, size, semi_static=False):
    return abs(size - stated_bytes(program, arch, semi_static)) <= TOLERANCE * size


def stated_memory():
    """(README, berthd.yaml) of the memory with 10,000 and with 50,000 pods, in MiB."""
    readme = re.search(r"([\d.]+) MiB, with 50,000 pods on 5,000 nodes ([\d.]+) MiB", (ROOT / "README.md").read_text(encoding="utf-8"))
    packaged = re.search(r"10,000 pods on 1,000 nodes take about (\d+) MiB, 50,000 on 5,000 about (\d+)",
                         (ROOT / "cross" / "debian" / "berthd.yaml").read_text(encoding="utf-8"))
    return [tuple(map(float, found.groups())) for found in (readme, packaged)]
