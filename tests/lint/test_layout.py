"""The rules for READMEs and CMake lists."""

import layout

README = {f"{room}/README.md": "x\n" for room in layout.ROOMS} | {"README.md": "x\n" * 200}


def messages(tree, files):
    return [str(finding) for finding in layout.check(tree(README | files))]


def test_a_folder_with_a_readme_passes(tree):
    assert messages(tree, {"core/a.h": ""}) == []


def test_a_file_or_folder_that_the_top_level_does_not_have_is_found(tree):
    assert messages(tree, {".ci/run": "", "LICENSE": ""}) == []
    found = messages(tree, {"--help/cases.json": "{}", "notes.txt": ""})
    assert [message.split(":")[0] for message in found] == ["--help/cases.json", "notes.txt"]


def test_a_folder_without_a_readme_is_found(tree):
    (found,) = [str(f) for f in layout.check(tree({"README.md": "", "core/a.h": ""}))]
    assert found.startswith("core/README.md:1: missing")


def test_sources_are_listed_and_listed_sources_exist(tree):
    cmake = "target_sources(x PRIVATE\n  a.cc\n  sub/b.cc  # c.cc\n  ${CMAKE_SOURCE_DIR}/plugins/d.cc\n)\n"
    files = {"core/CMakeLists.txt": cmake, "core/a.cc": "", "core/sub/b.cc": "", "plugins/d.cc": ""}
    assert messages(tree, files) == []
    (found,) = messages(tree, files | {"core/c.cc": ""})
    assert found.startswith("core/c.cc:1: not listed in any CMake file")


def test_a_listed_source_that_is_gone_is_found(tree):
    (found,) = messages(tree, {"tests/unit/api.cmake": "berth_test(unit_api\n  SOURCES gone_test.cc)\n"})
    assert found.startswith("tests/unit/api.cmake:2: gone_test.cc is listed but does not exist")


def test_a_generated_source_needs_no_file(tree):
    cmake = "configure_file(a.cc.in a.cc @ONLY)\nadd_library(x ${CMAKE_CURRENT_BINARY_DIR}/a.cc)\n"
    assert messages(tree, {"storage/CMakeLists.txt": cmake}) == []
