"""clang-format on all files; and how to read the complaints of clang's tools."""

import os
import re
import subprocess

from source import Finding

COMPLAINT = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):\d+: (?:error|warning): (?P<text>.*)$", re.M)


def relative(tree, path):
    absolute = os.path.normpath(os.path.join(tree.root, path))
    return os.path.relpath(absolute, tree.root)


def findings(tree, output, path, fallback):
    found = {Finding(relative(tree, m["path"]), int(m["line"]), m["text"]) for m in COMPLAINT.finditer(output)}
    return found or {Finding(path, 1, fallback + ": " + output.strip()[-300:])}


def check_format(tree):
    paths = tree.cpp()
    for start in range(0, len(paths), 50):
        chunk = paths[start:start + 50]
        done = subprocess.run(["clang-format-19", "--dry-run", "-Werror", *chunk], cwd=tree.root, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            lines = {(f.path, f.line) for f in findings(tree, done.stderr, chunk[0], "clang-format failed")}
            for path in sorted({path for path, _ in lines}):
                line = min(n for p, n in lines if p == path)
                yield Finding(path, line, f"not formatted; run clang-format-19 -i {path}")
