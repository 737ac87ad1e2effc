"""Finds uses of coroutines that GCC 12 miscompiles (double free, use after free), or that can hide such a use.

A co_await must be a statement of its own, a whole initialiser or assignment, or the whole operand of a co_return.
"""

import re

from source import Finding, line_of, masked, matching

AWAIT = re.compile(r"\bco_await\b")
SUSPENDS = re.compile(r"\bco_(?:await|yield|return)\b")
RETURNS_TASK = re.compile(r"\b(?:asio::)?(?:awaitable|Task|task)(?:\s*<[^;{}()]*>)?\s+(?:\w+::)*(\w+)\s*\(")
CATCH = re.compile(r"\bcatch\s*\(")
TERNARY = "GCC 12 miscompiles co_await inside ?:; write if/else with one co_await statement in each branch"
LARGER = "co_await inside a larger expression; write 'auto x = co_await ...;' and use x"
BRACED = ("GCC 12 frees a braced temporary passed to a coroutine twice; use a named variable: "
          "'T request{...}; co_await f(std::move(request));'")
IN_CATCH = "co_await inside catch is not allowed; save the error, leave the handler, then co_await"
CAPTURE = "a lambda coroutine may outlive its captures; pass values as parameters instead"


def statement_start(text, offset):
    """Offset behind the last ; { or } before offset, skipping bracketed pairs."""
    depth = 0
    for at in range(offset - 1, -1, -1):
        char = text[at]
        if char in ")]":
            depth += 1
        elif char in "([":
            if depth == 0:
                return at + 1
            depth -= 1
        elif char in ";{}" and depth == 0:
            return at + 1
    return 0


def opener(text, close):
    depth = 0
    for at in range(close, -1, -1):
        if text[at] == ")":
            depth += 1
        elif text[at] == "(":
            depth -= 1
            if depth == 0:
                return at
    return 0


def bad_before(text, offset):
    """The complaint if the text before a co_await makes it part of a larger expression; else None."""
    head = text[statement_start(text, offset):offset]
    if "?" in head:
        return TERNARY
    before = text[:offset].rstrip()
    if not before or before[-1] in ";{}:":
        return None
    if before[-1] == "=":
        return LARGER if len(before) > 1 and before[-2] in "=!<>+-*/%&|^" else None
    if before[-1] == ")":
        start = opener(before, len(before) - 1)
        word = re.search(r"(\w*)\s*$", before[:start]).group(1)
        if word in ("if", "for", "while", "switch", "constexpr") or before[start:] == "(void)":
            return None
        return LARGER
    word = re.search(r"(\w+)$", before)
    return None if word and word.group(1) in ("co_return", "else", "do") else LARGER


def operand_end(text, offset):
    """Offset behind the operand of a co_await: a name with calls, subscripts and template arguments."""
    at = offset
    while at < len(text):
        char = text[at]
        if char in "([{":
            at = matching(text, at) + 1
        elif char == "<":
            angle = re.match(r"<[\w\s:,*&<>]*>(?=\s*[({:])", text[at:])
            if not angle:
                return at
            at += angle.end()
        elif text.startswith("->", at):
            at += 2
        elif char.isalnum() or char in "_.: \t\n\"'" or (char in "*&" and not text[offset:at].strip()):
            if char == ":" and text[at:at + 2] != "::" and text[at - 1] != ":":
                return at
            at += 1
        else:
            return at
    return at


def braced_argument(text, start, end):
    """Offset of a braced temporary that is an argument of a call between start and end; or None. Ignores lambdas."""
    for match in re.finditer(r"[(,]\s*(?:[\w:]+(?:<[\w\s:,*&<>]*>)?\s*)?\{", text[start:end]):
        return start + match.start() + 1
    return None


def lambdas(text):
    """Yields (offset, captures, body start, body end) of each lambda."""
    for match in re.finditer(r"\[", text):
        start = match.start()
        before = text[:start].rstrip()
        if text[start + 1:start + 2] == "[" or before.endswith("["):
            continue
        word = re.search(r"(\w+)$", before)
        if before[-1:] in ("]", ")") or (word and word.group(1) not in ("return", "co_return", "co_await", "co_yield")):
            continue
        close = matching(text, start)
        rest = re.match(r"\s*(\()?", text[close + 1:])
        at = close + 1 + rest.end()
        if rest.group(1):
            at = matching(text, at - 1) + 1
        body = re.match(r"[\w\s:<>,&*\->()]*?\{", text[at:])
        if body:
            open_ = at + body.end() - 1
            yield start, text[start + 1:close].strip(), open_, matching(text, open_)


def check_text(path, text, coroutine_names):
    spans = list(lambdas(text))
    for match in AWAIT.finditer(text):
        line = line_of(text, match.start())
        why = bad_before(text, match.start())
        end = operand_end(text, match.end())
        if not why and text[end:end + 1] != ";":
            why = TERNARY if text[end:end + 1] == "?" else LARGER
        if why:
            yield Finding(path, line, why)
        at = braced_argument(text, match.end(), end)
        if at is not None:
            yield Finding(path, line_of(text, at), BRACED)
    if coroutine_names:
        for match in re.finditer(r"\b(?:" + "|".join(sorted(coroutine_names)) + r")\s*\(", text):
            if re.search(r"co_await[\w\s:.>-]*$", text[:match.start()]):
                continue  # checked above
            at = braced_argument(text, match.end() - 1, matching(text, match.end() - 1))
            if at is not None:
                yield Finding(path, line_of(text, at), BRACED)
    for match in CATCH.finditer(text):
        open_ = text.find("{", matching(text, match.end() - 1))
        found = AWAIT.search(text, open_, matching(text, open_))
        if found:
            yield Finding(path, line_of(text, found.start()), IN_CATCH)
    for start, captures, open_, close in spans:
        inner = [(o, c) for _, _, o, c in spans if open_ < o and c < close]
        own = [m for m in SUSPENDS.finditer(text, open_, close) if not any(o < m.start() < c for o, c in inner)]
        if captures and own:
            yield Finding(path, line_of(text, start), CAPTURE)


def check(tree):
    texts = {path: masked(tree.text(path)) for path in tree.cpp()}
    names = {name for text in texts.values() for name in RETURNS_TASK.findall(text)}
    for path, text in texts.items():
        yield from check_text(path, text, names)
