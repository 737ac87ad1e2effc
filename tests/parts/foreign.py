"""The parts of other architectures: single programs under qemu-user, and whole machines."""

import os
import re
import subprocess
import sys
import threading
import time

from base import (FEWER_ROUNDS, PYTHON, REPORTS, ROOT, Count, PartError, build, call, counted, need, recorded_cases, say,
                  side_by_side, unit_programs)

sys.path.insert(0, str(ROOT / "tests" / "release"))
import figures  # noqa: E402

CROSS = {"arm64": ("aarch64-linux-gnu-g++", "qemu-aarch64-static"), "armhf": ("arm-linux-gnueabihf-g++", "qemu-arm-static")}
CROSS_TARGETS = ("firmware-host/all", "tests/unit/all", "tests/conformance/all", "tests/sim/all")
SIZES = {"berthd": 15 << 18, "berth-agent": 5 << 19, "berthctl": 3 << 19}  # bytes, stripped
SAME_SEEDS = "1..10"  # whose traces must be equal on every architecture


def architectures():
    """The foreign architectures that this run is about."""
    return os.environ.get("BERTH_ARCHITECTURES", " ".join(CROSS)).split()


def cross_ready(arch):
    need(*CROSS[arch])
    if call(["cross/sysroot", arch], 600):
        raise PartError("no sysroot; its message is above")


def emulator(arch):
    return [CROSS[arch][1], "-L", str(ROOT / "build" / f"sysroot-{arch}")]


def emulated(arch):
    """The unit tests of one architecture under qemu-user. One tree is all that is built for it: packages and tests.
    What is below host/ no emulator of single programs can run: tests/qemu/unit_tests.py does."""
    cross_ready(arch)
    build(arch, *CROSS_TARGETS)
    programs = (ROOT / "build" / arch / "tests" / "unit").glob("unit_*")
    return unit_programs(arch, programs, before=emulator(arch), env=FEWER_ROUNDS)


def arm64():
    return emulated("arm64")


def armhf():
    return emulated("armhf")


def same():
    """Decisions and traces of the other architectures are this one's, and the simulator's own tests pass on them."""
    build("dev", "tests/sim/all")
    jobs = []
    here = subprocess.run(["build/dev/tests/sim/berth_sim", "--seeds", SAME_SEEDS], cwd=ROOT, capture_output=True, text=True,
                          timeout=600, check=False).stdout
    for arch in architectures():
        cross_ready(arch)
        build(arch, *CROSS_TARGETS)
    folder = recorded_cases()
    for arch in architectures():
        jobs.append(lambda arch=arch: same_program(arch, "conformance/berth_conformance", folder, "recorded answers"))
    for arch in architectures():
        jobs.append(lambda arch=arch: same_traces(arch, here))
        jobs.append(lambda arch=arch: same_program(arch, "sim/berth_sim", "--self-test", "the simulator's self-test"))
    return side_by_side(jobs)


def same_program(arch, program, argument, title):
    return counted([*emulator(arch), f"build/{arch}/tests/{program}", argument], 1800, title=f"{arch}: {title}")


def same_traces(arch, here):
    there = subprocess.run([*emulator(arch), f"build/{arch}/tests/sim/berth_sim", "--seeds", SAME_SEEDS], cwd=ROOT,
                           capture_output=True, text=True, timeout=1800, check=False).stdout
    hashes = [re.findall(r"^trace hash (\w+)", text, re.M) for text in (here, there)]
    equal = len(hashes[0]) == 1 and hashes[0] == hashes[1]
    say(f"trace hash of seeds {SAME_SEEDS}: {hashes[0]} here, {hashes[1]} on {arch}")
    return Count(int(equal), int(not equal))


# What is run in the machines of each architecture; where it takes longest, it begins first. `{cuts}`: BERTH_POWER_CUTS.
GUESTS = {
    "armhf": ["containers.py", "hostile.py", "unit_tests.py", "first_pod.py"],
    "arm64": ["containers.py", "hostile.py", "power_cuts.py --cuts {cuts}", "kernel.py", "unit_tests.py",
              "power_cuts.py --cuts 5 --control normal", "power_cuts.py --cuts 5 --control lies", "first_pod.py",
              "first_pod.py --semi-static"],
}
SHORT = ("first_pod.py", "power_cuts.py --cuts {cuts}")


def qemu():
    """Whole ARM machines: the packages in them, power cuts, and the controls that show what the cuts can see. Each machine
    has one processor, and waits now and then for a clock: one more run side by side than there are processors.
    BERTH_GUESTS=short: only that the packages run, and survive power cuts."""
    need("qemu-system-aarch64", "qemu-system-arm", "nbdkit", "debugfs", "docker-registry", "skopeo")
    build("dev", "firmware-host/all")
    env = {"BERTHCTL": str(ROOT / "build" / "dev" / "bin" / "berthctl")}
    cuts = os.environ.get("BERTH_POWER_CUTS", "4")
    short = os.environ.get("BERTH_GUESTS") == "short"
    made = {arch: threading.Event() for arch in CROSS}

    def make(arch):
        try:
            return machine(arch, env, short)
        finally:
            made[arch].set()

    def run(arch, words):
        made[arch].wait()
        script, *more = words.format(cuts=cuts).split()
        return counted([PYTHON, f"tests/qemu/{script}", arch, *more], 900 + 60 * int(cuts), env)

    runs = [(arch, words) for arch in CROSS if arch in architectures() for words in GUESTS[arch] if not short or words in SHORT]
    return side_by_side([*(lambda arch=arch: make(arch) for arch in architectures()),
                         *(lambda arch=arch, words=words: run(arch, words) for arch, words in runs)], more=1)


def machine(arch, env, short):
    """Makes the packages of one architecture, and the machine that they run in; counts their sizes. `short`: without unit
    tests and semi-static programs."""
    cross_ready(arch)
    build(arch, *(("firmware-host/all",) if short else CROSS_TARGETS))
    count = Count()
    for step in (["cross/build", arch, *(["--semi-static"] if arch == "arm64" and not short else [])], ["cross/guest", arch]):
        begin = time.monotonic()
        log = f"{step[0].replace('/', '-')}-{arch}.log"
        if call(step, 1500, env=env, log=log):
            raise PartError(f"{' '.join(step)} failed; its message is above")
        say(f"{' '.join(step)} in {time.monotonic() - begin:.0f} s")
        for line in re.findall(r"^berth.* (?:bytes stripped|without TLS)$", (REPORTS / log).read_text(errors="replace"), re.M):
            count += within_size(arch, line)
    return count


def within_size(arch, line):
    """A line of cross/build: program, architecture, bytes stripped, or bytes semi-static and those without TLS."""
    words = line.split()
    program, semi_static = words[0], words[-1] == "TLS"
    size = int(words[5 if semi_static else 2])
    stated = figures.stated_bytes(program, arch, semi_static)
    limit = SIZES[program] if not semi_static else size
    good = size <= limit and figures.is_as_stated(program, arch, size, semi_static)
    kind = "semi-static without TLS" if semi_static else f"stripped, at most {limit / 2**20} MiB"
    say(f"{'ok     ' if good else 'FAILED '}{arch}: {program} {size / 2**20:.2f} MiB {kind}; the README says {stated / 2**20:.1f}")
    return Count(int(good), int(not good))
