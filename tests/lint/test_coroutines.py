"""Expressions that GCC 12 miscompiles are rejected, and the alternatives to them are accepted."""

import coroutines
import pytest

REJECTED = [
    ("auto x = b ? co_await f() : y;", "?:"),
    ("auto x = b ? y : co_await f();", "?:"),
    ("b ? co_await f() : co_await g();", "?:"),
    ("auto x = co_await f() ? y : z;", "?:"),
    ("auto x = 1 + co_await f();", "larger expression"),
    ("auto x = co_await f() + 1;", "larger expression"),
    ("auto x = (co_await f()).value;", "larger expression"),
    ("g(co_await f());", "larger expression"),
    ("g(1, co_await f());", "larger expression"),
    ("co_await g(co_await f());", "larger expression"),
    ("if (co_await f()) g();", "larger expression"),
    ("while (!co_await f()) g();", "larger expression"),
    ("if (x && co_await f()) g();", "larger expression"),
    ("auto x = y == co_await f();", "larger expression"),
    ("x += co_await f();", "larger expression"),
    ("for (auto x : co_await f()) g();", "larger expression"),
    ("Status s{co_await f()};", "larger expression"),
    ("co_return co_await f() || y;", "larger expression"),
    ("co_await f(Request{1, 2});", "braced temporary"),
    ("co_await f(Request{.a = 1});", "braced temporary"),
    ("co_await f({1, 2});", "braced temporary"),
    ("auto x = co_await node->f(a, Request{});", "braced temporary"),
    ("co_await f(x, std::pair<int, int>{1, 2});", "braced temporary"),
    ("try { g(); } catch (const E& e) { co_await f(); }", "inside catch"),
    ("auto l = [this]() -> awaitable<void> { co_await f(); };", "lambda coroutine may outlive its captures"),
    ("spawn([&, x](int y) { co_return; });", "lambda coroutine may outlive its captures"),
]

ACCEPTED = [
    "co_await f();",
    "co_await x.y(1, 2)->z<int>(3);",
    "if (b) co_await f();\nelse co_await g();",
    "if (b) { x = co_await f(); } else { x = co_await g(); }",
    "auto x = co_await f(std::move(request));",
    "const Status s = co_await timer.wait(y ? 1 : 2);",
    "auto [a, b] = co_await f();",
    "if (Status s = co_await f(); !s.ok()) co_return;",
    "co_return co_await f();",
    "for (;;) co_await f();",
    "switch (x) { case 1: co_await f(); break; default: co_await g(); }",
    "(void)co_await f();",
    "try { co_await f(); } catch (const E& e) { failed = true; }\nif (failed) co_await g();",
    "auto l = [](Queue queue) -> awaitable<void> { co_await queue.pop(); };",
    "auto l = [this] { return g(); };\nco_await f();",
    "items[co.index()] = 1; // co_await b ? x : y",
    "co_await asio::async_write(socket, buffer, asio::use_awaitable);",
]


def body(statement):
    return "awaitable<void> run() {\n  " + statement + "\n}\n"


@pytest.mark.parametrize("statement, expected", REJECTED)
def test_rejects(tree, statement, expected):
    messages = [finding.message for finding in coroutines.check(tree({"core/a.cc": body(statement)}))]
    assert any(expected in message for message in messages), messages


@pytest.mark.parametrize("statement", ACCEPTED)
def test_accepts(tree, statement):
    assert list(coroutines.check(tree({"core/a.cc": body(statement)}))) == []


@pytest.mark.parametrize("returned", ["awaitable<void>", "asio::awaitable<std::pair<int, int>>", "Task"])
def test_a_braced_temporary_is_found_in_every_call_of_a_known_coroutine(tree, returned):
    files = {"core/a.h": f"{returned} binding_cycle(Reservation r);\n",
             "core/a.cc": "void f() { spawn(binding_cycle(Reservation{1})); }\nvoid g() { plain(Reservation{1}); }\n"}
    (finding,) = coroutines.check(tree(files))
    assert (finding.path, finding.line) == ("core/a.cc", 1)
