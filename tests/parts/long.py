"""The full size of what CI runs in a sample; tests/README.md says why the sample is as large as it is."""

import os

from base import Count, build, ctest, say
from foreign import qemu
from native import integration, lint
from sanitized import fuzz

FULL = {  # environment of the parts; what the user has set goes before
    "BERTH_FUZZ_SECONDS": "600",
    "BERTH_LINT_ALL": "1",
    "BERTH_POWER_CUTS": "40",
    "BERTH_STORM_SEEDS": "24",
    "BERTH_EVENTS": "10000",
    "BERTH_FLEET": "5000",
}


def long():
    """Hours: simulated fleets by the thousand, a million binds, long fuzzing, storms and power cuts, every check of lint."""
    for name, size in FULL.items():
        os.environ.setdefault(name, size)
    total = Count()
    for part in (simulated, compared, lint, integration, qemu, fuzz):
        say(f"-- {part.__name__}")
        total += part()
    return total


def simulated():
    build("dev", "tests/sim/all")
    return ctest("long", "dev", "sim_long", limit_s=10800, test_limit_s=5400)


def compared():
    """The fast path and the plugins on a large fleet, decision for decision."""
    build("dev", "tests/unit/all")
    return ctest("long", "dev", "unit", only="InAFleetOfAnySize$", limit_s=10800, test_limit_s=10800)
