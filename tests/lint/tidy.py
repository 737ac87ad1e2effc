"""clang-tidy: on changed files, each alone; or on the whole tree, folder by folder as BERTH_TOGETHER compiles it. That takes a
sixth of the time, because headers are read once for each folder. A clean checkout of main gets the whole tree, since nothing
says how many of its commits are new; and so does a change of many files. The check that takes as long as all others (SLOW)
is left out there, unless every check is asked for."""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source import Finding, git
from style import findings

JOINED = re.compile(r'^#include "(/[^"]+)"$', re.M)
SLOW = "performance-unnecessary-value-param"
ALONE_AT_MOST = 40  # files: so many, each alone, take about as long as the whole tree together


def base_commit(root):
    """The commit to compare with: $BERTH_BASE, else the merge base with main; None if there is no history."""
    named = os.environ.get("BERTH_BASE")
    if named:
        return named
    for main in ("origin/main", "main", "origin/HEAD"):
        if base := (git(root, "merge-base", "HEAD", main) or "").strip():
            return base
    return None


def changed(tree):
    """Paths that differ from the base commit, including uncommitted and new files; None if there is no base."""
    base = base_commit(tree.root)
    names = base and git(tree.root, "diff", "--name-only", "-z", base)
    if names is None:
        return None
    new = git(tree.root, "ls-files", "--others", "--exclude-standard", "-z") or ""
    return set((names + new).split("\0")) & set(tree.paths)


def to_tidy(tree):
    """The .cc files to check alone: changed ones, and for a changed header its own .cc file or else one that includes it.
    None: the whole tree."""
    touched = changed(tree)
    if not touched:
        return None
    sources = [path for path in tree.paths if path.endswith(".cc")]
    chosen = {path for path in touched if path.endswith(".cc")}
    for header in (path for path in touched if path.endswith(".h")):
        own = header[:-2] + ".cc"
        users = [own] if own in sources else [s for s in sources if f'"{header}"' in tree.text(s)]
        if users and not chosen.intersection(users):
            chosen.add(users[0])
    return sorted(chosen) if len(chosen) <= ALONE_AT_MOST else None


def configure(root, preset):
    """Configures a preset; returns the folder of its compile commands."""
    done = subprocess.run(["cmake", "--preset", preset], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"lint: cmake --preset {preset} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return Path(root) / "build" / preset


def together(tree, build):
    """The files of the compile commands, largest first so that no processor waits for the last one; then the sources that
    are in none of them, such as those of the fuzz targets."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    sizes, seen = {}, set()
    for path in {command["file"] for command in commands}:
        joined = JOINED.findall(Path(path).read_text(encoding="utf-8")) if Path(path).is_relative_to(build) else []
        parts = joined or [path]
        sizes[path] = sum(os.path.getsize(part) for part in parts)
        seen.update(os.path.relpath(part, tree.root) for part in parts)
    rest = [path for path in tree.paths if path.endswith(".cc") and path not in seen]
    return sorted(sizes, key=lambda path: (-sizes[path], path)) + rest


def check(tree, paths, build, without=()):
    """Runs clang-tidy on each of the paths, with the compile commands in `build`, without some of its checks."""
    def tidy(path):
        joined = Path(path).is_relative_to(build)  # a file of CMake's that includes sources
        left_out = [*without, *(["bugprone-suspicious-include"] if joined else [])]
        checks = [f"--checks={','.join('-' + name for name in left_out)}"] if left_out else []
        done = subprocess.run(["clang-tidy-19", "-p", str(build), "--quiet", "--warnings-as-errors=*", *checks, str(path)],
                              cwd=tree.root, capture_output=True, text=True, check=False)
        return findings(tree, done.stdout + done.stderr, path, "clang-tidy failed") if done.returncode else set()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = set().union(*pool.map(tidy, paths))
    yield from sorted(found)
