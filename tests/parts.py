"""Builds and runs the parts of the test suite that tests/run names, and sums their counts.

Each part returns a Count made from what its own runner reports (ctest and pytest: JUnit files). A part that cannot
run, or that finds no test, counts as one failure: nothing passes silently.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JOBS = str(os.cpu_count() or 1)
PYTHON = "/usr/bin/python3"
REPORTS = ROOT / "build" / "reports"
COUNT_LINE = re.compile(r"^(\d+) passed, (\d+) failed\s*$", re.M)


class PartError(Exception):
    """Why a part could not run, with the way out."""


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def say(text):
    print(text, flush=True)


def need(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        raise PartError(f"not found: {', '.join(missing)}; run tests/run without --no-install")


def call(command, limit_s, env=None, log=None):
    """Runs a command within limit_s; its exit code. With log, output goes there and is shown only on failure."""
    environment = {**os.environ, **(env or {})}
    try:
        if log is None:
            return subprocess.run(command, cwd=ROOT, env=environment, timeout=limit_s, check=False).returncode
        REPORTS.mkdir(parents=True, exist_ok=True)
        with open(REPORTS / log, "w+", encoding="utf-8", errors="replace") as out:
            done = subprocess.run(command, cwd=ROOT, env=environment, timeout=limit_s, check=False, stdout=out,
                                  stderr=subprocess.STDOUT)
            if done.returncode:
                out.seek(0)
                say(out.read()[-12000:])
            return done.returncode
    except subprocess.TimeoutExpired as error:
        raise PartError(f"not finished within {limit_s} s: {' '.join(map(str, command))}") from error


def build(preset, *targets, limit_s=1500):
    """Configures and builds a preset, or only some targets of it, and says how long it took."""
    need("cmake", "ninja", "pkg-config")
    begin = time.monotonic()
    together = ["-DBERTH_TOGETHER=ON"] if "CI" in os.environ else []  # nobody changes one file there and builds again
    if call(["cmake", "--preset", preset, *together], 300, log=f"{preset}-configure.log"):
        raise PartError(f"cmake --preset {preset} failed")
    command = ["cmake", "--build", str(ROOT / "build" / preset), "-j", JOBS]
    for target in targets:  # "<folder>/all": what the folder's CMakeLists.txt declares
        if not (ROOT / target.removesuffix("all") / "CMakeLists.txt").exists():
            raise PartError(f"{target.removesuffix('/all')} has nothing to build yet: add its CMakeLists.txt")
    if targets:
        command += ["--target", *targets]
    if call(command, limit_s, log=f"{preset}-build.log"):
        raise PartError(f"the {preset} build failed; again by: {' '.join(command)}")
    say(f"built {preset} in {time.monotonic() - begin:.0f} s")


def read_junit(path, ctest=False):
    """Sums a JUnit file. A ctest program that prints a line 'N passed, N failed' counts as it says, and is shown."""
    count = Count()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        own = COUNT_LINE.findall(output) if ctest else []
        skipped = case.find("skipped")
        bad = case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"
        if skipped is not None and ctest and "SKIP_REG" not in (skipped.get("message") or ""):
            bad = True  # not run: the program is missing
        if own:
            say(f"-- {case.get('name')}\n" + "\n".join(output.strip().splitlines()[-40:-1]))
            passed, failed = (int(n) for n in own[-1])
            count += Count(passed, max(failed, int(bad)))
        elif bad:
            count += Count(failed=1)
        elif skipped is not None:
            count += Count(skipped=1)
        else:
            count += Count(passed=1)
    if count == Count():
        raise PartError(f"{path.name}: no test was run")
    return count


def ctest(part, preset, label, exclude=None, env=None, limit_s=900, test_limit_s=120, jobs=JOBS):
    """Runs the ctest tests of one label (a folder of tests/) in build/<preset>."""
    report = REPORTS / f"{part}-{label}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(ROOT / "build" / preset), "-L", f"^{label}$", "-j", jobs, "--timeout",
               str(test_limit_s), "--output-on-failure", "--output-junit", str(report), "--no-tests=error",
               "--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000",
               "--test-output-truncation", "head"]
    if exclude:
        command += ["-LE", f"^{exclude}$"]
    code = call(command, limit_s, env=env, log=f"{part}-{label}.log")
    if not report.exists():
        raise PartError(f"ctest wrote no report (exit code {code})")
    count = read_junit(report, ctest=True)
    if code and not count.failed:
        count.failed = 1
    return count


def pytest(part, *arguments, env=None, limit_s=900):
    report = REPORTS / f"{part}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    code = call([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments], limit_s,
                env=env)
    if not report.exists():
        raise PartError(f"pytest wrote no report (exit code {code})")
    count = read_junit(report)
    if code and not count.failed:
        count.failed = 1
    return count


def unit():
    build("dev", "tests/unit/all")
    return ctest("unit", "dev", "unit")


def model():
    build("dev", "tests/model/all")
    return ctest("model", "dev", "model", test_limit_s=600)


def sim():
    build("dev", "tests/sim/all")
    return ctest("sim", "dev", "sim", limit_s=2700, test_limit_s=600)


def crash():
    build("dev", "tests/crash/all")
    return ctest("crash", "dev", "crash", test_limit_s=600)


def issues():
    build("dev", "tests/issues/all")
    return ctest("issues", "dev", "issues", test_limit_s=600)


def recorded_cases():
    """The folder of recorded cases: ours, unpacked, and what BERTH_CONFORMANCE or ../shared/conformance has besides."""
    folder = ROOT / "build" / "recorded-cases"
    if call([PYTHON, "tests/conformance/recorded.py", folder], 300):
        raise PartError("the recorded cases cannot be unpacked; the message is above")
    return folder


def conformance():
    build("dev", "tests/conformance/all")
    return ctest("conformance", "dev", "conformance", test_limit_s=600)


def lint():
    need("clang-format-19", "clang-tidy-19", "clang++-19", "cmake", "git", "ninja", "pkg-config")
    begin = time.monotonic()
    report = REPORTS / "lint-rules.log"
    report.parent.mkdir(parents=True, exist_ok=True)
    code = 0
    with open(report, "w", encoding="utf-8") as out:
        command = [PYTHON, "tests/lint/lint.py"] + (["--all"] if os.environ.get("BERTH_LINT_ALL") else [])
        code = subprocess.run(command, cwd=ROOT, stdout=out, timeout=1500, check=False).returncode
    text = report.read_text(encoding="utf-8")
    say(text.rstrip())
    own = COUNT_LINE.findall(text)
    if not own:
        raise PartError(f"tests/lint/lint.py gave no count (exit code {code})")
    say(f"rules of the house in {time.monotonic() - begin:.0f} s; now their own tests")
    return Count(int(own[-1][0]), int(own[-1][1])) + pytest("lint", "tests/lint", limit_s=300)


def integration():
    need("mosquitto", "openssl")
    build("dev", "firmware-host/all", "tests/integration/own_plugin/all")
    workers = os.environ.get("BERTH_PYTEST_WORKERS", "4")
    return pytest("integration", "tests/integration", "-n", workers, "--dist", "load",
                  env={"BERTH_BUILD": str(ROOT / "build" / "dev")}, limit_s=1200)


CROSS = {"arm64": ("aarch64-linux-gnu-g++", "qemu-aarch64-static"), "armhf": ("arm-linux-gnueabihf-g++", "qemu-arm-static")}
CROSS_TARGETS = ("firmware-host/all", "tests/unit/all", "tests/conformance/all", "tests/sim/all")
SIZES = {"berthd": 3 << 20, "berth-agent": 3 << 19, "berthctl": 3 << 19}  # bytes, stripped
SAME_SEEDS = "1..10"  # whose traces must be equal on every architecture
FEWER_ROUNDS = {"BERTH_ROUNDS_PERCENT": "25"}  # of random tests, where programs are slow; see tests/unit/rounds.h


def cross_ready(arch):
    need(*CROSS[arch])
    if call(["cross/sysroot", arch], 600):
        raise PartError("no sysroot; its message is above")


def emulator(arch):
    return [CROSS[arch][1], "-L", str(ROOT / "build" / f"sysroot-{arch}")]


def side_by_side(jobs, more=0):
    """Calls each of the jobs, as many at a time as there are processors and `more`; the sum of their counts."""
    def one(job):
        try:
            return job()
        except (PartError, subprocess.TimeoutExpired) as error:
            say(f"FAILED {error}")
            return Count(failed=1)

    with ThreadPoolExecutor(max_workers=int(JOBS) + more) as pool:
        return sum(pool.map(one, jobs), Count())


def emulated(arch):
    """The unit tests of one architecture under qemu-user. One tree is all that is built for it: packages and tests."""
    cross_ready(arch)
    build(arch, *CROSS_TARGETS)
    return side_by_side([lambda job=job: emulated_program(arch, *job) for job in unit_programs(arch)])


def unit_programs(arch):
    """(program, its share, of how many). All but those below host/, which no emulator of single programs can run:
    tests/qemu/unit_tests.py does. The long ones come first and in shares, or one processor would wait for the other."""
    names = sorted(path.name for path in (ROOT / "build" / arch / "tests" / "unit").glob("unit_*")
                   if path.is_file() and os.access(path, os.X_OK))
    shares = {"unit_gateway": 2, "unit_storage_sqlite": 2}
    return [(name, share, shares.get(name, 1)) for name in sorted(names, key=lambda name: name not in shares)
            for share in range(shares.get(name, 1))]


def emulated_program(arch, name, share, shares):
    """One program for all its tests: an emulator's start costs more than most of them."""
    folder = ROOT / "build" / arch / "tests" / "unit"
    report = REPORTS / f"{arch}-{name}-{share}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    begin = time.monotonic()
    done = subprocess.run([*emulator(arch), folder / name, f"--gtest_output=xml:{report}", "--gtest_brief=1"], cwd=folder,
                          env={**os.environ, **FEWER_ROUNDS, "GTEST_TOTAL_SHARDS": str(shares), "GTEST_SHARD_INDEX": str(share)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600,
                          check=False)
    if done.returncode:
        say(f"{arch} {name}:\n{done.stdout[-6000:]}")
    if not report.exists():
        return Count(failed=1)
    count = read_junit(report)
    if done.returncode and not count.failed:
        count.failed = 1
    if (took := time.monotonic() - begin) > 20:
        say(f"{arch} {name} {share + 1}/{shares}: {took:.0f} s")
    return count


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
    for arch in CROSS:
        cross_ready(arch)
        build(arch, *CROSS_TARGETS)
    folder = recorded_cases()
    for arch in CROSS:
        jobs.append(lambda arch=arch: same_program(arch, "conformance/berth_conformance", folder, "recorded answers"))
    for arch in CROSS:
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


def counted(command, limit_s, env=None, title=None):
    """A program whose last line is "N passed, N failed". Its output is shown, or with a title only when something failed."""
    begin = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True,
                          timeout=limit_s, check=False)
    own = COUNT_LINE.findall(done.stdout)
    if title and own and done.returncode == 0:
        say(f"{title}: {own[-1][0]} passed, {own[-1][1]} failed in {time.monotonic() - begin:.0f} s")
    else:
        say(done.stdout[-20000:].rstrip() + done.stderr.rstrip())
    if not own:
        raise PartError(f"no count from {' '.join(map(str, command))} (exit code {done.returncode})")
    return Count(int(own[-1][0]), max(int(own[-1][1]), int(done.returncode != 0)))


