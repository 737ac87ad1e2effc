"""Builds and runs the parts of the test suite that tests/run names, and sums their counts.

Each part returns a Count made from what its own runner reports (ctest and pytest: JUnit files). A part that cannot
run, or that finds no test, counts as one failure: nothing passes silently.
"""

import sys
import time

import foreign
import native
import sanitized
from base import Count, PartError, say
from long import long
from upgrade import upgrade

PARTS = {part.__name__: part for part in
         (native.unit, native.model, native.sim, native.crash, native.issues, native.conformance, native.lint,
          native.integration, upgrade, foreign.arm64, foreign.armhf, foreign.same, foreign.qemu, sanitized.fuzz, sanitized.asan,
          native.release, native.bench, long)}


def main(names):
    total, lines = Count(), []
    for name in names:
        say(f"== {name}")
        begin = time.monotonic()
        try:
            count = PARTS[name]()
        except PartError as error:
            say(f"{name} FAILED: {error}")
            count = Count(failed=1)
        line = f"{name:12} {count} in {time.monotonic() - begin:.0f} s"
        say(f"== {line}")
        lines.append(line)
        total += count
    say("")
    for line in lines:
        say(line)
    say(str(total))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
