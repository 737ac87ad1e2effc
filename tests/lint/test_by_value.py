"""Parameters that two compilers pass in different ways."""

import by_value
import pytest


def found(tree, text, path="core/a.h"):
    return [finding.line for finding in by_value.check(tree({path: text}))]


@pytest.mark.parametrize("text", [
    "void f(std::optional<Millis> at);",
    "void f(int a,\n       const std::optional<std::uint64_t> at = {});",
    "A(std::optional<std::int64_t> ms) : ms_(ms) {}",
    "void f(std::optional<double> share, int b);",
])
def test_an_optional_number_of_64_bits_by_value_is_found(tree, text):
    assert len(found(tree, text)) == 1


@pytest.mark.parametrize("text", [
    "void f(const std::optional<Millis>& at);",
    "void f(std::optional<bool> at);",
    "std::optional<Millis> at(int a);",
    "std::map<int, std::optional<Millis>> at(int a);",
    "struct A {\n  std::optional<Millis> at;\n};",
])
def test_others_are_not(tree, text):
    assert not found(tree, text)


def test_tests_and_sources_may_have_them(tree):
    text = "void f(std::optional<Millis> at);"
    assert not found(tree, text, "tests/unit/a.h") and not found(tree, text, "core/a.cc")
