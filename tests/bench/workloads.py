"""Runs berth_bench on workloads and fleets of several sizes; tests/bench/run builds and calls it.

    tests/bench/run [--workload NAME]... [--nodes N]... [--path P] [--pods N] [--seconds S] [--instructions] [--json FILE]
                    [--undeclared KIND]...
    tests/bench/run --growth [--workload NAME]...
    tests/bench/run --trace FILE[.gz]... [--path P] [--json FILE]
    tests/bench/run --generated [NAME...] [--seed N] [--path P] [--json FILE]

A workload that binds none of its pods is an error: nothing was measured.

A trace is a sequence of operations, one JSON object a line (trace.h), gzipped or not. Its name is the file's without endings.
Generated traces are made from a seed (generated.py has their names; without any, all are replayed), and kept beside the program. By
both paths, a trace has to be decided alike.

--undeclared adds a plugin that declares nothing to the default profile: one that scores, one whose scores are normalized, or one that
filters. With "none" beside it, the output ends with the pods per second relative to those without the plugin.

Growth is the exponent of the time per pod as a function of the number of nodes, fitted by least squares to the logarithms of both,
for the fast path, if at least three sizes were measured. The first two pods are excluded: the first one evaluates all nodes for its
class, the second one repeats the class and creates its cached view. Their cost is in first_us and second_us.
"""

import argparse
import gzip
import hashlib
import itertools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import generated

WORKLOADS = Path(__file__).resolve().parent / "workloads"
NEVER_REPEATED = {"NewClasses", "NewNodeAffinityClasses"}
GROWTH_AT_MOST = 0.3
# Grow faster because of an upstream rule.
BOUND = {"Preemption": "upstream's rule evaluates a tenth of the nodes"}
COLUMNS = [("pods/s", "pods_per_second"), ("p50 us", "p50_us"), ("p99 us", "p99_us"), ("max us", "max_us"),
           ("alloc/pod", "allocations_per_pod"), ("KiB", "resident_kib")]


def measure(given, name, nodes):
    """The results for one workload and size; empty if nothing was bound."""
    lines = []
    for path, undeclared in itertools.product(given.path, given.undeclared):
        command = [given.program, str(WORKLOADS / f"{name}.json"), str(nodes), path, str(given.seconds)]
        command += ["instructions"] if given.instructions else []
        command += [undeclared] if undeclared != "none" else []
        command += [f"pods={given.pods}"] if given.pods else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        lines += [json.loads(line) for line in done.stdout.splitlines()]
    runs = len(given.path) * len(given.undeclared)
    return lines if len(lines) == 2 * runs and all(line["pods"] for line in lines) else []


def replay(given, trace):
    """The results for one trace; empty if it was not replayed."""
    with tempfile.TemporaryDirectory() as folder:
        if trace.suffix == ".gz":
            plain = Path(folder) / trace.stem
            plain.write_bytes(gzip.decompress(trace.read_bytes()))
            trace = plain
        lines = []
        for path in given.path:
            done = subprocess.run([given.program, str(trace), path], stdout=subprocess.PIPE, text=True, check=False)
            lines += [json.loads(line) for line in done.stdout.splitlines()]
    if len({line["decisions"] for line in lines}) > 1:
        print(f"{trace.name}: the paths {' and '.join(given.path)} decided differently", file=sys.stderr)
        return []
    return lines if len(lines) == 2 * len(given.path) and all(line["pods"] for line in lines) else []


def generate(given, name):
    """The file of a generated trace; another seed or another generator makes another file."""
    version = hashlib.sha256(Path(generated.__file__).read_bytes()).hexdigest()[:12]
    path = Path(given.program).resolve().parent / "generated" / f"{name}.{given.seed}.{version}.jsonl"
    if not path.is_file():
        generated.write(name, given.seed, path)
    return path


def show(row):
    value = "{:>10.1f}".format
    cells = [value(row[key]) for _, key in COLUMNS]
    if "instructions_per_pod" in row:
        cells.append(f"{'-':>10}" if row["instructions_per_pod"] is None else value(row["instructions_per_pod"]))
    name = row["workload"] + (f"+{row['undeclared']}" if row["undeclared"] else "")
    print(f"{name:26} {row['nodes']:>6} {row['path']:5} {row['scope']:6} {' '.join(cells)}", flush=True)


def relative(rows):
    """Lines of output with the pods per second of each run with an undeclared plugin, relative to the run without it."""
    def run(row):
        return row["workload"], row["nodes"], row["path"]

    without = {run(row): row["pods_per_second"] for row in rows if row["scope"] == "cycle" and not row["undeclared"]}
    return [f"{row['workload']:26} {row['nodes']:>6} {row['path']:5} {row['undeclared']:10} "
            f"{row['pods_per_second'] / without[run(row)]:.4f} of {without[run(row)]:.0f} pods/s"
            for row in rows if row["scope"] == "cycle" and row["undeclared"] and run(row) in without]


def exponent(points):
    """The exponent in y = c * x ** exponent, by least squares on the logarithms."""
    xs, ys = ([math.log(value) for value in values] for values in zip(*points))
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / sum((x - x_mean) ** 2 for x in xs)


