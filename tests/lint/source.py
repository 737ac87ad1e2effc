"""The source tree for the lint rules: its files, and C++ text without comments and literals."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOMS = ("core", "plugins", "storage", "transports", "firmware-host", "cross", "tests")
CPP = (".cc", ".h")


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def git(root, *arguments):
    """Output of a git command; None if it fails. Ignores who owns the checkout (safe.directory)."""
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), *arguments], capture_output=True,
                          text=True, check=False)
    return done.stdout if done.returncode == 0 else None


class Tree:
    """The files of a checkout by path from its root: tracked and untracked but not ignored; without git, all files."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        listed = None
        if (self.root / ".git").exists():
            listed = git(self.root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
        if listed is not None:
            names = [name for name in listed.split("\0") if name and (self.root / name).is_file()]
        else:
            names = []
            for folder, folders, files in os.walk(self.root):
                folders[:] = [f for f in folders if f not in (".git", "build", "__pycache__")]
                names += [os.path.relpath(os.path.join(folder, f), self.root) for f in files]
        self.paths = sorted(set(names))
        self.text_ = {}

    def text(self, path):
        if path not in self.text_:
            self.text_[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self.text_[path]

    def cpp(self):
        return [path for path in self.paths if path.endswith(CPP)]


def room(path):
    return path.split("/", 1)[0] if "/" in path else ""


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


_LITERAL = re.compile(
    r'//[^\n]*'
    r'|/\*.*?\*/'
    r'|(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.S)


def masked(text, keep_includes=False):
    """The C++ text with comments and the contents of literals replaced by blanks; offsets and lines stay the same."""

    def blank(match):
        found = match.group(0)
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        if keep_includes and re.search(r"#\s*include\s*$", text[text.rfind("\n", 0, match.start()) + 1:match.start()]):
            return found
        quote = "'" if found[0] == "'" else '"'
        return quote + re.sub(r"[^\n]", " ", found[1:-1]) + quote

    return _LITERAL.sub(blank, text)


def spoken(text):
    """C++ text of the same length and lines: comments and string literals stand, code and includes are blank."""
    kept, at = [], 0
    for match in _LITERAL.finditer(text):
        start = match.start()
        line = text[text.rfind("\n", 0, start) + 1:start]
        if match.group(0).startswith("'") or re.match(r"\s*#\s*include\b", line):
            continue
        kept += [re.sub(r"[^\n]", " ", text[at:start]), match.group(0)]
        at = match.end()
    return "".join(kept) + re.sub(r"[^\n]", " ", text[at:])


def comments(text):
    """(offset, comment) of each comment in C++ text, a // line or a /* block */."""
    for match in _LITERAL.finditer(text):
        if match.group(0).startswith("/"):
            yield match.start(), match.group(0)


_CLOSE = {"(": ")", "[": "]", "{": "}"}


def matching(text, offset):
    """Offset of the bracket that closes the one at offset, in masked text; the end of the text if there is none."""
    stack = []
    for at in range(offset, len(text)):
        char = text[at]
        if char in _CLOSE:
            stack.append(_CLOSE[char])
        elif stack and char == stack[-1]:
            stack.pop()
            if not stack:
                return at
    return len(text) - 1
