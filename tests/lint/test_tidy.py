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


def write_unit(folder, name):
    """A file of CMake's that includes one source."""
    (folder / "units").mkdir(exist_ok=True)
    (folder / f"{name}.cc").write_text("", encoding="utf-8")
    unit = folder / "units" / f"{name}.cxx"
    unit.write_text(f'#include "{folder}/{name}.cc"\n', encoding="utf-8")
    return unit


@pytest.fixture
def together(checkout, tmp_path, build):
    """together(files, joined, alone): what is checked of these files, which CMake joins so, but not those alone."""
    def make(files, joined, alone=()):
        tree = checkout(files)
        units = []
        for number, paths in enumerate(joined):
            units.append(tmp_path / "build" / f"joined{number}.cxx")
            folder = build([*units, *(tmp_path / path for path in alone)])
            units[-1].write_text("".join(f'#include "{tmp_path}/{path}"\n' for path in paths), encoding="utf-8")
        return (tree, *tidy.together(tree, folder))

    return make


def included(path):
    return [name.rsplit("/", 1)[-1] for name in tidy.JOINED.findall(open(path, encoding="utf-8").read())]


def test_the_whole_tree_is_checked_by_folder_and_what_cannot_be_joined_alone(together, tmp_path):
    tree, folder, paths, _ = together(
        {"core/a.cc": WRONG.format(name="a"), "core/b.cc": WRONG.format(name="b"),
         "core/big.cc": WRONG.format(name="c") + "//\n" * 100, "tests/fuzz.cc": WRONG.format(name="d")},
        joined=[["core/a.cc"], ["core/b.cc"]], alone=["core/big.cc"])
    assert paths[0] == str(tmp_path / "core/big.cc") and paths[2:] == ["tests/fuzz.cc"]
    assert included(paths[1]) == ["a.cc", "b.cc"]
    found = list(tidy.check(tree, paths, folder))
    assert [finding.path for finding in found] == ["core/a.cc", "core/b.cc", "core/big.cc", "tests/fuzz.cc"]
    assert all(finding.line == 2 and "use nullptr" in finding.message for finding in found)


def test_what_two_programs_of_a_folder_share_is_checked_once_and_each_main_apart(together):
    files = {f"core/{name}.cc": "int main() {}\n" for name in ("a", "b")}
    _, _, paths, _ = together({**files, "core/c.cc": ""}, joined=[["core/a.cc", "core/c.cc"], ["core/b.cc", "core/c.cc"]])
    assert sorted(included(path) for path in paths) == [["a.cc", "c.cc"], ["b.cc"]]


def test_sources_with_the_same_local_name_are_apart(together):
    files = {f"core/{name}.cc": "namespace {\nint f() { return 1; }\n}\n" for name in ("a", "b")}
    _, _, paths, _ = together(files, joined=[["core/a.cc"], ["core/b.cc"]])
    assert sorted(included(path) for path in paths) == [["a.cc"], ["b.cc"]]


def test_a_join_that_does_not_compile_is_checked_as_cmake_joins_it(together):
    files = {f"core/{name}.cc": "int f() { return 1; }\n" + WRONG.format(name=name) for name in ("a", "b")}
    tree, folder, paths, instead = together(files, joined=[["core/a.cc"], ["core/b.cc"]])
    assert [included(path) for path in paths] == [["a.cc", "b.cc"]]
    found = list(tidy.check(tree, paths, folder, instead=instead))
    assert [(finding.path, finding.line) for finding in found] == [("core/a.cc", 3), ("core/b.cc", 3)]


def test_flags_of_a_join_are_those_of_all_its_sources(tmp_path):
    flags = {"a": "-DA=1 -Ix", "b": "-DB -isystem y -DA=1"}
    (join,) = tidy.joins([{"file": str(write_unit(tmp_path, name)), "command": f"clang++-19 {each} -o x.o -c {tmp_path}/units/{name}.cxx"}
                          for name, each in flags.items()], tmp_path / "units")
    assert join.words == ["clang++-19", "-DA=1", "-Ix", "-DB", "-isystem", "y"]


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


def test_a_clean_main_gets_each_share_of_the_tree_within_a_few_commits(checkout):
    tree, paths = checkout({"core/a.cc": ""}), [f"core/{number}.cc" for number in range(10)]
    seen = []
    for number in range(tidy.SHARES):
        chosen, turn = tidy.share(checkout({"core/a.cc": f"// {number}\n"}), paths)
        assert turn is not None and len(chosen) <= len(paths) // tidy.SHARES + 1
        seen += chosen
    assert sorted(seen) == paths
    assert tidy.share(checkout({"core/a.cc": ""}, branch="work"), paths) == (paths, None), "a change of many files"


def test_a_change_of_no_source_needs_no_check(checkout):
    checkout({"core/a.cc": ""})
    assert tidy.to_tidy(checkout({"README.md": ""}, branch="work")) == []


def test_without_history_the_whole_tree_is_checked(tree):
    assert tidy.to_tidy(tree({"core/a.cc": ""})) is None
