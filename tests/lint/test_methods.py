"""Member functions are counted as a reader would count them."""

import methods
import pytest

BODIES = [
    ("int f();", 1),
    ("A();\n~A() override;\nA(const A&) = delete;\nA& operator=(const A&) = delete;", 4),
    ("explicit A(int x) : x_{x}, y_(2), z_{3} { g(); }\nvoid f() {}", 2),
    ("A() : x_(f()) {}\nA(int x) : A() { x_ = x; }", 2),
    ("bool operator==(const A&) const = default;\noperator bool() const;\nint operator()(int x);\nint& operator[](int);", 4),
    ("auto operator<=>(const A&) const = default;\nbool operator<(const A& o) const { return x_ < o.x_; }", 2),
    ("template <class T>\nvoid put(T t);\ntemplate <class T, int N = 3>\nstd::map<T, int> g(std::array<T, N>& a) {}", 2),
    ("virtual void f(std::function<void(int)> call = {}) = 0;\n[[nodiscard]] bool g() const noexcept;", 2),
    ("auto f() -> std::vector<int> { return {1}; }\nexplicit(true) A(int);\nvoid g() requires(true);", 3),
    ("std::function<void(int)> call_;\nvoid (*hook_)(int) = nullptr;\nint x_ = f();\nint y_{f(2)};\nint z_[3] = {1};", 0),
    ("using F = void(int);\ntypedef int G(int);\nfriend bool operator<(A, A);\nfriend class B;\nstatic_assert(f());", 0),
    ("friend A operator+(A a, A b) { return a; }\nenum class E { one, two };\nalignas(8) int x_;", 0),
    ("struct B {\n  int f();\n  int g() { return 1; }\n};\nclass C;\nstruct D : B { D(); } d_;\nint f();", 1),
    ("public:\n  int f();\nprivate:\n#define X(a) a\n  int g();", 2),
]


def messages(tree, path, text):
    return [str(finding) for finding in methods.check(tree({path: text}))]


@pytest.mark.parametrize("body, count", BODIES)
def test_counts(body, count):
    assert methods.count_methods("\n" + body + "\n") == count


def test_a_class_of_41_methods_is_found_and_one_of_40_is_not(tree):
    text = "namespace berth {\n\nclass A final : public B<int>, C {\n public:\n" + "  void f(int x);\n" * 40
    assert messages(tree, "core/a.h", text + "};\n}\n") == []
    (found,) = messages(tree, "core/a.h", text + "  A();\n};\n}\n")
    assert found.startswith("core/a.h:3: A has 41 member functions, at most 40")


def test_methods_of_a_nested_type_count_to_it(tree):
    inner = "  struct Inner {\n" + "    int f();\n" * 30 + "  };\n"
    assert messages(tree, "core/a.h", "class A {\n" + inner + "  int f();\n" * 30 + "};\n") == []
    inner = "  struct Inner {\n" + "    int f();\n" * 41 + "  };\n"
    (found,) = messages(tree, "core/a.h", "class A {\n" + inner + "};\n")
    assert found.startswith("core/a.h:2: Inner has 41")


def test_calls_in_bodies_functions_and_tests_do_not_count(tree):
    body = "struct A {\n  void f() {\n" + "    g(1);\n" * 50 + "  }\n};\n"
    functions = "template <class T>\nvoid f(T t) {\n" + "  int x(3);\n" * 50 + "}\n"
    assert messages(tree, "core/a.cc", body + functions) == []
    assert messages(tree, "tests/unit/a.h", "struct A {\n" + "  void f();\n" * 60 + "};\n") == []
