"""The parts of this machine: what the dev build runs, the rules of the code, the releases, the benches."""

import os
import subprocess
import time

from base import COUNT_LINE, PYTHON, REPORTS, ROOT, Count, PartError, build, call, ctest, in_memory, need, pytest, say


def unit():
    build("dev", "tests/unit/all")
    with in_memory() as env:
        return ctest("unit", "dev", "unit", env=env)


def model():
    build("dev", "tests/model/all")
    return ctest("model", "dev", "model", test_limit_s=600)


def sim():
    build("dev", "tests/sim/all")
    return ctest("sim", "dev", "sim", exclude="sim_long", test_limit_s=600)


def crash():
    build("dev", "tests/crash/all")
    return ctest("crash", "dev", "crash", test_limit_s=600)


def issues():
    build("dev", "tests/issues/all")
    return ctest("issues", "dev", "issues", test_limit_s=600)


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


def release():
    machine = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    if call(["firmware-host/build-release"], 1800) or call(["cross/build", machine], 1800):
        raise PartError("the release build failed; its message is above")
    return pytest("release", "tests/release", env={"BERTH_BUILD": str(ROOT / "build" / "release")}, limit_s=900)


def bench():
    build("bench", "tests/bench/all")
    return ctest("bench", "bench", "bench", test_limit_s=1800, limit_s=3600, jobs="1")
