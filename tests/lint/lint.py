"""Checks the coding rules of the repository: python3 tests/lint/lint.py [--all] [--no-tidy]. Each complaint says how to fix it.

clang-tidy checks the changed files, the whole tree with --all and if many files changed, a share of it on a clean main; the last two
without its slowest check. GCC compiles the same sources by themselves, but of a clean main or many files the latest.
"""

import argparse
import itertools
import multiprocessing
import sys
import time
from pathlib import Path

import by_value
import callers
import citations
import coroutines
import includes
import layout
import local_names
import markers
import methods
import results
import rooms
import separate
import sizes
import style
import terms
import tidy
from source import Tree

ROOT = Path(__file__).resolve().parents[2]


def rules(tree):
    yield "dependencies", lambda: includes.check(tree)
    yield "rooms of core", lambda: rooms.check(tree)
    yield "coroutines", lambda: coroutines.check(tree)
    yield "sizes", lambda: sizes.check(tree)
    yield "methods", lambda: methods.check(tree)
    yield "ignored results", lambda: results.check(tree)
    yield "parameters by value", lambda: by_value.check(tree)
    yield "callers", lambda: callers.check(tree)
    yield "layout", lambda: layout.check(tree)
    yield "local names", lambda: local_names.check(tree)
    yield "markers and paths", lambda: markers.check(tree)
    yield "citations", lambda: citations.check(tree)
    yield "terms", lambda: terms.check(tree)
    yield "clang-format", lambda: style.check_format(tree)


def compiled(arguments, tree):
    """The rules that run compilers, several at once each."""
    alone = separate.sources(tree, arguments.all)
    yield f"{len(alone)} sources by themselves", lambda: separate.check(tree, alone, separate.configure(tree.root))
    paths = None if arguments.all else tidy.to_tidy(tree)
    title = "clang-tidy on the whole tree" if paths is None else f"clang-tidy on {len(paths)} files"
    without = [] if paths is not None or arguments.all else [tidy.SLOW]
    build = tidy.configure(ROOT, "tidy-together" if paths is None else "tidy")
    instead = {}
    if paths is None:
        build, paths, instead = tidy.together(tree, build)
        if not arguments.all:
            paths, turn = tidy.share(tree, paths)
            title += "" if turn is None else f": share {turn + 1} of {tidy.SHARES}"
    yield title, lambda: tidy.check(tree, paths, build, without, instead)


def checked(check):
    """What a rule finds, and the seconds that it took."""
    begin = time.monotonic()
    return sorted(set(check())), time.monotonic() - begin


def side_by_side(checks):
    """checked() of each, in their order, in as many processes as there are processors."""
    with multiprocessing.get_context("fork").Pool(initializer=_inherited.extend, initargs=(checks,)) as pool:
        yield from pool.imap(_checked_inherited, range(len(checks)))


_inherited = []  # by the processes: what rules look at cannot be sent to them


def _checked_inherited(number):
    return checked(_inherited[number])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="run clang-tidy on the whole tree")
    parser.add_argument("--no-tidy", action="store_true", help="do not run clang-tidy")
    arguments = parser.parse_args()
    tree = Tree(ROOT)
    passed = failed = 0
    quick = list(rules(tree))
    slow = [] if arguments.no_tidy else compiled(arguments, tree)
    results_of_quick = zip((name for name, _ in quick), side_by_side([check for _, check in quick]))
    for name, (found, took) in itertools.chain(results_of_quick, ((name, checked(check)) for name, check in slow)):
        for finding in found:
            print(finding)
        print(f"{'FAILED' if found else 'ok':6} {name} ({took:.1f} s)", flush=True)
        passed, failed = passed + (not found), failed + bool(found)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
