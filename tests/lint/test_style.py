"""clang-format, clang-tidy and the selection of files, on a small real checkout."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import style
from source import Tree

HERE = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path):
    """commit(files) writes and commits files in a git checkout with this repository's style files; returns its Tree."""
    for name in (".clang-format", ".clang-tidy"):
        shutil.copy(HERE / name, tmp_path / name)

    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
                       check=True, capture_output=True)

    git("init", "-q", "-b", "main")

    def commit(files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
        git("add", "-A")
        git("commit", "-qm", "x")
        return Tree(tmp_path)

    return commit


def test_a_misformatted_file_is_named_with_the_command_that_fixes_it(checkout):
    tree = checkout({"core/a.cc": "int  x;\n", "core/b.cc": "int y;\n"})
    (finding,) = style.check_format(tree)
    assert finding.path == "core/a.cc" and "clang-format-19 -i core/a.cc" in finding.message


def test_clang_tidy_complaints_are_findings(checkout, tmp_path):
    tree = checkout({"core/a.cc": "int f(const char* p) {\n  if (p == 0) return 1;\n  return 2;\n}\n"})
    command = {"directory": str(tmp_path), "file": "core/a.cc", "command": "clang++-19 -std=c++23 -c core/a.cc"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([command]), encoding="utf-8")
    (finding,) = style.check_tidy(tree, ["core/a.cc"], tmp_path)
    assert finding.path == "core/a.cc" and finding.line == 2 and "use nullptr" in finding.message


def test_changed_files_are_those_since_the_commit_before_and_the_uncommitted(checkout, tmp_path, monkeypatch):
    monkeypatch.delenv("BERTH_BASE", raising=False)
    checkout({"core/old.cc": "", "core/a.cc": "", "core/b.h": "", "core/user.cc": '#include "core/b.h"\n'})
    tree = checkout({"core/a.cc": "int x;\n", "core/b.h": "int y;\n"})
    (tmp_path / "core/new.cc").write_text("", encoding="utf-8")
    tree = Tree(tree.root)
    assert style.to_tidy(tree, all_files=False) == ["core/a.cc", "core/new.cc", "core/user.cc"]
    assert len(style.to_tidy(tree, all_files=True)) == 4


def test_without_history_every_file_counts_as_changed(checkout, monkeypatch):
    monkeypatch.delenv("BERTH_BASE", raising=False)
    tree = checkout({"core/a.cc": ""})
    assert style.to_tidy(tree, all_files=False) == ["core/a.cc"]
