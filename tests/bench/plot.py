#!/usr/bin/python3
"""Draws the README's plots from the committed figures: Berth and kube-scheduler by number of nodes, and what more classes of pods
cost Berth; all axes are logarithmic.

    tests/bench/plot.py                        draws figures/*.svg from figures/*.json
    tests/bench/plot.py --measure [--seconds S] [--traces FOLDER]
                                               first updates berth.json and classes.json with tests/bench/run; "mixed" is measured
                                               with the recorded traces in FOLDER, or stays as it is

reference.json: kube-scheduler 1.35.4, run as a library with its default profile on a machine with two cores. By default it scores
fewer nodes in larger fleets ("adaptive"); Berth scores all of them, as kube-scheduler does for the dashed line. "mixed" are recorded
traces, by which both were driven; the p99 of kube-scheduler was not recorded. classes.json: the fastest of three runs of each
generated trace.
"""

import argparse
import json
import math
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures"
NODES = (100, 1000, 5000, 20000, 100000)
# Panels: our workload, and that of the reference. kube-scheduler does not cache by class: new and repeated ones cost the same.
PANELS = [("mixed", "mixed"), ("SchedulingBasic", "SchedulingBasic"), ("NodeAffinity", "NodeAffinity"), ("TopologySpreading", "TopologySpreading"),
          ("PodAntiAffinity", "PodAntiAffinity"), ("Preemption", "Preemption"), ("NewClasses", "SchedulingBasic")]
# Their pods are bound and deleted again, until there were so many or time is up: a thousand take milliseconds.
REPEATED, PODS = ("SchedulingBasic", "NodeAffinity", "TopologySpreading", "PodAntiAffinity"), 1_000_000
MIXED = (1000, 5000, 20000)  # nodes of the traces
CLASSES = (1, 8, 9, 64, 200, 1000)
CLASS_NODES = 5000
# What pods of a class ask for, in the names of generated traces.
KINDS = {"": ("plain", "#2f81f7"), "spread": ("topology spread", "#d9730d"), "affinity": ("preferred affinity", "#3fb950")}
PLOTS = {"pods_per_second": "pods per second, scheduling cycle", "p99_us": "p99 of a decision, microseconds"}
# Readable on light and dark backgrounds.
BERTH, KUBE, TEXT, GRID = "#2f81f7", "#d9730d", "#7d8590", "#7d859040"
WIDTH, HEIGHT, COLUMNS, LEFT, TOP, GAP_X, GAP_Y = 210, 130, 3, 56, 66, 52, 56


def decades(values):
    return 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))


def logarithmic(low, high, length):
    return lambda value: (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low)) * length


def short(value):
    for unit, name in ((1_000_000, "M"), (1000, "k")):
        if value >= unit:
            return f"{value // unit:g}{name}"
    return f"{value:g}"


def text(x, y, label, anchor="middle", size=10, colour=TEXT):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{label}</text>'


def line(points, colour, dashes=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes}/>']
    return parts + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in points]


def panel(left, top, title, curves, x_values, y_range):
    x_of, y_of = logarithmic(x_values[0], x_values[-1], WIDTH), logarithmic(*y_range, HEIGHT)
    parts = [text(left + WIDTH / 2, top - 8, title, size=12)]
    labelled = -math.inf
    for value in x_values:
        x = left + x_of(value)
        parts.append(f'<path d="M{x:.1f} {top}v{HEIGHT}" stroke="{GRID}"/>')
        if x - labelled > 12:  # 8 and 9 would overlap
            parts.append(text(round(x, 1), top + HEIGHT + 14, short(value)))
            labelled = x
    value = y_range[0]
    while value <= y_range[1]:
        y = top + HEIGHT - y_of(value)
        parts.append(f'<path d="M{left} {y:.1f}h{WIDTH}" stroke="{GRID}"/>')
        parts.append(text(left - 6, round(y + 3.5, 1), short(value), anchor="end"))
        value *= 10
    for colour, dashes, points in curves:
        parts += line([(left + x_of(x), top + HEIGHT - y_of(y)) for x, y in points], colour, dashes)
    return parts


def curves_of(key, ours, theirs, berth, reference):
    """(colour, dashes, [(nodes, value)]) of one panel."""
    mine = [(row["nodes"], row[key]) for row in berth if (row["workload"], row["path"], row["scope"]) == (ours, "fast", "cycle")]
    curves = []
    for scored, dashes in (("adaptive", ""), ("all", ' stroke-dasharray="3 3"')):
        # In fleets of 100 nodes the adaptive number is all of them.
        rows = [row for row in reference if (row["workload"], row["scope"], row["gomaxprocs"]) == (theirs, "cycle", 2)
                and key in row and (row["nodes_scored"] == scored or row["nodes"] == 100)]
        curves.append((KUBE, dashes, sorted((row["nodes"], row[key]) for row in rows)))
    return [*curves, (BERTH, "", sorted(mine))]


