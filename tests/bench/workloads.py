"""Runs berth_bench on workloads and fleets of several sizes; tests/bench/run builds it first.

    tests/bench/run [--workload NAME]... [--nodes N]... [--path P] [--seconds S] [--instructions] [--json FILE]

A workload that binds none of its pods is an error: nothing was measured.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parent / "workloads"
COLUMNS = [("pods/s", "pods_per_second"), ("p50 us", "p50_us"), ("p99 us", "p99_us"), ("max us", "max_us"),
           ("alloc/pod", "allocations_per_pod"), ("KiB", "resident_kib")]


def measure(given, name, nodes):
    """The lines of one workload and size; none when a pod got no node."""
    lines = []
    for path in given.path:
        command = [given.program, str(WORKLOADS / f"{name}.json"), str(nodes), path, str(given.seconds)]
        command += ["instructions"] if given.instructions else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        lines += [json.loads(line) for line in done.stdout.splitlines()]
    return lines if len(lines) == 2 * len(given.path) and all(line["pods"] for line in lines) else []


def show(row):
    value = "{:>10.1f}".format
    cells = [value(row[key]) for _, key in COLUMNS]
    if "instructions_per_pod" in row:
        cells.append(f"{'-':>10}" if row["instructions_per_pod"] is None else value(row["instructions_per_pod"]))
    print(f"{row['workload']:26} {row['nodes']:>6} {row['path']:5} {row['scope']:6} {' '.join(cells)}", flush=True)


def main():
    names = sorted(path.stem for path in WORKLOADS.glob("*.json"))
    parser = argparse.ArgumentParser(description="Measures the scheduler on workloads.")
    parser.add_argument("--program", required=True, help="berth_bench")
    parser.add_argument("--workload", action="append", choices=names, help="all of them when not given")
    parser.add_argument("--nodes", action="append", type=int, help="100, 1000, 5000 and 20000 when not given")
    parser.add_argument("--path", action="append", choices=["plain", "fast"], help="both when not given")
    parser.add_argument("--seconds", type=float, default=12, help="of measuring at most, per workload and size")
    parser.add_argument("--instructions", action="store_true", help="per pod, in user space; - where the kernel counts none")
    parser.add_argument("--json", type=Path, help="where the figures go, as an array")
    given = parser.parse_args()
    given.workload = given.workload or names
    given.nodes = given.nodes or [100, 1000, 5000, 20000]
    given.path = given.path or ["plain", "fast"]
    rows, failed = [], 0
    titles = [title for title, _ in COLUMNS] + (["instr/pod"] if given.instructions else [])
    print(f"{'workload':26} {'nodes':>6} {'path':5} {'scope':6} {' '.join(f'{title:>10}' for title in titles)}")
    for name in given.workload:
        for nodes in given.nodes:
            lines = measure(given, name, nodes)
            if not lines:
                print(f"{name:26} {nodes:>6} measured nothing")
                failed += 1
            for row in lines:
                show(row)
            rows += lines
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
