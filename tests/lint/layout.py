"""The top level, a README in each of its folders, and CMake lists that name exactly the existing sources."""

import posixpath
import re

from source import ROOMS, Finding

SOURCE = re.compile(r"(?<![\w./${}-])((?:\$\{[A-Z_]+\}/)?[\w./-]+\.cc)\b")
GENERATED = re.compile(r"\$\{CMAKE_(?:CURRENT_)?BINARY_DIR\}/\S+|\bconfigure_file\s*\([^)]*\)")
FILES = {".clang-format", ".clang-tidy", ".gitignore", "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md",
         "LICENSE", "README.md"}
VARIABLES = ("${CMAKE_SOURCE_DIR}/", "${PROJECT_SOURCE_DIR}/")


def check_top(tree):
    for path in tree.paths:
        top, _, below = path.partition("/")
        if top not in (ROOMS + (".ci",) if below else FILES):
            yield Finding(path, 1, "not a place of this repository; remove it, or move it to the folder that it belongs to")


def check_readmes(tree):
    for name in ROOMS:
        if any(path.startswith(name + "/") for path in tree.paths) and f"{name}/README.md" not in tree.paths:
            yield Finding(f"{name}/README.md", 1, "missing; say what this folder contains, what it does not, and where to start")
    if "README.md" not in tree.paths:
        yield Finding("README.md", 1, "missing; say what Berth is, and how to build and try it")


def check_sources(tree):
    known = set(tree.paths)
    listed = set()
    for path in tree.paths:
        if not (path.endswith("CMakeLists.txt") or path.endswith(".cmake")):
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            for name in SOURCE.findall(GENERATED.sub("", line.split("#", 1)[0])):
                source = name
                for variable in VARIABLES:
                    source = source.removeprefix(variable)
                if source == name:
                    source = name.removeprefix("${CMAKE_CURRENT_SOURCE_DIR}/")
                    source = posixpath.normpath(posixpath.join(posixpath.dirname(path), source))
                listed.add(source)
                if source not in known:
                    yield Finding(path, number, f"{name} is listed but does not exist; add the file or remove the line")
    for path in tree.paths:
        if path.endswith(".cc") and path not in listed:
            yield Finding(path, 1, "not listed in any CMake file, so it is never built; add it to target_sources(...) "
                                   "or berth_test(...), or delete it")


def check(tree):
    yield from check_top(tree)
    yield from check_readmes(tree)
    yield from check_sources(tree)
