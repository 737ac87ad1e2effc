"""What comments and pages cite exists: rules of the handshake in core/handshake/rules.md, and pages (.md) in the tree."""

import ast
import io
import posixpath
import re
import tokenize

from source import CPP, Finding, comments, line_of

RULES = "core/handshake/rules.md"
RULE = re.compile(r"\b[NPSLD]\d{1,2}\b")
DEFINED = re.compile(r"^(?:- |\| )\*\*([NPSLD]\d{1,2})\*\*", re.M)  # "- **P6** ..." or "| **S4** | ..."
PAGE = re.compile(r"(?<![\w./-])(?:\.\.?/)*[\w-][\w.-]*(?:/[\w.-]+)*\.md\b")
HASH = re.compile(r"(?m)(?<!\S)#.*$")


def python_texts(text):
    """(line, text) of comments and docstrings; none of a file that is not Python."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        for node in ast.walk(ast.parse(text)):
            documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            if documented and ast.get_docstring(node, clean=False):
                yield node.body[0].lineno, node.body[0].value.value
    except (SyntaxError, tokenize.TokenError):
        return  # sizes.py says so


def texts(tree, path):
    """(line, text) of what a reader reads in a file: a page whole, of programs what is said beside them."""
    text = tree.text(path)
    name = path.rsplit("/", 1)[-1]
    if path.endswith(".md"):
        yield 1, text
    elif path.endswith(CPP):
        yield from ((line_of(text, start), comment) for start, comment in comments(text))
    elif path.endswith(".py"):
        yield from python_texts(text)
    elif path.endswith((".cmake", "CMakeLists.txt", ".sh", ".yaml", ".yml")) or ("." not in name and text.startswith("#!")):
        yield from ((line_of(text, match.start()), match.group(0)) for match in HASH.finditer(text))


def resolves(tree, path, cited, pages):
    """A page is cited from the folder of the file, from the root, or by a name or end of a path that one page alone has."""
    for folder in (posixpath.dirname(path), ""):
        if posixpath.normpath(posixpath.join(folder, cited)) in pages:
            return True
    return sum(page.endswith("/" + cited) for page in pages) == 1


def check(tree):
    pages = {path for path in tree.paths if path.endswith(".md")}
    defined = set(DEFINED.findall(tree.text(RULES))) if RULES in pages else set()
    for path in tree.paths:
        for first, text in texts(tree, path):
            for match in RULE.finditer(text):
                if match.group(0) not in defined:
                    yield Finding(path, first + text.count("\n", 0, match.start()),
                                  f"rule {match.group(0)} is not defined in {RULES}; define it there as "
                                  f"'- **{match.group(0)}** ...', or cite another")
            for match in PAGE.finditer(text):
                if not resolves(tree, path, match.group(0), pages):
                    yield Finding(path, first + text.count("\n", 0, match.start()),
                                  f"no page {match.group(0)} here; cite it from the root of the tree")
