"""The README's sizes are those of the release programs; what berthd.yaml says of memory is what the README says."""

import os
import platform
import subprocess
from pathlib import Path

import pytest

from figures import ROOT, is_as_stated, stated_bytes, stated_memory

BUILD = Path(os.environ.get("BERTH_BUILD") or ROOT / "build" / "release")
ARCH = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf"}


@pytest.mark.parametrize("program", ["berthd", "berth-agent", "berthctl"])
def test_a_stripped_program_has_the_size_that_the_readme_tells(program, tmp_path):
    arch = ARCH[platform.machine()]
    stripped = tmp_path / program
    subprocess.run(["strip", "-o", stripped, BUILD / "bin" / program], check=True)
    size = stripped.stat().st_size
    stated = stated_bytes(program, arch)
    assert is_as_stated(program, arch, size), f"{arch}: {size / 2**20:.2f} MiB, the README says {stated / 2**20:.1f}"


def test_the_readme_tells_the_size_of_each_program_for_each_architecture():
    for program in ("berthd", "berth-agent", "berthctl"):
        for arch in ("amd64", "arm64", "armhf"):
            assert is_as_stated(program, arch, stated_bytes(program, arch))
            assert not is_as_stated(program, arch, 1.2 * stated_bytes(program, arch))
        assert stated_bytes(program, "arm64", semi_static=True) > stated_bytes(program, "arm64")


def test_the_packaged_configuration_tells_the_memory_that_the_readme_tells():
    readme, packaged = stated_memory()
    assert packaged == tuple(map(round, readme))
