"""Sources that compile only together with others, on a real small checkout."""

import json

import pytest
import separate

NEEDS = "std::string name() { return {}; }\n"


@pytest.fixture(autouse=True)
def no_base(monkeypatch):
    monkeypatch.delenv("BERTH_BASE", raising=False)


@pytest.fixture
def build(tmp_path):
    """build([path, ...]): a build folder whose compile commands name these files."""
    def make(paths):
        folder = tmp_path / "build"
        folder.mkdir(exist_ok=True)
        entries = [{"directory": str(tmp_path), "file": str(tmp_path / path),
                    "command": f"c++ -g1 -Wall -Werror -std=c++2b -o {path}.o -c {tmp_path / path}"} for path in paths]
        (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
        return folder

    return make


def test_a_source_that_lives_on_what_another_includes_is_told(checkout, build, tmp_path):
    tree = checkout({"core/a.cc": "#include <string>\n" + NEEDS, "core/b.cc": NEEDS})
    (finding,) = separate.check(tree, ["core/a.cc", "core/b.cc"], build(["core/a.cc", "core/b.cc"]))
    assert finding.path == "core/b.cc" and finding.line == 1 and "std" in finding.message
    assert not list((tmp_path / "core").glob("*.o"))


def test_a_warning_is_told_and_what_no_build_compiles_is_left_out(checkout, build):
    tree = checkout({"core/a.cc": "int f(int a) {\n  if (a = 1) return a;\n  return 2;\n}\n", "tests/fuzz/a.cc": NEEDS})
    (finding,) = separate.check(tree, ["core/a.cc", "tests/fuzz/a.cc"], build(["core/a.cc"]))
    assert finding.path == "core/a.cc" and finding.line == 2 and "parentheses" in finding.message


def test_a_clean_main_compiles_what_its_last_commits_changed_latest_first(checkout):
    root = checkout({"core/old.cc": "", "core/gone.cc": "", "core/a.h": ""}).root
    (root / "core/gone.cc").unlink()
    assert separate.sources(checkout({"core/new.cc": ""})) == ["core/new.cc", "core/old.cc"]
    tree = checkout({f"core/{number}.cc": "" for number in range(separate.AT_MOST)} | {"core/old.cc": "//\n"})
    assert len(separate.sources(tree)) == separate.AT_MOST and "core/new.cc" not in separate.sources(tree)
    assert len(separate.sources(tree, everything=True)) == separate.AT_MOST + 2


def test_a_branch_compiles_what_it_changed(checkout):
    checkout({"core/old.cc": ""})
    assert separate.sources(checkout({"core/new.cc": ""}, branch="work")) == ["core/new.cc"]
