"""The part that runs the previous release's programs beside those of this checkout."""

import os
import shutil
import subprocess
import time

from base import JOBS, ROOT, PartError, build, call, need, pytest, say

TESTS = ROOT / "tests" / "integration" / "upgrade"
PROGRAMS = ("berthd", "berth-agent", "berthctl")


def build_previous():
    """Builds the programs of the commit that the file `previous-release` names; returns the folder of the build."""
    need("git", "cmake", "ninja", "tar")
    begin = time.monotonic()
    commit = next(line for line in (TESTS / "previous-release").read_text(encoding="utf-8").splitlines()
                  if line and not line.startswith("#"))
    source = ROOT / "build" / "previous" / commit
    built = source / "build" / "dev"
    if not source.exists():
        shutil.rmtree(source.parent, ignore_errors=True)
        source.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
        unpacked = subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=False)
        if archive.returncode or unpacked.returncode:
            shutil.rmtree(source)
            raise PartError(f"commit {commit} of the previous release is not here; fetch the whole history: git fetch --unshallow")
    configure = ["cmake", "--preset", "dev", "-S", str(source), "-B", str(built), "-DBERTH_TOGETHER=ON",
                 "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]  # built once, and nobody waits for these programs
    compile_ = ["cmake", "--build", str(built), "-j", JOBS, "--target", *PROGRAMS]
    if call(configure, 300, log="previous-configure.log") or call(compile_, 1500, log="previous-build.log"):
        raise PartError("the previous release was not built")
    say(f"built the previous release in {time.monotonic() - begin:.0f} s")
    return built


def upgrade():
    build("dev", "firmware-host/all")
    workers = os.environ.get("BERTH_PYTEST_WORKERS", "4")
    return pytest("upgrade", str(TESTS), "-n", workers, "--dist", "load", limit_s=900,
                  env={"BERTH_BUILD": str(ROOT / "build" / "dev"), "BERTH_PREVIOUS": str(build_previous())})
