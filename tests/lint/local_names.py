"""Names in unnamed namespaces are unique among the sources of a target in one folder: BERTH_TOGETHER compiles these as one
(cross/together.cmake). The compiler reports most duplicates, but not two functions that it takes for overloads."""

import collections
import posixpath
import re

from layout import SOURCE
from source import Finding, line_of, masked, matching

TARGET = re.compile(r"\b(?:add_executable|add_library|target_sources|berth_test)\s*\(\s*([\w-]+)([^()]*)\)")
UNNAMED = re.compile(r"^namespace \{$", re.M)
# Sources are formatted: what a namespace declares begins in the first column.
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)")
ALIAS = re.compile(r"using (\w+) = (.*);")
NAMED = re.compile(r"(?<![\w:])(\w+)(?:\[\w*\])?(?= =|[({;])")
DECLARES_NOTHING = re.compile(r"TEST\w*\(|INSTANTIATE_\w+\(|(?:using|namespace|template|static_assert|friend|extern)\b")


def groups(tree):
    """(target, folder): its sources there."""
    found = collections.defaultdict(set)
    for path in tree.paths:
        if not path.endswith("CMakeLists.txt"):
            continue
        text = re.sub(r"#.*", "", tree.text(path))
        for target, rest in TARGET.findall(text):
            for name in SOURCE.findall(rest):
                source = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
                if source in tree.paths:
                    found[target, posixpath.dirname(source)].add(source)
    return found


def declared(line):
    """The name that a line in the first column declares, and what it stands for when it is an alias; or None."""
    if alias := ALIAS.match(line):
        return alias.groups()
    if not re.match(r"[A-Za-z_\[]", line) or DECLARES_NOTHING.match(line):
        return None
    named = TYPE.match(line) or NAMED.search(re.sub(r"^\[\[\w+\]\] ?", "", line))
    return (named[1], None) if named else None


def local_names(text):
    """{name: (line, what an alias stands for)} of the unnamed namespaces of a masked source."""
    names = {}
    for start in UNNAMED.finditer(text):
        brace = start.end() - 1
        first = line_of(text, brace)
        for number, line in enumerate(text[brace:matching(text, brace)].splitlines()[1:], first + 1):
            if found := declared(line):
                names.setdefault(found[0], (number, found[1]))
    return names


def check(tree):
    for sources in groups(tree).values():
        first = {}
        for path in sorted(sources):
            for name, (line, alias) in local_names(masked(tree.text(path))).items():
                other, same = first.setdefault(name, (path, alias))
                if other == path or (alias is not None and alias == same):
                    continue
                yield Finding(path, line, f"{name} is in the unnamed namespace of {other} too, and BERTH_TOGETHER compiles both "
                                          "as one; declare it once in a header that both include, or rename one of them")
