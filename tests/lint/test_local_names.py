"""Names in unnamed namespaces, which BERTH_TOGETHER lets sources share."""

import local_names


def source(inside):
    return f"namespace berth {{\nnamespace {{\n\n{inside}\n}}  // namespace\n}}  // namespace berth\n"


LIBRARY = "add_library(berth_x STATIC a.cc b.cc)\n"


def names_found(tree, a, b, lists=LIBRARY):
    checkout = tree({"core/x/CMakeLists.txt": lists, "core/x/a.cc": source(a), "core/x/b.cc": source(b)})
    return list(local_names.check(checkout))


def test_a_name_that_two_sources_of_a_target_declare_is_found_with_both_files(tree):
    (finding,) = names_found(tree, "int count(int x) { return x; }\n", "\nlong count(long x) { return x; }\n")
    assert finding.path == "core/x/b.cc" and finding.line == 5
    assert "count is in the unnamed namespace of core/x/a.cc too" in finding.message and "rename one" in finding.message


def test_types_and_constants_and_templates_count(tree):
    a = "struct Trial {\n};\nconstexpr int kPage = 3;\ntemplate <class T>\nT made_of(int x) {\n  return x;\n}\n"
    b = "class Trial {\n};\nconstexpr const char* kPage[] = {};\nstd::string made_of() {\n}\n"
    assert {finding.message.split()[0] for finding in names_found(tree, a, b)} == {"Trial", "kPage", "made_of"}


def test_what_lies_in_functions_methods_and_named_namespaces_does_not_count(tree):
    a = "int f() {\n  int same = 1;\n}\nint A::shown() {\n}\n}\nint outside() {\n}\nnamespace {\n"
    b = "int g() {\n  int same = 1;\n}\nint B::shown() {\n}\n}\nint outside(int) {\n}\nnamespace {\n"
    assert names_found(tree, a, b) == []


def test_the_same_alias_may_be_repeated_and_another_may_not(tree):
    same = "using Texts = std::vector<std::string>;\nnamespace fs = std::filesystem;\n"
    assert names_found(tree, same, same) == []
    (finding,) = names_found(tree, same, "using Texts = std::set<std::string>;\n")
    assert finding.message.startswith("Texts ")


def test_sources_of_different_targets_may_share_names(tree):
    lists = "berth_test(unit_a SOURCES a.cc LIBS x)\nberth_test(unit_b\n  SOURCES\n    b.cc\n  LIBS x)\n"
    assert names_found(tree, "int f() {\n}\n", "int f() {\n}\n", lists) == []