def repeated_us(row):
    """Microseconds per pod, excluding the first two pods."""
    introduction = row["first_us"] + row["second_us"]
    return (row["pods"] / row["pods_per_second"] * 1e6 - introduction) / max(row["pods"] - 2, 1)


def growth(rows):
    """Lines of output with the growth of the time per pod, for every workload measured at three sizes or more."""
    lines = []
    for name in dict.fromkeys(row["workload"] for row in rows):
        for scope in ("cycle", "loop"):
            own = [row for row in rows if (row["workload"], row["path"], row["scope"]) == (name, "fast", scope)
                   and not row["undeclared"]]
            if len({row["nodes"] for row in own}) < 3:
                continue
            mean = exponent([(row["nodes"], repeated_us(row)) for row in own])
            median = exponent([(row["nodes"], row["p50_us"]) for row in own])
            verdict = "" if name in NEVER_REPEATED else "within" if mean <= GROWTH_AT_MOST else BOUND.get(name, "ABOVE")
            lines.append(f"{name:26} {scope:6} {mean:>6.2f} {median:>7.2f}   {verdict}".rstrip())
    if not lines:
        return []
    return [f"time per pod ~ nodes^x, x at most {GROWTH_AT_MOST} for repeated classes (fast path)",
            f"{'workload':26} {'scope':6} {'mean':>6} {'p50':>7}", *lines]


def main():
    names = sorted(path.stem for path in WORKLOADS.glob("*.json"))
    parser = argparse.ArgumentParser(description="Measures the scheduler on workloads.")
    parser.add_argument("--program", required=True, help="berth_bench")
    parser.add_argument("--workload", action="append", choices=names, help="default: all")
    parser.add_argument("--nodes", action="append", type=int, help="default: 100, 1000, 5000 and 20000")
    parser.add_argument("--path", action="append", choices=["plain", "fast"], help="default: both")
    parser.add_argument("--undeclared", action="append", choices=["none", "score", "normalized", "filter"],
                        help="add a plugin that declares nothing; default: none")
    parser.add_argument("--pods", type=int, help="measure so many pods, in rounds: bound, deleted and bound again; give the --seconds that it takes")
    parser.add_argument("--seconds", type=float, default=12, help="time limit per workload and size")
    parser.add_argument("--growth", action="store_true", help="up to 100000 nodes, fast path only, repeated classes")
    parser.add_argument("--instructions", action="store_true", help="count instructions per pod in user space; - if the kernel does not support it")
    parser.add_argument("--trace", nargs="+", action="extend", type=Path, metavar="FILE", help="replay these instead of workloads")
    parser.add_argument("--generated", nargs="*", action="extend", metavar="NAME",
                        help="generate these and replay them; default: " + ", ".join(generated.NAMES))
    parser.add_argument("--seed", type=int, help="of --generated; default: 1")
    parser.add_argument("--json", type=Path, help="file to write the figures to, as a JSON array")
    given = parser.parse_args()
    wrong = [trace for trace in given.trace or [] if not trace.is_file() or not trace.name.endswith((".jsonl", ".jsonl.gz"))]
    if wrong:
        parser.error(f"--trace {wrong[0]}: no such file, or its name does not end in .jsonl or .jsonl.gz")
    try:
        for name in given.generated or []:
            generated.parse(name)
    except ValueError as error:
        parser.error(f"--generated {error}")
    if given.seed is not None and given.generated is None:
        parser.error("--seed is that of --generated: add --generated, or leave it out")
    given.seed = 1 if given.seed is None else given.seed
    if (given.trace or given.generated is not None) and (
            given.workload or given.nodes or given.undeclared or given.growth or given.instructions or given.pods):
        parser.error("--trace and --generated replay a trace as it is: leave out --workload, --nodes, --pods, --undeclared, --growth and "
                     "--instructions")
    if given.pods is not None and given.pods < 1:
        parser.error("--pods: expected a number of pods from 1 on, such as 1000000")
    given.workload = given.workload or [name for name in names if not given.growth or name not in NEVER_REPEATED]
    given.nodes = given.nodes or [100, 1000, 5000, 20000] + ([100000] if given.growth else [])
    given.undeclared = given.undeclared or ["none"]
    given.path = given.path or (["fast"] if given.growth else ["plain", "fast"])
    rows, failed = [], 0
    titles = [title for title, _ in COLUMNS] + (["instr/pod"] if given.instructions else [])
    print(f"{'workload':26} {'nodes':>6} {'path':5} {'scope':6} {' '.join(f'{title:>10}' for title in titles)}")
    runs = [(trace.name, "", lambda trace=trace: replay(given, trace)) for trace in given.trace or []]
    if given.generated is not None:
        runs += [(name, "", lambda name=name: replay(given, generate(given, name))) for name in given.generated or generated.NAMES]
    runs = runs or [(name, nodes, lambda name=name, nodes=nodes: measure(given, name, nodes))
                    for name in given.workload for nodes in given.nodes]
    for name, nodes, run in runs:
        lines = run()
        if not lines:
            print(f"{name:26} {nodes:>6} measured nothing")
            failed += 1
        for row in lines:
            show(row)
        rows += lines
    for line in growth(rows) + relative(rows):
        print(line)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
