"""The recorded cases are unpacked whole, and another folder only adds to them."""

import json
import lzma
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import recorded  # noqa: E402


def pack(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(lzma.compress(text.encode()))
    return folder


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def texts(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_another_folder_adds_what_ours_has_not(tmp_path):
    ours = pack(tmp_path / "ours", {"a/one.json.xz": "[1]", "a/two.json.xz": "[2]"})
    more = write(tmp_path / "more", {"x/one.json": "[1]", "x/renamed.json": "[2]", "a/two.json": "[2, 3]", "new.json": "[4]",
                                     "README.md": "no family"})
    assert recorded.gather(tmp_path / "to", ours, [more]) == (2, 2)
    assert texts(tmp_path / "to") == {"a/one.json": "[1]", "a/two.json": "[2]", "added/a/two.json": "[2, 3]",
                                      "added/new.json": "[4]"}


def test_what_an_earlier_run_left_is_not_replayed(tmp_path):
    ours = pack(tmp_path / "ours", {"one.json.xz": "[1]"})
    more = write(tmp_path / "more", {"new.json": "[4]"})
    recorded.gather(tmp_path / "to", ours, [more])
    assert recorded.gather(tmp_path / "to", ours) == (1, 0)
    assert texts(tmp_path / "to") == {"one.json": "[1]"}


def test_a_named_folder_must_exist(tmp_path):
    assert recorded.more_folders({"BERTH_CONFORMANCE": str(tmp_path)}) == [tmp_path]
    with pytest.raises(SystemExit, match="is no folder"):
        recorded.more_folders({"BERTH_CONFORMANCE": str(tmp_path / "none")})


def test_every_family_of_this_repository_holds_cases(tmp_path):
    families, added = recorded.gather(tmp_path / "to")
    committed = list((ROOT / "tests" / "conformance" / "cases").rglob("*.json.xz"))
    assert committed and (families, added) == (len(committed), 0)
    for path in (tmp_path / "to").rglob("*.json"):
        cases = json.loads(path.read_text())
        assert cases and all(case["name"] for case in cases), path


@pytest.mark.parametrize("arguments", [["--help"], [], ["a", "b", "c"]])
def test_an_option_or_a_wrong_number_of_arguments_is_told_the_usage_and_makes_no_folder(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="recorded.py FOLDER"):
        recorded.main(arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_not_emptied(tmp_path):
    write(tmp_path / "home", {"letters/first.txt": "dear", "a.json": "{}"})
    with pytest.raises(SystemExit, match="would be emptied"):
        recorded.main([str(tmp_path / "home")])
    assert texts(tmp_path / "home") == {"letters/first.txt": "dear", "a.json": "{}"}
