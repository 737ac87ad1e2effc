"""The lengths of files and functions are measured correctly."""

import sizes


def lines(count, text="  x = 1;\n"):
    return text * count


def messages(tree, path, text):
    return [str(finding) for finding in sizes.check(tree({path: text}))]


def test_a_long_file_is_found_and_a_test_may_be_longer(tree):
    assert any("601 lines, at most 600" in m for m in messages(tree, "core/a.h", lines(601, "\n")))
    assert messages(tree, "core/a.h", lines(600, "\n")) == []
    assert messages(tree, "tests/unit/a_test.cc", lines(800, "\n")) == []
    assert any("at most 800" in m for m in messages(tree, "tests/unit/a_test.cc", lines(801, "\n")))


def test_a_function_of_71_lines_is_found_and_one_of_70_is_not(tree):
    assert messages(tree, "core/a.cc", "void f() {\n" + lines(68) + "}\n") == []
    (found,) = messages(tree, "core/a.cc", "namespace berth {\n\nvoid A::f(int x) const {\n" + lines(69) + "}\n}\n")
    assert found.startswith("core/a.cc:3: A::f has 71 lines")


def test_a_functions_length_includes_its_head(tree):
    head = "A::A(int x)\n    : x_{x},\n      y_(2),\n      z_{3} {\n"
    (found,) = messages(tree, "core/a.cc", head + lines(66) + "}\n")
    assert "A::A has 71 lines" in found


def test_members_and_templates_and_lambdas_are_measured(tree):
    method = "class A {\n public:\n  int f() {\n" + lines(70) + "  }\n};\n"
    assert "f has 72 lines" in messages(tree, "core/a.h", method)[0]
    template = "template <class T>\nstd::vector<T> g(const T& t) noexcept {\n" + lines(70) + "}\n"
    assert "g has 73 lines" in messages(tree, "core/b.h", template)[-1]
    inner = "void h() {\n  auto l = [&](int y) {\n" + lines(70) + "  };\n}\n"
    assert "h has 74 lines" in messages(tree, "core/c.cc", inner)[-1]


def test_tables_classes_and_short_functions_in_a_row_are_not_functions(tree):
    table = "constexpr int kTable[] = {\n" + lines(100, "    {1, f(2)},\n") + "};\n"
    row = lines(90, "void f() { g(); }\n")
    strings = 'const char* kText = R"({\n' + lines(90) + ')";\n'
    type_ = "struct A {\n" + lines(90, "  int x = f();\n") + "};\n"
    for text in (table, row, strings, type_):
        assert messages(tree, "core/a.cc", text) == []


def test_python_functions_are_measured_too(tree):
    (found,) = messages(tree, "tests/a.py", "def f():\n" + lines(70, "    x = 1\n"))
    assert "f has 71 lines" in found