def qemu():
    """Whole ARM machines: the packages in them, power cuts, and the controls that show what the cuts can see. Each machine
    has one processor, and waits now and then for a clock: one more run side by side than there are processors."""
    need("qemu-system-aarch64", "qemu-system-arm", "nbdkit", "debugfs")
    build("dev", "firmware-host/all")
    env = {"BERTHCTL": str(ROOT / "build" / "dev" / "bin" / "berthctl")}
    cuts = os.environ.get("BERTH_POWER_CUTS", "4")
    made = {arch: threading.Event() for arch in CROSS}

    def make(arch):
        try:
            return machine(arch, env)
        finally:
            made[arch].set()

    def run(script, arch, *more):
        made[arch].wait()
        return counted([PYTHON, f"tests/qemu/{script}", arch, *more], 900 + 60 * int(cuts), env)

    # The machine of armhf is made first, since it has no semi-static programs.
    runs = [["unit_tests.py", "armhf"], ["first_pod.py", "armhf"], ["power_cuts.py", "arm64", "--cuts", cuts], ["kernel.py", "arm64"],
            ["unit_tests.py", "arm64"], ["power_cuts.py", "arm64", "--cuts", "5", "--control", "normal"],
            ["power_cuts.py", "arm64", "--cuts", "5", "--control", "lies"], ["first_pod.py", "arm64"],
            ["first_pod.py", "arm64", "--semi-static"]]
    return side_by_side([*(lambda arch=arch: make(arch) for arch in CROSS), *(lambda words=words: run(*words) for words in runs)],
                        more=1)


