#!/usr/bin/python3
"""cross/local_names.py HEADER FOREIGN SOURCE...: makes sources that use the same names in their unnamed namespaces fit into
one translation unit (see together.cmake). Writes HEADER: a macro for each name that several sources use, which gives it
another spelling in every source. Prints, separated by ";", the sources that must stay alone: a header of ours or below
FOREIGN (the compiler's) uses such a name too, and the macro would change that header; or a fixture of the unit tests
declares what the source declares for itself."""

import collections
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


def local_names(source):
    inside = "\n".join(UNNAMED.findall(source.read_text(encoding="utf-8")))
    return {name for pattern in DECLARED for name in pattern.findall(inside)}


def our_headers():
    return [path for room in ("core", "plugins", "storage", "transports", "firmware-host", "tests")
            for path in (ROOT / room).rglob("*.h")]


def declared_by_fixtures():
    texts = [header.read_text(encoding="utf-8") for header in (ROOT / "tests" / "unit").glob("*.h")]
    return {name for text in texts for pattern in DECLARED for name in pattern.findall(text)}


def words_of_headers(foreign):
    words = set()
    for path in [*our_headers(), *(path for path in Path(foreign).rglob("*") if path.is_file())]:
        words.update(WORD.findall(path.read_text(encoding="utf-8", errors="replace")))
    return words


def main(header, foreign, *sources):
    users = collections.defaultdict(list)
    for source in sources:
        for name in local_names(Path(source)):
            users[name].append(source)
    shared = {name for name, where in users.items() if len(where) > 1}
    taken = words_of_headers(foreign) if shared else set()
    lines = ["#pragma once", "#define BERTH_JOIN(name, file) name##_##file", "#define BERTH_LOCAL(name, file) BERTH_JOIN(name, file)"]
    lines += [f"#define {name} BERTH_LOCAL({name}, BERTH_FILE)" for name in sorted(shared - taken)]
    text = "\n".join(lines) + "\n"
    if not Path(header).exists() or Path(header).read_text(encoding="utf-8") != text:
        Path(header).write_text(text, encoding="utf-8")
    alone = {source for name in shared & taken for source in users[name][1:]}
    alone |= {source for name in users.keys() & declared_by_fixtures() for source in users[name] if "/tests/unit/" in source}
    print(";".join(sorted(alone)), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