def draw(key, berth, reference):
    """Returns the SVG as text."""
    all_curves = [curves_of(key, ours, theirs, berth, reference) for ours, theirs in PANELS]
    y_range = decades([value for curves in all_curves for _, _, points in curves for _, value in points])
    rows = math.ceil(len(PANELS) / COLUMNS)
    width, height = LEFT + COLUMNS * (WIDTH + GAP_X) - GAP_X + 16, TOP + rows * (HEIGHT + GAP_Y) - 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="sans-serif">', text(LEFT, 20, f"{PLOTS[key]}, by number of nodes", anchor="start", size=14)]
    legend = [(BERTH, "", "Berth, all nodes"), (KUBE, "", "kube-scheduler 1.35, adaptive"),
              (KUBE, ' stroke-dasharray="3 3"', "kube-scheduler 1.35, all nodes")]
    for number, (colour, dashes, label) in enumerate(legend):
        x = LEFT + number * 230
        parts += [f'<path d="M{x} 36h22" stroke="{colour}" stroke-width="1.8"{dashes}/>', text(x + 28, 40, label, anchor="start", size=11)]
    for number, ((ours, _), curves) in enumerate(zip(PANELS, all_curves)):
        left, top = LEFT + number % COLUMNS * (WIDTH + GAP_X), TOP + number // COLUMNS * (HEIGHT + GAP_Y)
        parts += panel(left, top, ours, curves, NODES, y_range)
    return "\n".join([*parts, "</svg>"]) + "\n"


def class_curves(rows):
    """[(colour, dashes, [(classes, cost of a pod where one class alone costs 1)])], by kind."""
    speed = {row["workload"]: row["pods_per_second"] for row in rows if row["scope"] == "cycle"}
    curves = []
    for kind, (_, colour) in KINDS.items():
        alone = speed[f"classes1{kind}-{CLASS_NODES}"]
        curves.append((colour, "", [(count, alone / speed[f"classes{count}{kind}-{CLASS_NODES}"]) for count in CLASSES]))
    return curves


def draw_classes(rows):
    """Returns the SVG as text."""
    curves = class_curves(rows)
    y_range = decades([value for _, _, points in curves for _, value in points])
    width, height = LEFT + WIDTH + 200, TOP + HEIGHT + 46
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="sans-serif">',
             text(LEFT, 20, f"cost of a pod by classes in turn, {CLASS_NODES} nodes; one class: 1", anchor="start", size=14)]
    parts += panel(LEFT, TOP - 16, "", curves, CLASSES, y_range)
    for number, (name, colour) in enumerate(KINDS.values()):
        y = TOP + 20 + 22 * number
        parts += [f'<path d="M{LEFT + WIDTH + 24} {y}h22" stroke="{colour}" stroke-width="1.8"/>',
                  text(LEFT + WIDTH + 52, y + 4, name, anchor="start", size=11)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def read(name):
    return json.loads((FIGURES / name).read_text(encoding="utf-8"))


def figures():
    return [read(name) for name in ("berth.json", "reference.json")]


def write(name, rows):
    (FIGURES / name).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def run(words):
    """The rows that tests/bench/run writes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        subprocess.run([HERE / "run", *words, "--path", "fast", "--json", out], check=True)
        return json.loads(out.read_text(encoding="utf-8"))


def measure(seconds, traces):
    """Updates what we measure."""
    mixed = [row for row in read("berth.json") if row["workload"] == "mixed"]
    if traces:
        words = [word for nodes in MIXED for word in ("--trace", Path(traces) / f"mixed-{nodes}.jsonl.gz")]
        mixed = [{**row, "workload": "mixed"} for row in run(words)]
    repeated = [word for ours in REPEATED for word in ("--workload", ours)]
    once = [word for ours, _ in PANELS if ours != "mixed" and ours not in REPEATED for word in ("--workload", ours)]
    rows = run(["--growth", "--seconds", seconds, "--pods", str(PODS), *repeated]) + run(["--growth", "--seconds", seconds, *once])
    write("berth.json", mixed + rows)
    names = [f"classes{count}{kind}-{CLASS_NODES}" for kind in KINDS for count in CLASSES]
    rows = [row for _ in range(3) for row in run(["--generated", *names]) if row["scope"] == "cycle"]
    fastest = {row["workload"]: row for row in sorted(rows, key=lambda row: row["pods_per_second"])}
    write("classes.json", [fastest[name] for name in names])


def main():
    parser = argparse.ArgumentParser(description="Draws the plots of the README.")
    parser.add_argument("--measure", action="store_true", help="update the figures first")
    parser.add_argument("--seconds", default="4", help="time limit per workload and size")
    parser.add_argument("--traces", metavar="FOLDER", help="recorded traces")
    given = parser.parse_args()
    if given.measure:
        measure(given.seconds, given.traces)
    for key in PLOTS:
        (FIGURES / f"{key}.svg").write_text(draw(key, *figures()), encoding="utf-8")
    (FIGURES / "classes.svg").write_text(draw_classes(read("classes.json")), encoding="utf-8")


if __name__ == "__main__":
    main()
