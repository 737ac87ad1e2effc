"""Rules and pages that are cited. The rules of these small trees are N1 and S4."""

import citations
import pytest

RULES = "# Rules\n\n- **N1** who speaks\n\n| **S4** | one place |\n"


def found(tree, files):
    pages = {citations.RULES: RULES, "README.md": "", "core/README.md": "", "plugins/volumes.md": ""}
    return [(finding.path, finding.line, finding.message.split(";")[0]) for finding in citations.check(tree({**pages, **files}))]


@pytest.mark.parametrize("path, text", [
    ("core/a.cc", "\n// By N2 it stays.\n"),
    ("core/a.h", "\n/* N1,\n N2 */"),
    ("tests/a.py", "\n# N2: see there\n"),
    ("tests/a.py", '"""One.\n\nBy N1-N2.\n"""\n'),
    ("core/b/README.md", "a\nb (N2)\n"),
    ("tests/CMakeLists.txt", "\nadd_test(NAME x)  # N2\n"),
])
def test_a_rule_that_no_page_defines(tree, path, text):
    ((where, line, message),) = found(tree, {path: text})
    assert where == path and line >= 2
    assert message == f"rule N2 is not defined in {citations.RULES}"


@pytest.mark.parametrize("path, text", [
    ("core/a.cc", '// N1, S4: (N1-S4).\nconst char* kN2 = "N2"; int S9 = 0;  // P8p xN2 N2x N234 p99\n'),
    ("tests/a.py", 'RULE = "N2"\n'),
    ("tests/a.txt", "N2"),
])
def test_what_is_defined_or_cites_nothing(tree, path, text):
    assert found(tree, {path: text}) == []


def test_a_rule_is_defined_by_its_own_entry_only(tree):
    page = RULES + "\nText **S5** in a line, and S6.\n"
    assert {message for _, _, message in found(tree, {citations.RULES: page})} == {
        f"rule S5 is not defined in {citations.RULES}", f"rule S6 is not defined in {citations.RULES}"}


@pytest.mark.parametrize("cited", ["gone.md", "core/gone.md", "../rules.md", "core/handshake/README.md", "volumes/rules.md"])
def test_a_page_that_is_not_here(tree, cited):
    ((path, line, message),) = found(tree, {"plugins/b/a.cc": f"int a;\n// See {cited}.\n"})
    assert (path, line, message) == ("plugins/b/a.cc", 2, f"no page {cited} here")


@pytest.mark.parametrize("cited", ["rules.md", "core/handshake/rules.md", "handshake/rules.md", "../../core/README.md", "README.md",
                                   "volumes.md", "https://example.org/gone.md", "*.md", "/usr/share/gone.md"])
def test_a_page_that_is_here_or_not_ours(tree, cited):
    assert found(tree, {"plugins/b/README.md": f"See `{cited}`, [it]({cited}).\n"}) == []


def test_a_name_that_two_pages_have_is_no_citation(tree):
    assert found(tree, {"a/one.md": "", "b/one.md": "", "c/x.md": "one.md", "a/y.md": "one.md"}) == [
        ("c/x.md", 1, "no page one.md here")]
