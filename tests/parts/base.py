"""What the parts of the test suite share: counts, commands, builds, and the runners of ctest and pytest."""

import os
import re
import shutil
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBS = str(os.cpu_count() or 1)
PYTHON = "/usr/bin/python3"
REPORTS = ROOT / "build" / "reports"
COUNT_LINE = re.compile(r"^(\d+) passed, (\d+) failed\s*$", re.M)
FEWER_ROUNDS = {"BERTH_ROUNDS_PERCENT": "25"}  # of random tests, where programs are slow; see tests/unit/rounds.h


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


def ctest(part, preset, label, only=None, exclude=None, env=None, limit_s=900, test_limit_s=120, jobs=JOBS):
    """Runs the ctest tests of one label (a folder of tests/) in build/<preset>: those whose name has `only`, none that has the
    label `exclude` besides."""
    report = REPORTS / f"{part}-{label}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(ROOT / "build" / preset), "-L", f"^{label}$", "-j", jobs, "--timeout",
               str(test_limit_s), "--output-on-failure", "--output-junit", str(report), "--no-tests=error",
               "--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000",
               "--test-output-truncation", "head"]
    if only:
        command += ["-R", only]
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


@contextmanager
def in_memory(least=256 << 20):
    """Environment that puts temporary files into memory: unit tests of stores otherwise wait for the disk to sync. That stores
    survive on disks is what the parts crash, integration and qemu show. Empty where memory is short or runs no programs."""
    shared = Path("/dev/shm")
    state = os.statvfs(shared) if os.access(shared, os.W_OK) else None
    if "TMPDIR" in os.environ or not state or state.f_flag & os.ST_NOEXEC or state.f_bavail * state.f_frsize < least:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="berth-", dir=shared) as folder:
        os.chmod(folder, 0o1777)  # as /tmp: a broker may have another user
        yield {"TMPDIR": folder}


def recorded_cases():
    """The folder of recorded cases: ours, unpacked, and what BERTH_CONFORMANCE or ../shared/conformance has besides."""
    folder = ROOT / "build" / "recorded-cases"
    if call([PYTHON, "tests/conformance/recorded.py", folder], 300):
        raise PartError("the recorded cases cannot be unpacked; the message is above")
    return folder


def unit_programs(part, paths, before=(), env=None):
    """Unit test programs, each for all its tests, where the start of a program costs more than most tests: under an emulator
    (`before`), or sanitized. The long ones come first and in shares, or one processor would wait for the other."""
    shares = {"unit_fastpath": 3, "unit_gateway": 2, "unit_host_containers": 4, "unit_storage_sqlite": 2}
    programs = sorted((path for path in paths if path.is_file() and os.access(path, os.X_OK)),
                      key=lambda path: (path.name not in shares, path.name))
    jobs = [(path, share, shares.get(path.name, 1)) for path in programs for share in range(shares.get(path.name, 1))]
    with in_memory() as memory:
        return side_by_side([lambda job=job: unit_program(part, *job, before, {**memory, **(env or {})}) for job in jobs])


def unit_program(part, path, share, shares, before, env):
    report = REPORTS / f"{part}-{path.name}-{share}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    begin = time.monotonic()
    done = subprocess.run([*before, path, f"--gtest_output=xml:{report}", "--gtest_brief=1"], cwd=path.parent,
                          env={**os.environ, **env, "GTEST_TOTAL_SHARDS": str(shares), "GTEST_SHARD_INDEX": str(share)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600,
                          check=False)
    if done.returncode:
        say(f"{part} {path.name}:\n{done.stdout[-6000:]}")
    if not report.exists():
        return Count(failed=1)
    count = read_junit(report)
    if done.returncode and not count.failed:
        count.failed = 1
    if (took := time.monotonic() - begin) > 20:
        say(f"{part} {path.name} {share + 1}/{shares}: {took:.0f} s")
    return count
