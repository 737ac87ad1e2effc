"""clang-tidy and the choice of files, on a real small checkout."""

import json
import subprocess

import pytest
import tidy
from source import Tree

WRONG = "int {name}(const char* p) {{\n  if (p == 0) return 1;\n  return 2;\n}}\n"


@pytest.fixture(autouse=True)
def no_base(monkeypatch):
    monkeypatch.delenv("BERTH_BASE", raising=False)


@pytest.fixture
def build(tmp_path):
    """build([path, ...]): a build folder whose compile commands name these files."""
    def make(paths):
        folder = tmp_path / "build"
        folder.mkdir(exist_ok=True)
        commands = [{"directory": str(tmp_path), "file": str(path), "command": f"clang++-19 -std=c++23 -c {path}"}
                    for path in paths]
        (folder / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
        return folder

    return make


def test_complaints_are_findings(checkout, tmp_path, build):
    tree = checkout({"core/a.cc": WRONG.format(name="f")})
    (finding,) = tidy.check(tree, ["core/a.cc"], build([tmp_path / "core/a.cc"]))
    assert finding.path == "core/a.cc" and finding.line == 2 and "use nullptr" in finding.message


def test_checks_can_be_left_out(checkout, tmp_path, build):
    tree = checkout({"core/a.cc": WRONG.format(name="f")})
    folder = build([tmp_path / "core/a.cc"])
    assert list(tidy.check(tree, ["core/a.cc"], folder, without=["modernize-use-nullptr"])) == []


def test_the_slow_check_is_one_that_clang_tidy_has():
    names = subprocess.run(["clang-tidy-19", "--checks=*", "--list-checks"], capture_output=True, text=True, check=True)
    assert tidy.SLOW in names.stdout.split()


def test_the_whole_tree_is_checked_as_it_is_compiled_together_and_what_is_not_compiled_alone(checkout, tmp_path, build):
    tree = checkout({"core/a.cc": WRONG.format(name="a"), "core/b.cc": WRONG.format(name="b"),
                     "core/big.cc": WRONG.format(name="c") + "//\n" * 100, "tests/fuzz.cc": WRONG.format(name="d")})
    joined = tmp_path / "build" / "joined.cxx"
    folder = build([joined, tmp_path / "core/big.cc"])
    joined.write_text("".join(f'#include "{tmp_path}/core/{name}.cc"\n' for name in "ab"), encoding="utf-8")
    paths = tidy.together(tree, folder)
    assert paths == [str(tmp_path / "core/big.cc"), str(joined), "tests/fuzz.cc"]
    found = list(tidy.check(tree, paths, folder))
    assert [finding.path for finding in found] == ["core/a.cc", "core/b.cc", "core/big.cc", "tests/fuzz.cc"]
    assert all(finding.line == 2 and "use nullptr" in finding.message for finding in found)


def test_changed_files_are_those_since_main_and_the_uncommitted(checkout, tmp_path):
    checkout({"core/old.cc": "", "core/a.cc": "", "core/b.h": "", "core/user.cc": '#include "core/b.h"\n'})
    checkout({"core/a.cc": "int x;\n", "README.md": ""}, branch="work")
    checkout({"core/b.h": "int y;\n"}, branch="work")
    (tmp_path / "core/new.cc").write_text("", encoding="utf-8")
    assert tidy.to_tidy(Tree(tmp_path)) == ["core/a.cc", "core/new.cc", "core/user.cc"]


def test_a_clean_main_and_a_change_of_many_files_are_checked_as_a_whole(checkout):
    assert tidy.to_tidy(checkout({"core/a.cc": ""})) is None
    many = {f"core/{number}.cc": "" for number in range(tidy.ALONE_AT_MOST)}
    assert len(tidy.to_tidy(checkout(many, branch="work"))) == tidy.ALONE_AT_MOST
    assert tidy.to_tidy(checkout({"core/more.cc": ""}, branch="work")) is None


def test_a_change_of_no_source_needs_no_check(checkout):
    checkout({"core/a.cc": ""})
    assert tidy.to_tidy(checkout({"README.md": ""}, branch="work")) == []


def test_without_history_the_whole_tree_is_checked(tree):
    assert tidy.to_tidy(tree({"core/a.cc": ""})) is None
