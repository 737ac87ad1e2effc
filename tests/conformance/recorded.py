#!/usr/bin/python3
"""recorded.py FOLDER [PROGRAM]: unpacks the recorded cases into FOLDER, then runs PROGRAM FOLDER in its own place.

The cases of this repository lie in cases/, compressed. BERTH_CONFORMANCE may name a folder with more of them; unset,
shared/conformance and shared/conformance-controllers beside the repository are looked at, if there are such. Of such a folder only the
files are added whose bytes none of ours has: the same family is never replayed twice. FOLDER is emptied first; one that holds anything but
unpacked cases is left alone.
"""

import hashlib
import lzma
import os
import shutil
import sys
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"
SHARED = Path(__file__).resolve().parents[3] / "shared"
BESIDE = [SHARED / "conformance", SHARED / "conformance-controllers"]


def more_folders(environment=os.environ):
    """The folders whose cases are added to ours."""
    named = environment.get("BERTH_CONFORMANCE")
    if named and not Path(named).is_dir():
        raise SystemExit(f"BERTH_CONFORMANCE names {named}, which is no folder")
    return [Path(named)] if named else [folder for folder in BESIDE if folder.is_dir()]


def gather(to, ours=CASES, more=()):
    """Unpacks ours into `to`, and copies there what the folders `more` have besides; how many families each gave."""
    to = Path(to)
    shutil.rmtree(to, ignore_errors=True)
    digests = set()
    for packed in sorted(ours.rglob("*.json.xz")):
        content = lzma.decompress(packed.read_bytes())
        digests.add(hashlib.sha256(content).digest())
        file = to / packed.relative_to(ours).with_suffix("")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    unpacked = len(digests)
    for folder, path in [(folder, path) for folder in more for path in sorted(folder.rglob("*.json"))]:
        content = path.read_bytes()
        digest = hashlib.sha256(content).digest()
        if digest in digests:
            continue
        digests.add(digest)
        file = to / "added" / path.relative_to(folder)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return unpacked, len(digests) - unpacked


def check_target(to):
    """An error for a folder that was hardly meant: it would be emptied."""
    other = next((path for path in to.rglob("*") if not path.is_dir() and path.suffix != ".json"), None)
    if other or (to.exists() and not to.is_dir()):
        raise SystemExit(f"recorded.py: {to} would be emptied, but holds {other or 'no folder'}: name a new folder")


def main(arguments):
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        raise SystemExit(__doc__)
    check_target(Path(arguments[0]))
    more = more_folders()
    unpacked, added = gather(arguments[0], more=more)
    if not unpacked:
        raise SystemExit(f"{CASES} holds no recorded cases")
    print(f"{unpacked} families" + (f", and {added} of {', '.join(map(str, more))}" if added else ""), flush=True)
    if len(arguments) == 2:
        os.execv(arguments[1], [arguments[1], arguments[0]])


if __name__ == "__main__":
    main(sys.argv[1:])
