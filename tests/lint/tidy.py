"""clang-tidy: on changed files, each alone; or on the whole tree, folder by folder: what BERTH_TOGETHER compiles as one for each
target is joined for all targets of a folder, and each source is checked once. That takes less than a sixth of the time, because
headers are read and matched once for each folder. A change of many files gets the whole tree. A clean checkout of main gets one
of SHARES shares of it, by turns with its commits: each change was checked before it got there, and what another compiler, header or
rule changes shows within SHARES commits. The check that takes as long as all others (SLOW) is left out in both, unless every check
is asked for."""

import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from local_names import local_names
from source import Finding, git, masked
from style import findings

MAIN = re.compile(r"^int main\(", re.M)
# Of two programs of a folder, one has these instead of others, or another meaning for a name. What is missing here costs time
# only: a join that does not compile is checked as CMake joins it.
APART = ("transports/no_tls.cc", "firmware-host/agent/pod_state.cc", "tests/unit/api/packed_test.cc",
         "tests/unit/host/configuration_page_test.cc")
JOINED = re.compile(r'^#include "(/[^"]+)"$', re.M)
SLOW = "performance-unnecessary-value-param"
SHARES = 4  # of the whole tree
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
    None: the whole tree, or a share of it."""
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


def share(tree, paths):
    """(those of the paths whose turn it is, which share that is) on a clean main; (all, None) where something changed."""
    commits = git(tree.root, "rev-list", "--count", "HEAD")
    if commits is None or changed(tree):
        return paths, None
    turn = int(commits) % SHARES
    return paths[turn::SHARES], turn


def configure(root, preset):
    """Configures a preset; returns the folder of its compile commands."""
    done = subprocess.run(["cmake", "--preset", preset], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"lint: cmake --preset {preset} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return Path(root) / "build" / preset


@dataclass
class Join:
    """Sources of one folder that are checked as one, with the flags of all of them."""
    words: list  # of the compile command
    paths: list = field(default_factory=list)
    names: set = field(default_factory=set)  # that no other source may have
    units: list = field(default_factory=list)  # the files of CMake's that they come from
    is_closed: bool = False  # nothing is joined to it

    def take(self, unit, paths, names, words):
        self.units.append(unit)
        self.paths += paths
        self.names |= names
        for at, word in enumerate(words):
            if word.startswith(("-D", "-I")) and word not in self.words:
                self.words.append(word)
            elif word == "-isystem" and words[at + 1] not in self.words:
                self.words += words[at:at + 2]


def names_of(path):
    """What a source has that another one may have too, but not in the same join."""
    text = masked(Path(path).read_text(encoding="utf-8"))
    return set(local_names(text)) | ({"main"} if MAIN.search(text) else set())


def joins(commands, build):
    """Each source once: programs and libraries that share a folder are joined there, unless they share names too."""
    made, seen = {}, set()
    by_sources = []
    for command in commands:
        path, words = command["file"], shlex.split(command["command"])
        for at in [at for at, word in enumerate(words) if word in ("-c", "-o", path)][::-1]:
            del words[at:at + (2 if words[at] == "-o" else 1)]
        is_joined = Path(path).is_relative_to(build) and (parts := JOINED.findall(Path(path).read_text(encoding="utf-8")))
        by_sources.append((parts if is_joined else [path], words, path))
    for paths, words, unit in sorted(by_sources, key=lambda each: (-len(each[0]), each[0])):
        is_joined = Path(unit).is_relative_to(build) and not any(path.endswith(APART) for path in paths)
        paths = [path for path in paths if path not in seen]
        seen.update(paths)
        names = set().union(*map(names_of, paths))
        if not paths:
            continue
        there = made.setdefault(os.path.dirname(paths[0]), [])
        fit = next((join for join in there if is_joined and not join.is_closed and not join.names & names), None)
        if fit is None:
            there.append(fit := Join(list(words), is_closed=not is_joined))
        fit.take(unit, paths, names, words)
    return [join for there in made.values() for join in there]


def together(tree, build):
    """(folder of compile commands, what to check with them, what to check instead if that does not compile): a file for each join,
    largest first so that no processor waits for the last one; then the sources that are in none of them, such as those of the
    fuzz targets."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    made = joins(commands, build)
    folder = build / "joined"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sizes, instead = {}, {}
    for number, join in enumerate(made):
        path = join.units[0]
        if not join.is_closed:
            path = str(folder / f"{number}_{'_'.join(Path(os.path.relpath(join.paths[0], tree.root)).parts[:-1])}.cxx")
            Path(path).write_text("".join(f'#include "{each}"\n' for each in join.paths), encoding="utf-8")
            commands.append({"directory": str(build), "file": path, "arguments": [*join.words, "-c", path]})
            instead[path] = join.units if len(join.units) > 1 else []
        sizes[path] = sum(os.path.getsize(each) for each in join.paths)
    (folder / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
    seen = {os.path.relpath(path, tree.root) for join in made for path in join.paths}
    rest = [path for path in tree.paths if path.endswith(".cc") and path not in seen]
    return folder, sorted(sizes, key=lambda path: (-sizes[path], path)) + rest, instead


def check(tree, paths, build, without=(), instead=None):
    """Runs clang-tidy on each of the paths, with the compile commands in `build`, without some of its checks; on others instead
    of a path that does not compile."""
    def tidy(path):
        joined = Path(path).is_relative_to(tree.root / "build")  # a file of CMake's that includes sources
        left_out = [*without, *(["bugprone-suspicious-include"] if joined else [])]
        checks = [f"--checks={','.join('-' + name for name in left_out)}"] if left_out else []
        done = subprocess.run(["clang-tidy-19", "-p", str(build), "--quiet", "--warnings-as-errors=*", *checks, str(path)],
                              cwd=tree.root, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        if "[clang-diagnostic-" in output and instead and instead.get(path):
            return set().union(*map(tidy, instead[path]))
        return findings(tree, output, path, "clang-tidy failed") if done.returncode else set()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = set().union(*pool.map(tidy, paths))
    yield from sorted(found)
