"""A disk that can be taken away, and comes back with what was on it."""

import subprocess

import pytest


class Disk:
    def __init__(self, folder):
        """folder: where it is mounted, an empty directory otherwise."""
        self.folder, self.content = folder, folder.with_name(folder.name + "-content")
        self.folder.mkdir()
        self.content.mkdir()

    def mount(self):
        """Skips the test where that is not allowed."""
        mounted = subprocess.run(["mount", "--bind", self.content, self.folder], capture_output=True, text=True, check=False)
        if mounted.returncode:
            pytest.skip(f"cannot mount a file system here: {mounted.stderr.strip()}")

    def unmount(self):
        subprocess.run(["umount", self.folder], check=True)

    def close(self):
        """Whether it is mounted or not, and whatever still has files open there."""
        subprocess.run(["umount", "--lazy", "--quiet", self.folder], check=False)
