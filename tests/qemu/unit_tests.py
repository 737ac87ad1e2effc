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


def counts(lines):
    """Passed and failed tests of one program, from its output, whose last line is the exit code. A program that did not
    run to the end counts as failed."""
    ran = sum(int(found[1]) for found in map(RAN.match, lines) if found)
    passed = sum(int(found[1]) for found in map(PASSED.match, lines) if found)
    ended_well = bool(lines) and lines[-1] == "exit 0" and passed > 0 and passed == ran
    return passed, 0 if ended_well else max(1, ran - passed)


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
                lines = guest.run(f"cd /tmp; BERTH_ROUNDS_PERCENT=25 BERTH_QUOTA_ROOT=/state /tests/{program}; echo exit $?", TEST_S)
                ok, bad = counts(lines)
                passed, failed = passed + ok, failed + bad
                print(f"{'FAILED ' if bad else 'ok     '}{arch}: {program}: {ok} passed, {bad} failed in the guest", flush=True)
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
