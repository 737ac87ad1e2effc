"""No markers of unfinished work and no machine-specific paths in the tree."""

import re

from source import Finding

MARKERS = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK")) + r")\b|not " r"implemented", re.I)
HOMES = r"/(?:(?:home|Users)/[a-z][\w.-]*|root)/[\w.]"
COMMON = {"/", "/tmp", "/usr", "/usr/src", "/opt", "/srv", "/var", "/mnt", "/src", "/home"}
TEXT = (".cc", ".h", ".py", ".md", ".txt", ".cmake", ".json", ".sql", ".sh", ".yaml", ".yml", ".conf", ".service", "")


def machine_paths(root):
    """Matches absolute paths of this checkout and of home directories ('docs/root' is not one)."""
    here = [re.escape(str(folder)) + r"\b" for folder in (root, root.parent) if str(folder) not in COMMON]
    return re.compile(r"(?<![\w.$})>-])(?:" + "|".join(here + [HOMES]) + ")")


def check(tree):
    paths = machine_paths(tree.root)
    for path in tree.paths:
        name = path.rsplit("/", 1)[-1]
        if "." in name and not name.endswith(tuple(t for t in TEXT if t)):
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            found = MARKERS.search(line)
            if found:
                yield Finding(path, number, f"'{found.group(0)}': do it now, or file an issue and document the "
                                            "limitation in the folder's README")
            found = paths.search(line)
            if found:
                yield Finding(path, number, f"'{found.group(0)}' exists on one machine only; use a path relative to "
                                            "the tree, or a configurable one")
