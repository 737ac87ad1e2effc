"""What changes something in core has a caller outside of tests."""

import callers
import pytest

HEADER = "namespace berth {\n\nclass A {\n public:\n%s\n private:\n  void hidden();\n};\n\n}  // namespace berth\n"
ROOMS = "```rooms\nlow\nhigh -> low\nother\n```\n"


def found(tree, members, **files):
    named = {f"core/{name.replace('_', '/')}.cc": text for name, text in files.items()}
    checkout = tree({"core/README.md": ROOMS, "core/low/a.h": HEADER % members, **named})
    return list(callers.check(checkout))


def test_a_function_that_only_tests_call_is_found(tree):
    (finding,) = found(tree, "  void put(int x);", low_a="void A::put(int x) { x_ = x; }\n")
    assert (finding.path, finding.line) == ("core/low/a.h", 5)
    assert finding.message.startswith("A::put() changes something, and nothing but tests calls it")
    checkout = tree({"tests/unit/a_test.cc": "void f(A& a) { a.put(1); }\n"})
    assert len(list(callers.check(checkout))) == 1


@pytest.mark.parametrize("call", ["a.put(1);", "a_->put(1);", "return put(1);", "if (put(1)) {}", "bind(&A::put);", "!put(1);",
                                  "co_await put(1);", "x = put(1);"])
def test_a_call_is_seen_in_every_form(tree, call):
    assert found(tree, "  bool put(int x);", high_b=f"void f() {{ {call} }}\n") == []


@pytest.mark.parametrize("text", ["void A::put(int x) {}", "Status put(int x);", "std::vector<int> put(int x);", "int& put(int x);",
                                  '// a.put(1)\nstd::string s = "put(1)";'])
def test_a_declaration_a_definition_or_a_comment_is_no_call(tree, text):
    assert len(found(tree, "  bool put(int x);", high_b=text + "\n")) == 1


def test_a_call_in_a_room_that_cannot_know_the_class_does_not_count(tree):
    assert len(found(tree, "  void put(int x);", other_b="void f(B& b) { b.put(1); }\n")) == 1
    assert list(callers.check(tree({"firmware-host/main.cc": "void f(A& a) { a.put(1); }\n"}))) == []


@pytest.mark.parametrize("members", ["  int size() const;", "  std::map<int, F(int)> all() const { return all_; }",
                                     "  explicit A(int x) : x_{x}, y_(1) {}\n  ~A();", "  static A make(int x);",
                                     "  virtual void put(int x) = 0;", "  void put(int x) override;",
                                     "  A& operator=(const A&) = delete;"])
def test_what_observes_makes_or_overrides_needs_no_caller(tree, members):
    assert found(tree, members) == []


def test_private_functions_are_left_to_the_compiler_and_structs_are_public(tree):
    assert found(tree, "  int x = 0;") == []
    checkout = tree({"core/low/a.h": "struct A {\n  void put(int x) { x_ = x; }\n};\n"})
    (finding,) = callers.check(checkout)
    assert finding.line == 2
