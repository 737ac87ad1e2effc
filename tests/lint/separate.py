"""Each source compiles by itself, with GCC and the flags of the dev preset, as a new user builds.

CI compiles the sources of a folder together (BERTH_TOGETHER), where one has what another includes. Compiled are the changed
sources, on a clean main those that its last commits changed, latest first, and with --all every one. Only the syntax is checked:
no code is made."""

import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor

from source import git
from style import findings
from tidy import to_tidy

COMMITS = 60
AT_MOST = 16  # files: three seconds each, so half a minute on two processors


def recent(tree):
    """The sources that the last commits changed, latest first."""
    log = git(tree.root, "log", f"-{COMMITS}", "--name-only", "--pretty=format:", "--diff-filter=d") or ""
    return [path for path in dict.fromkeys(log.split("\n")) if path.endswith(".cc") and path in tree.paths]


def sources(tree, everything=False):
    """The paths to compile."""
    if everything:
        return [path for path in tree.paths if path.endswith(".cc")]
    changed = to_tidy(tree)
    return recent(tree)[:AT_MOST] if changed is None else changed


def configure(root):
    """Configures the dev preset, but never together; returns the folder of its compile commands."""
    folder = root / "build" / "separate"
    command = ["cmake", "--preset", "dev", "-B", str(folder), "-DBERTH_TOGETHER=OFF"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"lint: {' '.join(command)} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return folder


def commands(tree, build):
    """How each source is compiled: path from the root to (directory, words). The fuzz targets, say, are in other builds."""
    made = {}
    for each in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(each["command"])
        words = words[:1] + ["-fsyntax-only"] + [word for word in words[1:] if word not in ("-c", "-g1")]
        if "-o" in words:
            del words[words.index("-o"):words.index("-o") + 2]
        made.setdefault(os.path.relpath(each["file"], tree.root), (each["directory"], words))
    return made


def check(tree, paths, build):
    known = commands(tree, build)

    def compile_alone(path):
        directory, words = known[path]
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        return findings(tree, output, path, "does not compile by itself") if done.returncode else set()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = set().union(*pool.map(compile_alone, [path for path in paths if path in known]))
    yield from sorted(found)
