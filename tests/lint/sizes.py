"""Files of at most 600 lines (tests: 800) and functions of at most 70, as formatted by clang-format."""

import ast
import re

from source import Finding, line_of, masked, matching, room

FILE_LINES = 600
TEST_FILE_LINES = 800
FUNCTION_LINES = 70
TYPE = re.compile(r"\b(?:class|struct|union|enum)\b(?![^{}]*\))")
SCOPE = re.compile(r"\bnamespace\b|\bextern\s*\"")


def head_of(text, brace):
    """The text between the previous statement or block and an opening brace, and the offset where it starts."""
    start = max(text.rfind(char, 0, brace) for char in ";{}") + 1
    head = text[start:brace]
    stripped = re.sub(r"(?m)^\s*#.*$", lambda m: " " * len(m.group(0)), head)
    stripped = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", lambda m: " " * len(m.group(0)), stripped)
    return stripped, start + len(stripped) - len(stripped.lstrip())


def functions(text):
    """Yields (name, first line, last line) of each function defined at namespace or class scope."""
    at, length = 0, len(text)
    while at < length:
        brace = text.find("{", at)
        if brace < 0:
            return
        head, start = head_of(text, brace)
        if SCOPE.search(head) or (TYPE.search(head) and not head.rstrip().endswith(")")):
            at = brace + 1
            continue
        close = matching(text, brace)
        if "(" in head and not re.search(r"(?<![=!<>])=(?!=)\s*[\w:<>,\s]*$", head):
            # Skip braced member initialisers of a constructor.
            while re.match(r"\s*(?:,\s*[\w:<>]+\s*[({]|\{)", text[close + 1:]) and re.search(r"\)\s*:(?!:)", head):
                brace = text.find("{", close + 1)
                close = matching(text, brace)
            name = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
            yield name.group(1) if name else "function", line_of(text, start), line_of(text, close)
        at = close + 1


def check_cpp(path, text):
    for name, first, last in functions(text):
        lines = last - first + 1
        if lines > FUNCTION_LINES:
            yield Finding(path, first, f"{name} has {lines} lines, at most {FUNCTION_LINES}; extract named functions "
                                       "for its steps")


def check_python(path, text):
    try:
        nodes = ast.walk(ast.parse(text))
    except SyntaxError as error:
        yield Finding(path, error.lineno or 1, f"not valid Python: {error.msg}")
        return
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield Finding(path, node.lineno, f"{node.name} has {lines} lines, at most {FUNCTION_LINES}; "
                                                 "extract named functions for its steps")


def check(tree):
    for path in tree.paths:
        if not path.endswith((".cc", ".h", ".py")):
            continue
        text = tree.text(path)
        lines = text.count("\n") + (not text.endswith("\n"))
        limit = TEST_FILE_LINES if room(path) == "tests" else FILE_LINES
        if lines > limit:
            yield Finding(path, limit, f"{lines} lines, at most {limit}; split the file by subject")
        yield from check_python(path, text) if path.endswith(".py") else check_cpp(path, masked(text))
