"""The release programs have the hardening that a network-facing daemon needs, read from the binaries with readelf."""

import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("BERTH_BUILD") or Path(__file__).resolve().parents[2] / "build" / "release")


def readelf(program, *options):
    path = BUILD / "bin" / program
    assert path.exists(), f"{path} is missing; build it: firmware-host/build-release"
    return subprocess.run(["readelf", "-W", *options, path], capture_output=True, text=True, check=True).stdout


@pytest.fixture(params=["berthd", "berth-agent", "berthctl"])
def program(request):
    return request.param


def test_is_position_independent(program):
    assert "DYN (Position-Independent Executable file)" in readelf(program, "-h")


def test_its_relocations_are_read_only_and_bound_at_start(program):
    assert "GNU_RELRO" in readelf(program, "-l")
    dynamic = readelf(program, "-d")
    assert "BIND_NOW" in dynamic or "Flags: NOW" in dynamic


def test_its_stack_is_not_executable(program):
    (stack,) = [line for line in readelf(program, "-l").splitlines() if "GNU_STACK" in line]
    assert " RW " in stack and " RWE " not in stack


def test_its_stack_frames_are_guarded(program):
    assert "__stack_chk_fail" in readelf(program, "--dyn-syms")


def test_its_buffer_calls_are_checked(program):
    assert "_chk@" in readelf(program, "--dyn-syms")


def test_it_has_no_library_path_of_the_build(program):
    dynamic = readelf(program, "-d")
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic
