"""Runs berth_bench on workloads and fleets of several sizes; tests/bench/run builds it first.

    tests/bench/run [--workload NAME]... [--nodes N]... [--path P] [--seconds S] [--json FILE]

A workload that binds none of its pods is an error: nothing was measured.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parent / "workloads"


def main():
    names = sorted(path.stem for path in WORKLOADS.glob("*.json"))
    parser = argparse.ArgumentParser(description="Measures the scheduler on workloads.")
    parser.add_argument("--program", required=True, help="berth_bench")
    parser.add_argument("--workload", action="append", choices=names, help="all of them when not given")
    parser.add_argument("--nodes", action="append", type=int, help="100, 1000, 5000 and 20000 when not given")
    parser.add_argument("--path", action="append", choices=["plain", "fast"], help="both when not given")
    parser.add_argument("--seconds", type=float, default=12, help="of measuring at most, per workload and size")
    parser.add_argument("--json", type=Path, help="where the figures go, as an array")
    given = parser.parse_args()
    rows, failed = [], 0
    print(f"{'workload':26} {'nodes':>6} {'path':5} {'scope':6} {'pods/s':>10} {'p50 us':>10} {'p99 us':>10} {'max us':>10} "
          f"{'alloc/pod':>10} {'KiB':>8}")
    for name in given.workload or names:
        for nodes in given.nodes or [100, 1000, 5000, 20000]:
            lines = []
            for path in given.path or ["plain", "fast"]:
                command = [given.program, str(WORKLOADS / f"{name}.json"), str(nodes), path, str(given.seconds)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
                lines += [json.loads(line) for line in done.stdout.splitlines()]
            if len(lines) < 2 or any(line["pods"] == 0 for line in lines):
                print(f"{name:26} {nodes:>6} measured nothing")
                failed += 1
                continue
            rows += lines
            for row in lines:
                print(f"{name:26} {nodes:>6} {row['path']:5} {row['scope']:6} {row['pods_per_second']:>10.1f} {row['p50_us']:>10.1f} "
                      f"{row['p99_us']:>10.1f} {row['max_us']:>10.1f} {row['allocations_per_pod']:>10.1f} "
                      f"{row['resident_kib']:>8}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
