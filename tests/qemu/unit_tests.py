"""tests/qemu/unit_tests.py ARCH: runs in the guest the unit tests that need a real kernel and cannot run under user-mode
emulation (HOST in their berth_test). The last line of output is "N passed, N failed"."""

import argparse
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from guest import Guest, PlainDisk, make_disk  # noqa: E402

TEST_S = 600  # for one test; there, a scan of all processes takes a quarter of a second
RAN = re.compile(r"^\[=+\] (\d+) tests? from .* ran\.")
PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.")
SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below:")


def total(pattern, lines):
    return sum(int(found[1]) for found in map(pattern.match, lines) if found)


def counts(lines):
    """Passed, failed and skipped tests of one program, from its output, whose last line is the exit code. A program that
    did not run to the end counts as failed. A test skips what the guest's kernel lacks."""
    ran, passed, skipped = total(RAN, lines), total(PASSED, lines), total(SKIPPED, lines)
    ended_well = bool(lines) and lines[-1] == "exit 0" and passed > 0 and passed + skipped == ran
    return passed, 0 if ended_well else max(1, ran - passed - skipped), skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("arch", choices=["arm64", "armhf"])
    arch = parser.parse_args().arch
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        make_disk(Path(folder) / "state.img")
        guest = Guest(arch, PlainDisk(Path(folder) / "state.img"), folder)
        try:
            guest.boot()
            guest.wait("@started")
            programs = guest.run("ls /tests")
            for program in programs:
                run = f"cd /tmp; BERTH_ROUNDS_PERCENT=25 BERTH_QUOTA_ROOT=/state /tests/{program}; echo exit $?"
                lines = guest.run(run, TEST_S)
                ok, bad, skipped = counts(lines)
                passed, failed = passed + ok, failed + bad
                print(f"{'FAILED ' if bad else 'ok     '}{arch}: {program}: {ok} passed, {bad} failed, {skipped} skipped in the guest",
                      flush=True)
                if bad:
                    print("\n".join(lines[-60:]))
            if not programs:
                failed += 1
                print(f"FAILED {arch}: no program in /tests: build tests/unit/all before cross/guest {arch}")
            guest.power_off()
        except AssertionError as error:
            failed += 1
            print(f"FAILED {arch}: {error}")
            print((Path(folder) / "console.log").read_text(errors="replace")[-6000:])
        finally:
            guest.cut_power()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
