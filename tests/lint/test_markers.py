"""Markers and machine-specific paths. They are split here so that this file passes the rule."""

import markers
import pytest

TO_DO = "TO" + "DO"
HOME = "/ho" + "me/"


@pytest.mark.parametrize("text", [f"// {TO_DO}: later", "# FIX" + "ME", "// not " + "implemented", f"x = '{HOME}ann/x'",
                                  "cd /ro" + "ot/.cache"])
def test_rejects(tree, text):
    (finding,) = markers.check(tree({"core/a.cc": "\n" + text}))
    assert finding.line == 2


@pytest.mark.parametrize("text", ["// today", "a/root/b", "HOME=/root", f"HOME={HOME}pi", "$ROOT/root", "https://example.org" + HOME + "x", "/tmp/x"])
def test_accepts(tree, text):
    assert list(markers.check(tree({"core/a.cc": text}))) == []


def test_the_folder_of_this_checkout_is_found(tree):
    made = tree({"core/a.cc": "x"})
    (made.root / "core/a.cc").write_text(f'open("{made.root}/core");', encoding="utf-8")
    assert len(list(markers.check(made))) == 1
