"""No result of a call that writes is ignored in firmware-host and storage: a failed write is tried again, or told.

Found are system calls whose result nobody takes, or a variable called `ignored` or `unused` takes; functions of
std::filesystem that change something and leave their error in such a variable; and streams that write as a temporary, so that
nobody can ask them whether they could. Our own functions are [[nodiscard]]. Deleting is not writing.
"""

import re

from source import Finding, line_of, masked, matching, room

CALLS = ("write|pwrite|writev|fsync|fdatasync|syncfs|rename|renameat|renameat2|ftruncate|truncate|fallocate|posix_fallocate|"
         "link|linkat|symlink|mkdir|mkdirat|chmod|fchmod|chown|fchown|fwrite|fflush")
QUALIFIED = rf"(?:::|std::)?\b(?P<name>{CALLS})\s*\("
STATEMENT = re.compile(rf"(?:^|[;{{}})]|\belse\b)\s*(?:\(\s*void\s*\)\s*|static_cast<void>\(\s*)?{QUALIFIED}")
UNUSED = re.compile(rf"\b(?:ignored|unused)\s*=\s*{QUALIFIED}")
CHANGES = re.compile(r"\b(?:fs|filesystem)::(?P<name>rename|copy|copy_file|resize_file|permissions|create_director\w+|"
                     r"create_symlink|create_hard_link)\s*\(")
STREAM = re.compile(r"(?:^|[;{}])\s*(?P<name>std::ofstream)\s*[({]")


def own_functions(text):
    """Names that a file gives to functions of its own which return nothing."""
    return set(re.findall(r"\bvoid\s+(\w+)\s*\(", text))


def ignored_in(text):
    """(offset, name) of each call in masked C++ text whose result is ignored."""
    own = own_functions(text)
    for pattern in (STATEMENT, UNUSED):
        for found in pattern.finditer(text):
            if found["name"] not in own and not has_taker(text, found):
                yield found.start("name"), found["name"]
    for found in CHANGES.finditer(text):
        arguments = text[found.end():matching(text, found.end() - 1)]
        if re.search(r"\b(?:ignored|unused)\s*$", arguments):
            yield found.start("name"), found["name"]
    for found in STREAM.finditer(text):
        yield found.start("name"), found["name"]


def has_taker(text, found):
    """Whether a call at the start of a statement is compared or joined with something after it: `rename(a, b) == 0 || ...`."""
    close = matching(text, text.index("(", found.start("name")))
    return not re.match(r"\s*\)?\s*;", text[close + 1:close + 40])


def check(tree):
    for path in tree.cpp():
        if room(path) not in ("firmware-host", "storage"):
            continue
        text = masked(tree.text(path))
        for offset, name in ignored_in(text):
            yield Finding(path, line_of(text, offset),
                          f"the result of {name} is ignored: try again, pass the error on, or log it")