def machine(arch, env):
    """Makes the packages of one architecture, and the machine that they run in; counts their sizes."""
    cross_ready(arch)
    build(arch, *CROSS_TARGETS)
    count = Count()
    for step in (["cross/build", arch, *(["--semi-static"] if arch == "arm64" else [])], ["cross/guest", arch]):
        begin = time.monotonic()
        log = f"{step[0].replace('/', '-')}-{arch}.log"
        if call(step, 1500, env=env, log=log):
            raise PartError(f"{' '.join(step)} failed; its message is above")
        say(f"{' '.join(step)} in {time.monotonic() - begin:.0f} s")
        for line in re.findall(r"^berth.* bytes stripped$", (REPORTS / log).read_text(errors="replace"), re.M):
            count += within_size(arch, line)
    return count


def within_size(arch, line):
    """A line of cross/build: program, architecture, bytes stripped."""
    program, _, size = line.split()[:3]
    good = int(size) <= SIZES[program]
    say(f"{'ok     ' if good else 'FAILED '}{arch}: {program} {int(size) / 2**20:.2f} MiB stripped, at most {SIZES[program] / 2**20} MiB")
    return Count(int(good), int(not good))


SANITIZED_TARGETS = ("tests/unit/all", "tests/sim/all", "tests/fuzz/all")


