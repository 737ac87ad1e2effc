"""A small source tree in a temporary folder, for the tests of the rules."""

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
