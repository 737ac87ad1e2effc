"""The parts of the sanitized build."""

import os
import re
from concurrent.futures import ThreadPoolExecutor

from base import FEWER_ROUNDS, JOBS, REPORTS, ROOT, Count, build, call, ctest, need, say, unit_programs

SANITIZED_TARGETS = ("tests/unit/all", "tests/sim/all", "tests/fuzz/all")

SLOW = ("agent", "gateway", "records")  # sequences of messages: few inputs a second


def fuzz():
    """Each target on what it found before and its seeds, for BERTH_FUZZ_SECONDS, slow ones thrice as long."""
    need("clang++-19")
    build("asan", *SANITIZED_TARGETS)
    corpora = sorted((ROOT / "tests" / "fuzz" / "corpus").iterdir(), key=lambda path: (path.name not in SLOW, path.name))
    with ThreadPoolExecutor(max_workers=int(JOBS)) as pool:
        return sum(pool.map(fuzz_target, corpora), Count())


def fuzz_target(seeds):
    seconds = int(os.environ.get("BERTH_FUZZ_SECONDS", "10")) * (3 if seeds.name in SLOW else 1)
    folder = ROOT / "build" / "asan"
    grown = folder / "corpus" / seeds.name
    grown.mkdir(parents=True, exist_ok=True)
    log = f"fuzz-{seeds.name}.log"
    code = call([folder / "tests" / "fuzz" / f"fuzz_{seeds.name}", f"-max_total_time={seconds}", "-max_len=8192",
                 "-timeout=30", f"-artifact_prefix={folder}/found-{seeds.name}-", grown, seeds],
                seconds + 300, log=log)
    runs = re.search(r"^Done (\d+) runs", (REPORTS / log).read_text(errors="replace"), re.M)
    well = code == 0 and runs is not None
    say(f"{seeds.name:14} {runs[1] if runs else 0} inputs" + ("" if well else ": FAILED, its message is above"))
    return Count(int(well), int(not well))


def asan():
    need("clang++-19")
    env = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1", **FEWER_ROUNDS}
    build("asan", *SANITIZED_TARGETS)
    programs = (ROOT / "build" / "asan" / "tests" / "unit").glob("**/unit_*")
    return unit_programs("asan", programs, env=env) + ctest("asan", "asan", "sim", env=env, test_limit_s=600)
