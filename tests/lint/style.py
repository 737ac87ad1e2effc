"""clang-format on all files; clang-tidy on changed ones (against the merge base with main, or the previous commit)."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from source import Finding, git

COMPLAINT = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):\d+: (?:error|warning): (?P<text>.*)$", re.M)


def base_commit(root):
    """The commit to compare with: $BERTH_BASE, else the merge base with main, else the previous commit; None if none."""
    named = os.environ.get("BERTH_BASE")
    if named:
        return named
    head = (git(root, "rev-parse", "HEAD") or "").strip()
    for main in ("origin/main", "main", "origin/HEAD"):
        base = (git(root, "merge-base", "HEAD", main) or "").strip()
        if base and base != head:
            return base
    return (git(root, "rev-parse", "--verify", "-q", "HEAD~1") or "").strip() or None


def changed(tree):
    """Paths that differ from the base commit, including uncommitted and new files; all paths if there is no base."""
    base = base_commit(tree.root)
    if base is None:
        return set(tree.paths)
    names = git(tree.root, "diff", "--name-only", "-z", base)
    if names is None:
        return set(tree.paths)
    new = git(tree.root, "ls-files", "--others", "--exclude-standard", "-z") or ""
    return set((names + new).split("\0")) & set(tree.paths)


def to_tidy(tree, all_files):
    """The .cc files to check: changed ones, and for a changed header its own .cc file or else one that includes it."""
    sources = [path for path in tree.paths if path.endswith(".cc")]
    if all_files:
        return sources
    touched = changed(tree)
    chosen = {path for path in touched if path.endswith(".cc")}
    for header in (path for path in touched if path.endswith(".h")):
        own = header[:-2] + ".cc"
        users = [own] if own in sources else [s for s in sources if f'"{header}"' in tree.text(s)]
        if users and not chosen.intersection(users):
            chosen.add(users[0])
    return sorted(chosen)


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


def check_tidy(tree, paths, build):
    def tidy(path):
        done = subprocess.run(["clang-tidy-19", "-p", str(build), "--quiet", "--warnings-as-errors=*", path],
                              cwd=tree.root, capture_output=True, text=True, check=False)
        return findings(tree, done.stdout + done.stderr, path, "clang-tidy failed") if done.returncode else set()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = set().union(*pool.map(tidy, paths))
    yield from sorted(found)
