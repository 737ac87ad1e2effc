"""clang-format, on a small real checkout."""

import style


def test_a_misformatted_file_is_named_with_the_command_that_fixes_it(checkout):
    tree = checkout({"core/a.cc": "int  x;\n", "core/b.cc": "int y;\n"})
    (finding,) = style.check_format(tree)
    assert finding.path == "core/a.cc" and "clang-format-19 -i core/a.cc" in finding.message