def fuzz():
    """Each target on what it found before and its seeds, for BERTH_FUZZ_SECONDS."""
    need("clang++-19")
    build("asan", *SANITIZED_TARGETS)
    with ThreadPoolExecutor(max_workers=int(JOBS)) as pool:
        return sum(pool.map(fuzz_target, sorted((ROOT / "tests" / "fuzz" / "corpus").iterdir())), Count())


def fuzz_target(seeds):
    seconds = os.environ.get("BERTH_FUZZ_SECONDS", "10")
    folder = ROOT / "build" / "asan"
    grown = folder / "corpus" / seeds.name
    grown.mkdir(parents=True, exist_ok=True)
    log = f"fuzz-{seeds.name}.log"
    code = call([folder / "tests" / "fuzz" / f"fuzz_{seeds.name}", f"-max_total_time={seconds}", "-max_len=8192",
                 "-timeout=30", f"-artifact_prefix={folder}/found-{seeds.name}-", grown, seeds],
                int(seconds) + 300, log=log)
    runs = re.search(r"^Done (\d+) runs", (REPORTS / log).read_text(errors="replace"), re.M)
    well = code == 0 and runs is not None
    say(f"{seeds.name:14} {runs[1] if runs else 0} inputs" + ("" if well else ": FAILED, its message is above"))
    return Count(int(well), int(not well))


def asan():
    need("clang++-19")
    env = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1", **FEWER_ROUNDS}
    build("asan", *SANITIZED_TARGETS)
    return ctest("asan", "asan", "unit", env=env, test_limit_s=300) + ctest("asan", "asan", "sim", env=env,
                                                                             test_limit_s=600)


def release():
    machine = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    if call(["firmware-host/build-release"], 1800) or call(["cross/build", machine], 1800):
        raise PartError("the release build failed; its message is above")
    return pytest("release", "tests/release", env={"BERTH_BUILD": str(ROOT / "build" / "release")}, limit_s=900)


def bench():
    build("bench", "tests/bench/all")
    return ctest("bench", "bench", "bench", test_limit_s=1800, limit_s=3600, jobs="1")


PARTS = {part.__name__: part for part in
         (unit, model, sim, crash, issues, conformance, lint, integration, arm64, armhf, same, qemu, fuzz, asan, release, bench)}


def main(names):
    total, lines = Count(), []
    for name in names:
        say(f"== {name}")
        begin = time.monotonic()
        try:
            count = PARTS[name]()
        except PartError as error:
            say(f"{name} FAILED: {error}")
            count = Count(failed=1)
        line = f"{name:12} {count} in {time.monotonic() - begin:.0f} s"
        say(f"== {line}")
        lines.append(line)
        total += count
    say("")
    for line in lines:
        say(line)
    say(str(total))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
