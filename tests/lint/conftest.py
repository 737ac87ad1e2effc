"""A small source tree in a temporary folder, for the tests of the rules."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def tree(tmp_path):
    """tree({"core/a.cc": text, ...}) creates the files and returns a Tree of them."""
    from source import Tree

    def make(files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
        return Tree(tmp_path)

    return make


@pytest.fixture
def checkout(tmp_path, tree):
    """commit(files) commits files in a git checkout with this repository's style files, on `branch`; returns its Tree."""
    for name in (".clang-format", ".clang-tidy"):
        shutil.copy(Path(__file__).resolve().parents[2] / name, tmp_path / name)

    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
                       check=True, capture_output=True)

    def commit(files, branch="main"):
        git("checkout", "-q", "-B", branch)
        tree(files)
        git("add", "-A")
        git("commit", "-qm", "x")
        return tree({})

    git("init", "-q", "-b", "main")
    return commit
