#!/usr/bin/python3
"""cross/local_names.py TARGETS FOREIGN GROUPS: makes sources that use the same names in their unnamed namespaces fit into few
translation units (see together.cmake). Each line of TARGETS is "TARGET;HEADER;SOURCE;...". Writes every HEADER: a macro for
each name that several of the target's sources use, which gives it another spelling in every source; and GROUPS, CMake's
commands that tell which sources are compiled together. Two sources are kept apart when both declare a name that a header of
ours or below FOREIGN (the compiler's) uses too, since the macro would change that header; or when one declares for itself
what a header of the other declares for all."""

import collections
import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
# Our sources are formatted: what a namespace declares begins in the first column.
DECLARED = [re.compile(r"^(?:struct|class|enum class|enum|union) (\w+)", re.M),
            re.compile(r"^using (\w+) =", re.M),
            re.compile(r"^(?!using |template |struct |class |enum |//|#|TEST)[\w\[].*?\b(\w+)(?=\(| =|\{|;|\[\w*\] =)", re.M)]
WORD = re.compile(r"[A-Za-z_]\w*")
INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
GROUP = 40  # sources: what headers and templates cost is paid once for each group


def local_names(source):
    inside = "\n".join(UNNAMED.findall(source.read_text(encoding="utf-8")))
    return {name for pattern in DECLARED for name in pattern.findall(inside)}


def our_headers():
    return [path for room in ("core", "plugins", "storage", "transports", "firmware-host", "tests")
            for path in (ROOT / room).rglob("*.h")]


@functools.cache
def declared_by(header):
    """What a header of ours declares for all, and the headers that it includes, below the root."""
    text = (ROOT / header).read_text(encoding="utf-8")
    return {name for pattern in DECLARED for name in pattern.findall(text)}, included_by(text)


def included_by(text):
    return [name for name in INCLUDED.findall(text) if (ROOT / name).exists()]


def declared_for(source):
    """What the headers declare that a source includes, one by another too."""
    names, seen, waiting = set(), set(), included_by(source.read_text(encoding="utf-8"))
    while waiting:
        if (header := waiting.pop()) not in seen:
            seen.add(header)
            declared, included = declared_by(header)
            names |= declared
            waiting += included
    return names


@functools.cache
def words_of_headers(foreign):
    words = set()
    for path in [*our_headers(), *(path for path in Path(foreign).rglob("*") if path.is_file())]:
        words.update(WORD.findall(path.read_text(encoding="utf-8", errors="replace")))
    return words


def grouped(sources, own, foreign, unspellable):
    """Each source into the first group that has room and nothing of its kind."""
    groups = []
    for source in sources:
        kept = own[source] & unspellable

        def fits(group):
            return len(group) < GROUP and not any(
                kept & own[other] or own[source] & (foreign[other] - foreign[source]) or
                own[other] & (foreign[source] - foreign[other]) for other in group)

        for group in groups:
            if fits(group):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def keep(path, text):
    """Written only when it is another text: nothing is compiled again for a date."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def grouped_target(foreign, target, header, *sources):
    own = {source: local_names(Path(source)) for source in sources}
    counts = collections.Counter(name for names in own.values() for name in names)
    shared = {name for name, count in counts.items() if count > 1}
    taken = words_of_headers(foreign) if shared else set()
    lines = ["#pragma once", "#define BERTH_JOIN(name, file) name##_##file", "#define BERTH_LOCAL(name, file) BERTH_JOIN(name, file)"]
    lines += [f"#define {name} BERTH_LOCAL({name}, BERTH_FILE)" for name in sorted(shared - taken)]
    keep(Path(header), "\n".join(lines) + "\n")
    groups = grouped(sources, own, {source: declared_for(Path(source)) for source in sources}, shared & taken)
    return [f'set_property(SOURCE "{source}" TARGET_DIRECTORY {target} PROPERTY UNITY_GROUP group_{number})\n'
            for number, group in enumerate(groups) for source in group]


def main(targets, foreign, groups):
    lines = Path(targets).read_text(encoding="utf-8").splitlines()
    keep(Path(groups), "".join(command for line in lines for command in grouped_target(foreign, *line.split(";"))))


if __name__ == "__main__":
    main(*sys.argv[1:])
